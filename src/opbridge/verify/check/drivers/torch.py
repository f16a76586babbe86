"""Checks in PyTorch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import torch

from opbridge.base.errors import ToolchainError
from opbridge.verify.check.arrays import Array
from opbridge.verify.check.drivers import Driver, NotHere, Span, listed, packed
from opbridge.waist.op import Op
from opbridge.waist.schema import Schema

_OPCHECKS = {
    "test_schema": "schema",
    "test_autograd_registration": "autograd",
    "test_faketensor": "fake tensors",
    "test_aot_dispatch_dynamic": "torch.compile",
}


def make(device: str) -> Driver:
    """Return the driver for a device.

    Raises:
        ToolchainError: PyTorch has no tensors on this device.
    """
    try:
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise ToolchainError(f"PyTorch has no tensors on {device} here: {reason}") from None
    return TorchDriver(device)


class TorchDriver(Driver):
    """PyTorch on one device."""

    name = "torch"

    def __init__(self, device: str) -> None:
        self.device = device

    def tensor(self, array: Array) -> torch.Tensor:
        """Return a new PyTorch tensor on the device with these values."""
        return torch.from_numpy(array.values.copy()).to(self.device, self.dtype(array.dtype), copy=True)

    def array(self, tensor: torch.Tensor) -> Array:
        """Return a tensor's values."""
        name = str(tensor.dtype).removeprefix("torch.")
        plain = tensor.detach().cpu().resolve_conj().resolve_neg()
        return Array.of((plain.double() if name == "bfloat16" else plain).numpy(), name)

    def dtype(self, name: str) -> torch.dtype:
        """Return PyTorch's element type of this name."""
        found = getattr(torch, name, None)
        if not isinstance(found, torch.dtype):
            raise NotHere
        return found

    def gradients(
        self,
        op: Op,
        schema: Schema,
        values: Mapping[str, torch.Tensor],
        names: Sequence[str],
        weights: Sequence[object],
    ) -> list[torch.Tensor]:
        """Return the gradients of the weighted sum of the outputs; zero for a tensor that does not affect them."""
        leaves = {name: values[name].detach().requires_grad_() for name in names}
        written = {argument.name for argument in schema.mutable_arguments}
        # PyTorch forbids writing to a leaf that requires a gradient.
        given = {name: leaves[name].clone() if name in written else leaves[name] for name in names}
        outputs = self.call(op, schema, {**values, **given})
        pairs = zip(outputs, weights, strict=True)
        total = sum((output * weight).sum() for output, weight in pairs if weight is not None)
        found = torch.autograd.grad(total, list(leaves.values()), allow_unused=True)
        return [
            torch.zeros_like(leaf) if grad is None else grad for leaf, grad in zip(leaves.values(), found, strict=True)
        ]

    def batch(self, op: Op, schema: Schema, values: Mapping[str, object], batched: Sequence[str]) -> list[object]:
        """Call the operator on a batch with torch.func.vmap."""

        def function(*tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
            args, kwargs = packed(schema, {**values, **dict(zip(batched, tensors, strict=True))})
            return tuple(listed(op(*args, **kwargs)))

        return list(torch.func.vmap(function)(*(values[name] for name in batched)))

    def layouts(self, array: Array) -> Iterator[tuple[str, torch.Tensor]]:
        """Yield the values transposed and with a stride of two."""
        plain = self.tensor(array)
        if plain.ndim > 1:
            yield "transposed", plain.transpose(0, 1).contiguous().transpose(0, 1)
        if plain.ndim > 0:
            yield "every second element", plain.repeat_interleave(2, dim=-1)[..., ::2]

    def finish(self, outputs: Sequence[object]) -> None:
        """Synchronize the device."""
        if self.device != "cpu":
            torch.get_device_module(self.device).synchronize()

    def span(self, tensor: torch.Tensor) -> Span | None:
        """Return the addresses of the tensor's whole storage."""
        storage = tensor.untyped_storage()
        return (storage.data_ptr(), storage.data_ptr() + storage.nbytes())

    def opcheck(
        self, op: Op, schema: Schema, values: Mapping[str, torch.Tensor], names: Sequence[str]
    ) -> tuple[str, ...]:
        """Run torch.library.opcheck and return the names of the tests.

        It raises torch.testing._internal.optests.OpCheckError, among others, if a test fails.
        """
        for name in names:
            # PyTorch forbids writing to a leaf that requires a gradient.
            if not schema.argument(name).mutable:
                values[name].requires_grad_()
        args, kwargs = packed(schema, values)
        packet = op.torch
        overload = packet if isinstance(packet, torch._ops.OpOverload) else packet.default
        # torch.compile does not support operators that return one of their arguments.
        shares = any(output.alias is not None for output in schema.returns)
        tests = tuple(name for name in _OPCHECKS if not (shares and name == "test_aot_dispatch_dynamic"))
        torch.library.opcheck(overload, tuple(args), kwargs, test_utils=tests)
        return tuple(_OPCHECKS[name] for name in tests)
