"""A converted network as a flax.nnx module, which trains like a handwritten one."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from opbridge.base.errors import UnsupportedError

try:
    from flax import nnx
except ImportError as missing:
    raise UnsupportedError("a module of flax.nnx needs flax; install it with `pip install flax`") from missing


class Part(nnx.Module):  # type: ignore[misc]
    """The contents of a PyTorch module, by their names; numbered ones are reached by `[0]`."""

    def __getitem__(self, name: object) -> Any:
        return getattr(self, str(name))


class Network(Part):
    """A converted network with `Param` weights and `BatchStat` buffers.

    `train()` and `eval()` are those of nnx. Training draws from the stream `dropout` of `rngs`.
    """

    def __init__(
        self, apply: Callable[..., Any], values: Mapping[str, Any], buffers: Collection[str], rngs: nnx.Rngs | None
    ) -> None:
        self.apply, self.names, self.rngs = apply, tuple(values), rngs
        self.deterministic = True
        for name, value in values.items():
            owner, last = self._place(name)
            setattr(owner, last, (nnx.BatchStat if name in buffers else nnx.Param)(value))

    def __call__(self, *inputs: Any) -> Any:
        """Return the results; in training, also store the new values of the buffers."""
        values = {name: self.variable(name).value for name in self.names}
        if self.deterministic:
            return self.apply(values, *inputs)
        key = None if self.rngs is None else self.rngs.dropout()
        result, moved = self.apply(values, *inputs, train=True, key=key)
        for name, value in moved.items():
            self.variable(name).value = value
        return result

    def variable(self, name: str) -> Any:
        """Return the weight or buffer with a PyTorch name."""
        owner, last = self._place(name)
        return getattr(owner, last)

    def _place(self, name: str) -> tuple[Part, str]:
        *path, last = name.split(".")
        owner: Part = self
        for part in path:
            if not hasattr(owner, part):
                setattr(owner, part, Part())
            owner = getattr(owner, part)
        return owner, last
