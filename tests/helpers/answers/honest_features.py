"""Honest answers that use much of CUDA, or keep things between calls as they may."""

from __future__ import annotations

from tests.helpers.answers.honest_features_extension import answer

_RELU = "extension.relu_of(x, self.scale)"
_MEMORY = """
if self.y is None or self.y.shape != x.shape: self.y, self.z = torch.empty_like(x), torch.empty_like(x)
extension.both_into(x, self.y, self.z)
"""
_PACKED = """
version = self.linear.weight._version, self.linear.weight.data_ptr()
if self.kept != version: self.kept, self.packed = version, extension.packed(self.linear.weight)
return extension.linear_of(x, self.packed, self.linear.bias)
"""
_NORM = """
if self.training:
    m, v = extension.moments(x)
    self.norm.running_mean.lerp_(m, 0.1)
    self.norm.running_var.lerp_(v * (x.size(0) / (x.size(0) - 1)), 0.1)
    self.norm.num_batches_tracked.add_(1)
else:
    m, v = self.norm.running_mean, self.norm.running_var
a = self.norm.weight * torch.rsqrt(v + self.norm.eps)
return extension.affine(x, a, self.norm.bias - m * a)
"""
ANSWERS = {
    **{
        name: answer("relu", f"return extension.{function}(x, self.scale)")
        for name, function in (
            ("a template and a functor", "by_functor"),
            ("vectors, and a kernel for the tail", "by_vectors"),
            ("persistent blocks", "by_persistent_blocks"),
            ("constant memory", "by_a_constant"),
            ("a graph", "by_a_graph"),
            ("two streams that are joined", "by_two_streams"),
            ("a number in managed memory", "in_managed_memory"),
            ("copies in memory of the device", "by_copies"),
            ("asynchronous memory", "by_asynchronous_memory"),
        )
    },
    **{
        name: answer("sum", f"return extension.{function}(x)")
        for name, function in (
            ("two stages", "by_two_stages"),
            ("a barrier of the grid", "by_a_grid_barrier"),
            ("dynamic shared memory", "by_dynamic_memory"),
            ("atomics", "by_atomics"),
        )
    },
    "the last block": answer(
        "sum",
        "if self.counter is None: self.counter = torch.zeros(1, dtype=torch.int32, device=x.device)\n"
        "return extension.by_the_last_block(x, self.counter)",
        before="self.counter = None",
    ),
    "cuBLAS for a sum": answer("sum", "return extension.by_cublas(x, torch.ones(x.size(1), device=x.device))"),
    "cuBLAS, and ones that are kept": answer(
        "sum",
        "if self.one is None or self.one.numel() != x.size(1): self.one = torch.ones(x.size(1), device=x.device)\n"
        "return extension.by_cublas(x, self.one)",
        before="self.one = None",
    ),
    "a kernel for each column": answer("product", "return extension.product_by_outer_sums(x)"),
    "batches of cuBLAS": answer("product", "return extension.product_by_batches(x)"),
    "pairs of half": answer("half", "return extension.by_pairs_of_half(x)"),
    "weights packed when they change": answer("linear", _PACKED, before="self.kept = self.packed = None"),
    "a workspace that is kept": answer(
        "linear",
        "w = self.linear.weight\nif self.work is None or self.work.shape != w.shape: self.work = torch.empty_like(w)\n"
        "return extension.linear_in(x, w, self.linear.bias, self.work)",
        before="self.work = None",
    ),
    "a workspace by shape": answer(
        "linear",
        "w = self.linear.weight\nwork = self.work.setdefault(tuple(w.shape), torch.empty_like(w))\n"
        "return extension.linear_in(x, w, self.linear.bias, work)",
        before="self.work = {}",
    ),
    "PyTorch for the transposed weights": answer(
        "linear", "return extension.linear_of(x, self.linear.weight.t().contiguous(), self.linear.bias)"
    ),
    "softmax in a block": answer("softmax", "return extension.softmax_of(x)"),
    "powers of two": answer("softmax", "return extension.softmax_by_exponents(x)"),
    "indices": answer("largest", "return extension.largest(x)"),
    "ballots": answer("count", "return extension.counts(x, 0.5)"),
    "truth values": answer("mask", "return extension.mask(x, 0.5)"),
    "infinities": answer("logarithm", "return extension.logarithm(x, 0.5)"),
    "a tensor without dimensions": answer("mean", "return extension.mean(x)"),
    "memory that is kept and copied": answer(
        "two", _MEMORY + "return self.y.clone(), self.z.clone()", before="self.y = self.z = None"
    ),
    "views of a stack": answer(
        "two",
        "own = torch.empty(2, *x.shape, device=x.device)\nextension.both_into(x, own[0], own[1])\n"
        "return tuple(own.unbind())",
    ),
    "statistics in kernels": answer("norm", _NORM),
    "gradients of its own": answer(
        "relu",
        "return Relu.apply(x, self.scale)",
        top="""
        class Relu(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, scale):
                ctx.save_for_backward(x)
                ctx.scale = scale
                return extension.relu_of(x, scale)

            @staticmethod
            def backward(ctx, gradient):
                (x,) = ctx.saved_tensors
                return gradient * (x > 0) * ctx.scale, None
        """,
    ),
    "an operator of its own": answer(
        "relu",
        "return torch.ops.mine.relu_of(x, self.scale)",
        top="""
        @torch.library.custom_op("mine::relu_of", mutates_args=())
        def relu_of(x: torch.Tensor, scale: float) -> torch.Tensor:
            return extension.relu_of(x, scale)
        """,
    ),
    "chosen by size": answer("relu", f"return extension.by_vectors(x, self.scale) if x.numel() % 4 == 0 else {_RELU}"),
    "a table made on the host": answer(
        "product",
        "at = torch.arange(x.size(0)).to(x.device)\nreturn extension.product_by_outer_sums(x[at].contiguous())",
    ),
    "a choice by a number that is read": answer(
        "relu", f"if float(x.max()) < 0: return torch.zeros_like(x)\nreturn {_RELU}"
    ),
    "inputs made contiguous": answer(
        "relu", "return extension.relu_of(x.contiguous().view(-1), self.scale).view_as(x)"
    ),
}
"""The task and the answer, by what is unusual."""
