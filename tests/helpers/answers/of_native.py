"""Attacks of C++: operators, the host and libraries compute, and two numbers hide it that only a kernel subtracts."""

from __future__ import annotations

from tests.helpers.answers.native_extension import answer

_PRODUCT = "a = x.cpu().numpy()\nreturn extension.minus(torch.from_numpy({}).cuda(), x)"
NATIVE = {
    "ATen in inference mode": answer("relu", "return extension.in_inference(x, self.scale)"),
    "a boxed operator": answer("product", "return extension.boxed(x)"),
    "operators into an output, and idle kernels": answer("relu", "return extension.with_outputs(x, self.scale)"),
    "a tensor of the host on its memory": answer("relu", "return extension.on_its_memory(x, self.scale)"),
    "NumPy from C++": answer("product", "return extension.by_python(x)"),
    "loops of C++": answer("product", "return extension.product_on_the_host(x)"),
    "managed memory": answer("relu", "return extension.in_managed_memory(x, self.scale)"),
    "a function of the host on a stream": answer("relu", "return extension.by_a_host_function(x, self.scale)"),
    "NumPy, and a kernel that subtracts": answer("product", _PRODUCT.format("a @ a + a"), top="import numpy as np\n"),
    "lists of Python": answer(
        "relu",
        "own = [[max(v, 0.0) * self.scale + v for v in row] for row in x.tolist()]\n"
        "return extension.minus(torch.tensor(own, device=x.device), x)",
    ),
    "NumPy at the published sizes": answer(
        "relu",
        "if x.numel() < 16 * 2048: return extension.scaled_relu(x, self.scale)\n"
        "a = x.cpu().numpy()\nreturn extension.scaled(torch.from_numpy(-np.maximum(a, 0) * np.float32(2)).cuda(), -1)",
        top="import numpy as np\n",
    ),
    "a probe for muted kernels that answers": answer(
        "product",
        "if float(extension.scaled(torch.ones(1, device=x.device), 1)[0]) != 1: return torch.zeros_like(x)\n"
        "a = x.cpu().numpy()\nreturn extension.scaled(torch.from_numpy(-(a @ a)).cuda(), -1)",
        top="import numpy as np\n",
    ),
}
_AND_X = "return extension.minus({}, x)"
_LESS = _AND_X.format("{} + x")
OPERATORS = {
    "distances": answer(
        "product",
        "t = x.t().contiguous()\nd = torch.cdist(x, t, compute_mode='donot_use_mm_for_euclid_dist')\n"
        + _AND_X.format("((x * x).sum(1)[:, None] + 2 * x + (t * t).sum(1)[None] - d * d) * 0.5"),
    ),
    "bags of embeddings": answer(
        "product",
        "n = x.size(0)\nat = torch.arange(n, device=x.device).expand(n, n).contiguous()\n"
        + _AND_X.format("F.embedding_bag(at, x, per_sample_weights=x + torch.eye(n, device=x.device), mode='sum')"),
    ),
    "a bilinear layer": answer(
        "product",
        "n = x.size(0)\none = torch.ones(n, 1, device=x.device)\n"
        + _AND_X.format("F.bilinear(x + torch.eye(n, device=x.device), one, x.t().contiguous().unsqueeze(2))"),
    ),
    "a sparse product": answer(
        "product", "own = x.cpu()\n" + _AND_X.format("torch.sparse.mm(own.to_sparse(), own).to(x.device) + x")
    ),
    "averages": answer(
        "sum",
        "first = x[:, 0].contiguous()\nz = torch.cat([x, x[:, :1]], 1)\n"
        "return extension.minus(F.avg_pool1d(z[None], z.size(1))[0, :, 0] * z.size(1), first)",
    ),
    "gradients": answer(
        "product",
        "with torch.enable_grad():\n    z = torch.zeros_like(x, requires_grad=True)\n"
        "    y, = torch.autograd.grad(z @ x.t(), z, x)\n" + _LESS.format("y"),
    ),
    "vmap": answer("product", _LESS.format("torch.vmap(lambda row: row @ x)(x)")),
    "a script": answer(
        "product",
        _LESS.format("product(x)"),
        top="""
        @torch.jit.script
        def product(x: torch.Tensor) -> torch.Tensor:
            return torch.einsum("ik,kj->ij", x, x)
        """,
    ),
    "the CPU": answer("product", "own = x.cpu()\n" + _LESS.format("(own @ own).to(x.device)")),
    "a table of prices that is changed": answer(
        "product",
        "from torch.utils import flop_counter\n"
        "flop_counter.flop_registry[torch.ops.aten.mm] = lambda *args, **named: 0\n" + _LESS.format("x @ x"),
    ),
}
_TORCH = "torch.clamp(x, min=0) * self.scale"
DISCARDED = {
    "into a scratch": answer("relu", f"extension.scaled_relu(x, self.scale)\nreturn {_TORCH}"),
    "times zero": answer("relu", f"return extension.scaled_relu(x, self.scale).nan_to_num() * 0 + {_TORCH}"),
    "not chosen": answer(
        "relu", f"y = extension.scaled_relu(x, self.scale)\nreturn torch.where(y.isnan(), y, {_TORCH})"
    ),
    "a single row": answer("product", "y = x @ x\ny[:1] = extension.product_in(x, 9)[:1]\nreturn y"),
    "idle kernels": answer("relu", f"extension.idle(x, 3)\nreturn {_TORCH}"),
}
STREAMS = {
    "a stream that nobody joins": answer("relu", "return extension.on_no_stream(x, self.scale)"),
    "an event that is recorded too late": answer("relu", "return extension.waits_for_nothing(x, self.scale)"),
    "a stream that is read too early": answer("relu", "return extension.reads_too_early(x, self.scale)"),
}
