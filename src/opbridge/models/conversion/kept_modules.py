"""Choose which modules of a network stay with PyTorch: those where its export stops, as at branches on values."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch.utils._pytree import tree_map, tree_structure

from opbridge.base.errors import UnsupportedError
from opbridge.models.conversion.opaque_modules import Whole, constants_of, filled, operator_of, tensors_of
from opbridge.models.conversion.saved_values import put_back, taken_aside

_SYMBOLS = (torch.SymBool, torch.SymFloat, torch.SymInt)
_CONSTANTS = (bool, int, float, str, type(None), torch.dtype)


def innermost(error: BaseException | None, network: torch.nn.Module) -> torch.nn.Module | None:
    """Return the innermost module whose forward raised an error; None if it contains most of the network."""
    parts, found = {*network.modules()}, None
    while error is not None:
        for frame, _ in traceback.walk_tb(error.__traceback__):
            owner = frame.f_locals.get("self")
            if frame.f_code.co_name == "forward" and isinstance(owner, torch.nn.Module) and owner in parts:
                found = owner
        error = error.__cause__ or error.__context__
    return found if found is not None and 2 * len([*found.modules()]) <= len(parts) else None


@contextmanager
def kept_whole(
    network: torch.nn.Module, kinds: set[type], args: Sequence[object], kwargs: Mapping[str, object]
) -> Iterator[None]:
    """Replace the calls of modules of these classes with operators, while the context is open."""
    parts = [part for part in network.modules() if type(part) in kinds]
    seen = _seen(network, parts, args, kwargs) if parts else {}
    # Pickle the modules before their forward methods are replaced.
    operators = {part: [operator_of(each) for each in seen[part]] for part in parts}
    for part in parts:
        part.forward = _forward(part, iter(seen[part]), iter(operators[part]))
    try:
        yield
    finally:
        for part in parts:
            del part.forward


def _forward(
    part: torch.nn.Module, calls: Iterator[Whole], operators: Iterator[Callable[..., Any]]
) -> Callable[..., object]:
    def forward(*args: object, **kwargs: object) -> object:
        call, operator = next(calls), next(operators)
        if any(isinstance(each, _SYMBOLS) for each in constants_of((args, kwargs))):
            raise UnsupportedError(f"{type(part).__name__} is given a number that depends on the values of tensors")
        if _described((args, kwargs)) != _described(call.given):
            raise UnsupportedError(f"{type(part).__name__} is called in another way while it is traced")
        values = {**dict(part.named_parameters()), **dict(part.named_buffers())}
        given = [*tensors_of((args, kwargs)), *(values[name] for name in call.names)]
        results = operator([*given, torch.rand(())] if call.draws else given)
        for place, value in zip(call.written, results[len(results) - len(call.written) :], strict=True):
            given[place].copy_(value)
        return filled(call.results, results)

    return forward


def _described(given: object) -> object:
    return tree_structure(given), constants_of(given), [tuple(each.shape) for each in tensors_of(given)]


def _seen(
    network: torch.nn.Module, parts: list[torch.nn.Module], args: Sequence[object], kwargs: Mapping[str, object]
) -> dict[torch.nn.Module, list[Whole]]:
    """Return the calls of each of the modules in one run of the network, which is left unchanged."""
    seen: dict[torch.nn.Module, list[Whole]] = {part: [] for part in parts}
    before = taken_aside(network)
    try:
        with ExitStack() as hooks, torch.no_grad(), torch.random.fork_rng(devices=[]):
            for part in parts:
                watch = _Watch(seen[part])
                hooks.callback(part.register_forward_pre_hook(watch.begin, with_kwargs=True).remove)
                hooks.callback(part.register_forward_hook(watch.end, with_kwargs=True).remove)
            network(*args, **kwargs)
    finally:
        put_back(network, before)
    return seen


class _Watch:
    """Hooks that record the calls of a module, and check that each call only returns results."""

    def __init__(self, seen: list[Whole]) -> None:
        self._seen = seen
        self._before: Any = None

    def begin(self, part: object, args: object, kwargs: object) -> None:
        self._before = _versions(part, args, kwargs), torch.get_rng_state()

    def end(self, part: torch.nn.Module, args: object, kwargs: object, results: object) -> None:
        name, (versions, state) = type(part).__name__, self._before
        now = _versions(part, args, kwargs)
        if now.keys() != versions.keys():
            raise UnsupportedError(f"{name} replaces a buffer or a parameter")
        for each in constants_of((args, kwargs, results)):
            if not isinstance(each, _CONSTANTS):
                raise UnsupportedError(f"{name} takes or gives a {type(each).__name__}, which is not a tensor")
        names = tuple(name for name, _ in (*part.named_parameters(), *part.named_buffers()))
        given, given_back = tree_map(_sized, ((args, kwargs), results))
        written = tuple(place for place, each in enumerate(now) if now[each] != versions[each])
        draws = not torch.equal(state, torch.get_rng_state())
        self._seen.append(Whole(part, given, names, given_back, written, draws))


def _versions(part: torch.nn.Module, args: object, kwargs: object) -> dict[torch.Tensor, int]:
    """Return how often each tensor was written to."""
    return {each: each._version for each in (*tensors_of((args, kwargs)), *part.parameters(), *part.buffers())}


def _sized(leaf: object) -> object:
    return torch.empty_like(leaf, device="meta") if isinstance(leaf, torch.Tensor) else leaf
