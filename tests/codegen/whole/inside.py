"""Run in a process of its own: a library on the simulated npu, each of PyTorch's operators against PyTorch on the CPU.

inside.py LIBRARY WANTED RESULTS: goes on behind the operators that RESULTS tells of.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

import torch
from calls import Call, calls, overload
from torch.utils import _pytree as pytree

import opbridge.npu  # noqa: F401 - it brings the device

_UNWRITTEN = ("empty", "new_empty", "resize", "set_")
"""Parts of the names of operators whose results are memory that nobody has written."""


def main() -> None:
    warnings.simplefilter("ignore")  # PyTorch's samples call what is deprecated too.
    library, asked, results = map(Path, sys.argv[1:])
    wanted = json.loads(asked.read_text())
    done = {json.loads(line)[0] for line in results.read_text().splitlines()} if results.exists() else set()
    found = _kept(asked.with_suffix(".calls"), wanted["operators"])
    torch.ops.load_library(str(library))
    with results.open("a", buffering=1) as file:
        for name, key in wanted["kernels"]:
            is_there = torch._C._dispatch_has_kernel_for_dispatch_key(name, key)
            file.write(json.dumps([f"{name} for {key}", "right" if is_there else "absent"]) + "\n")
        for name in wanted["operators"]:
            if name not in done:
                file.write(json.dumps([name, "crash"]) + "\n")
                file.write(json.dumps([name, _outcome(found[name]) if _runs_on_cpu(name) else "not on the CPU"]) + "\n")


def _runs_on_cpu(name: str) -> bool:
    return bool(torch._C._dispatch_has_computed_kernel_for_dispatch_key(name, "CPU"))


def _kept(path: Path, names: list[str]) -> dict[str, list[Call]]:
    """To find them takes minutes, and a crash of the process is not to take them along."""
    if not path.exists():
        made = {name: [(call.arguments, call.named) for call in some] for name, some in calls(names).items()}
        torch.save((names, made), path.with_suffix(".part"))
        path.with_suffix(".part").replace(path)
    kept, made = torch.load(path, weights_only=False)
    if kept != names:
        path.unlink()
        return _kept(path, names)
    return {name: [Call.of(overload(name), *each) for each in some] for name, some in made.items()}


def _outcome(some: list[Call]) -> str:
    try:
        for call in some:
            _compare(call)
    except Exception as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        return f"{type(error).__name__}: {' '.join(lines)[:300]}"
    return "right" if some else "no call"


def _compare(call: Call) -> None:
    ours = pytree.tree_map(_on_device, (call.arguments, call.named))
    theirs = Call.of(call.overload, call.arguments, call.named)
    torch.manual_seed(0)
    expected = call.overload(*theirs.arguments, **theirs.named)
    found = call.overload(*ours[0], **ours[1])
    name = call.overload.name()
    has_values = not any(part in name for part in _UNWRITTEN)
    has_values &= torch.Tag.nondeterministic_seeded not in call.overload.tags
    for mine, right in zip(
        pytree.tree_leaves((found, ours)), pytree.tree_leaves((expected, theirs.arguments, theirs.named)), strict=True
    ):
        _same(mine, right, has_values=has_values)


def _on_device(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.to("npu") if value.layout == torch.strided else value
    return torch.device("npu") if isinstance(value, torch.device) else value


def _same(mine: Any, right: Any, *, has_values: bool) -> None:
    if not isinstance(right, torch.Tensor):
        assert isinstance(right, torch.device) or not has_values or mine == right or mine != mine
        return
    if right.layout != torch.strided:
        mine, right = mine.to("cpu").to_dense(), right.to_dense()
    assert (mine.dtype, mine.shape) == (right.dtype, right.shape), f"{mine.dtype} {list(mine.shape)}"
    if has_values:
        torch.testing.assert_close(mine.cpu(), right, equal_nan=True)


if __name__ == "__main__":
    main()
