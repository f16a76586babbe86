"""Record recurrent layers as the single calls that they are on a GPU; on the CPU each is thousands of steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch.overrides import TorchFunctionMode

from opbridge.analysis.profile.pytorch.operator_counts import bytes_of, dtype_of
from opbridge.analysis.profile.pytorch.operator_times import Call

_LAYERS = frozenset({"lstm", "gru", "rnn_tanh", "rnn_relu"})


class Recurrent(TorchFunctionMode):  # type: ignore[misc]
    """A mode that reports each recurrent layer to `tell` as one call, and does not compute it."""

    def __init__(self, tell: Callable[[Call], None]) -> None:
        super().__init__()
        self._tell = tell

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> object:
        name = getattr(func, "__name__", "")
        # The sizes of packed sequences are values of tensors, so these are counted step by step.
        if name not in _LAYERS or kwargs or not isinstance(args[2], (list, tuple)):
            return func(*args, **(kwargs or {}))
        outputs = _outputs(args)
        self._tell(_call(name, args, outputs))
        return outputs


def _outputs(args: tuple[Any, ...]) -> tuple[object, ...]:
    given, state, *_, both_ways, _ = args
    states = state if isinstance(state, (list, tuple)) else [state]
    width = states[0].shape[-1] * (2 if both_ways else 1)
    return (given.new_empty(*given.shape[:-1], width), *(one.new_empty(one.shape) for one in states))


def _call(name: str, args: Any, outputs: tuple[object, ...]) -> Call:
    given, _, weights, _, layers, *_, batch_first = args
    steps = given.shape[1 if batch_first and given.dim() == 3 else 0]
    rows = given.numel() // given.shape[-1]
    # Biases are vectors, and nothing is multiplied by them.
    operations = 2.0 * rows * sum(weight.numel() for weight in weights if weight.dim() == 2)
    moved = sum(bytes_of(value) for value in (given, *weights, *outputs))
    return Call(name, dtype_of(given), operations, moved, steps=steps * layers)
