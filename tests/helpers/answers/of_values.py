"""Attacks on the comparison: numbers that are almost right, and outputs of another kind or in shared memory."""

from __future__ import annotations

from tests.helpers.answers.native_extension import answer

_RELU = "extension.scaled_relu(x, self.scale)"
TOLERANCE = {
    "factors of eleven bits": answer("product", "return extension.product_in(x, 0)"),
    "sums in half": answer("product", "return extension.product_in(x, 1)"),
    "factors of seventeen bits": answer("product", "return extension.product_in(x, 2)"),
    "small terms left out": answer("product", "return extension.product_in(x, 3)"),
    "terms in half": answer("sum", "return extension.sums_in_half(x)"),
    "half of the terms, twice": answer(
        "sum", "return extension.sums_in_half(x[:, ::2].contiguous()) * (x.size(1) / ((x.size(1) + 1) // 2))"
    ),
    "no infinity": answer("logarithm", "return extension.finite_logarithm(extension.scaled_relu(x - 0.5, 1))"),
    "wrong at few places": answer("relu", "return extension.wrong_at_few(x, self.scale)"),
    "wrong for few numbers": answer("relu", "return extension.wrong_for_few(x, self.scale)"),
    "the last block left out": answer("relu", "return extension.without_its_end(x, self.scale)"),
    "the last of equal ones": answer("largest", "return extension.last_of_equal(x)"),
    "at least, not more": answer("mask", "return extension.larger(extension.scaled_relu(x - 0.5, 1))"),
}
KINDS = {
    "on the host": answer("relu", f"return {_RELU}.cpu()"),
    "a number of Python": answer("mean", "return float(extension.sums_in_half(x).mean()) / x.size(1)"),
    "a list": answer("relu", f"return [{_RELU}, {_RELU}]"),
    "NumPy's": answer("relu", f"return {_RELU}.cpu().numpy()"),
    "int32 for int64": answer("largest", "return torch.argmax(extension.scaled(x.float(), 1), 1).int()"),
    "bytes for truth values": answer("mask", "return (extension.scaled_relu(x - 0.5, 1) > 0).byte()"),
    "complex": answer("relu", f"return {_RELU} + 0j"),
    "sparse": answer("relu", f"return {_RELU}.cpu().to_sparse()"),
    "one memory for all calls": answer("relu", "return extension.in_static_memory(x, self.scale)"),
    "four memories in turns": answer(
        "relu",
        f"self.calls += 1\nkey = self.calls % 4, tuple(x.shape)\ny = {_RELU}\n"
        "if key not in self.own: self.own[key] = torch.empty_like(x)\nreturn self.own[key].copy_(y)",
        before="self.calls, self.own = 0, {}",
    ),
}
