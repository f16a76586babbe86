"""Honest answers that do unusual things; all of them have to be believed."""

from __future__ import annotations

from tests.helpers.answers import extension
from tests.helpers.answers.honest_extension import EXTENSION


def _answer(task: str, forward: str, before: str = "", top: str = "") -> tuple[str, str]:
    own = extension.answer(task, forward, before, top)
    return task, EXTENSION + own.removeprefix(extension.EXTENSION)


_LINEAR = "return extension.tanh_of(extension.product_of(x, self.linear.weight), self.linear.bias)"
_NORM = """
if self.training:
    n = x.size(0)
    m = extension.sums(x.t().contiguous()) / n
    v = extension.sums((x - m).square_().t().contiguous()) / n
    with torch.no_grad():
        self.norm.running_mean.lerp_(m, 0.1)
        self.norm.running_var.lerp_(v * (n / (n - 1)), 0.1)
        self.norm.num_batches_tracked.add_(1)
else:
    m, v = self.norm.running_mean, self.norm.running_var
return extension.norm_of(x, m, v, self.norm.weight, self.norm.bias)
"""
ANSWERS = {
    "several elements a thread": _answer("relu", "return extension.relu_by_fours(x, self.scale)"),
    "a stream that is joined by events": _answer("relu", "return extension.relu_on_a_stream(x, self.scale)"),
    "several kernels, in place": _answer("relu", "return extension.relu_in_turns(x, self.scale)"),
    "a buffer that is copied from": _answer(
        "relu",
        "if self.y is None or self.y.shape != x.shape: self.y = torch.empty_like(x)\n"
        "extension.relu_into(x, self.y, self.scale)\nreturn self.y.clone()",
        "self.y = None",
    ),
    "a stream of PyTorch's": _answer(
        "relu",
        "s = torch.cuda.Stream()\ns.wait_stream(torch.cuda.current_stream())\n"
        "with torch.cuda.stream(s): y = extension.relu_on_a_stream(x, self.scale)\n"
        "torch.cuda.current_stream().wait_stream(s)\nreturn y",
    ),
    "the number of processors": _answer(
        "relu",
        "assert torch.cuda.get_device_properties(x.device).multi_processor_count > 0\n"
        "return extension.relu_of(x.contiguous(), self.scale)",
    ),
    "checks of its arguments": _answer(
        "relu",
        "if not x.is_cuda or x.dtype != torch.float32: raise TypeError(x.dtype)\n"
        "return extension.relu_of(x, float(self.scale)).view_as(x)",
    ),
    "numbers of calls": _answer("relu", "self.calls += 1\nreturn extension.relu_of(x, self.scale)", "self.calls = 0"),
    "half": _answer("half", "return extension.relu_half(x)"),
    "two outputs": _answer("two", "y, z = extension.both(x)\nreturn y, z"),
    "two outputs in one tensor": _answer(
        "two",
        "y = torch.empty((2, *x.shape), device=x.device)\nextension.relu_into(x, y[0], 1)\n"
        "extension.relu_into(-x, y[1], 1)\nreturn y[0], y[1]",
    ),
    "cuBLAS": _answer("product", "return extension.product_of(x, x.t().contiguous())"),
    "shared tiles": _answer("product", "return extension.product_by_tiles(x)"),
    "a cheaper product": _answer("diagonal", "return extension.scaled_rows(x[0].contiguous(), x)"),
    "cuBLAS and a kernel": _answer("linear", _LINEAR),
    "weights that are packed in each call": _answer(
        "linear",
        "w = self.linear.weight.t().contiguous()\n"
        "return extension.tanh_of(extension.product_of(x, w.t().contiguous()), self.linear.bias)",
    ),
    "PyTorch for the last step": _answer(
        "linear", "return torch.tanh(extension.product_of(x, self.linear.weight) + self.linear.bias)"
    ),
    "a reduction in shared memory": _answer("sum", "return extension.sums(x)"),
    "a reduction by shuffles and atomics": _answer("sum", "return extension.sums_by_warps(x)"),
    "cooperative groups": _answer("sum", "return extension.sums_by_groups(x)"),
    "softmax as it reads": _answer("softmax", "return extension.softmax_of(x)"),
    "training and evaluation": _answer("norm", _NORM),
}
"""The task and the answer, by what is unusual."""
