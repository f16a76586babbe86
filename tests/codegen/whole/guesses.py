"""Calls of operators that no sample reaches: arguments are tried by their types, and what PyTorch takes is kept."""

from __future__ import annotations

import itertools
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

Arguments = tuple[tuple[Any, ...], dict[str, Any]]
Maker = Callable[[], Any]

_SIDE = 4
_NUMBERS = (1, 2, 0, 4)
_DTYPES = (torch.float32, torch.int64, torch.bool)
_DIMENSIONS = (1, 2, 3, 4, 5, 0)
_TRIES = 400
"""Of a shape and a type."""
_SECONDS = 20


def guessed(overload: Any, most: int) -> list[Arguments]:
    """In a process of its own: what takes no care of its arguments may crash, or never end."""
    with TemporaryDirectory() as folder:
        kept = Path(folder, "kept")
        child = os.fork()
        if child == 0:
            try:
                signal.alarm(_SECONDS)
                torch.set_num_threads(1)
                torch.save([*itertools.islice(_taken(overload), most)], kept)
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        return torch.load(kept, weights_only=False) if kept.exists() else []


def _taken(overload: Any) -> Iterator[Arguments]:
    for dtype, dimensions in itertools.product(_DTYPES, _DIMENSIONS):
        for makers in itertools.islice(_tried(overload, dtype, dimensions), _TRIES):
            arguments, named = _made(makers)
            try:
                overload(*arguments, **named)
            except Exception:  # Not what it takes.
                continue
            yield _made(makers)
            break


def _tried(overload: Any, dtype: torch.dtype, dimensions: int) -> Iterator[list[tuple[Any, Maker]]]:
    wanted = [argument for argument in overload._schema.arguments if _is_needed(argument)]
    choices = [_choices(str(argument.real_type), argument.N, dtype, dimensions) for argument in wanted]
    for makers in itertools.product(*choices):
        yield [*zip(wanted, makers, strict=True)]


def _made(makers: list[tuple[Any, Maker]]) -> Arguments:
    positional = tuple(make() for argument, make in makers if not argument.kwarg_only)
    return positional, {argument.name: make() for argument, make in makers if argument.kwarg_only}


def _is_needed(argument: Any) -> bool:
    """What has a default keeps it; where tensors are made is always said."""
    return not argument.has_default_value() or "Device" in str(argument.real_type)


def _choices(type_: str, count: int | None, dtype: torch.dtype, dimensions: int) -> list[Maker]:
    def tensor() -> torch.Tensor:
        generator = torch.Generator().manual_seed(0)
        return (torch.rand((_SIDE,) * dimensions, generator=generator) * 3 + 0.5).to(dtype)

    base = type_.removeprefix("Optional[").removesuffix("]") if type_.startswith("Optional[") else type_
    length = count or max(dimensions, 1)
    number: list[Maker] = [lambda number=number: number for number in _NUMBERS]
    numbers: list[Maker] = [lambda number=number: [number] * length for number in _NUMBERS]
    by_type: dict[str, list[Maker]] = {
        "Tensor": [tensor],
        "List[Tensor]": [lambda: [tensor(), tensor()]],
        "number": [lambda: 2],
        "List[number]": [lambda: [2, 2]],
        "int": number,
        "SymInt": number,
        "List[int]": numbers,
        "List[SymInt]": numbers,
        "ScalarType": [lambda: torch.float32],
        "float": [lambda: 0.5],
        "bool": [lambda: False, lambda: True],
        "List[bool]": [lambda: [True] * (count or 1)],
        "Device": [lambda: torch.device("cpu")],
    }
    found = by_type.get(base, [])
    return [lambda: None, *found] if type_ != base and base != "Device" else found
