"""Run a CUDA softmax and its gradient in three frameworks on the CPU; then show the report for a missing barrier."""

from pathlib import Path

import jax
import jax.numpy as jnp
import mindspore as ms
import numpy as np
import torch

import opbridge as ob

HERE = Path(__file__).parent
lib = ob.load(HERE / "ops.yaml", device="cuda-twin")

rng = np.random.default_rng(0)
x, weight = rng.standard_normal((2, 40, 300), np.float32)

in_torch = torch.from_numpy(x).requires_grad_()
expected = torch.softmax(in_torch, -1)
(expected_gradient,) = torch.autograd.grad((expected * torch.from_numpy(weight)).sum(), in_torch)

result = lib.softmax(in_torch)
torch.testing.assert_close(result, expected)
(gradient,) = torch.autograd.grad((result * torch.from_numpy(weight)).sum(), in_torch)
torch.testing.assert_close(gradient, expected_gradient)
print("PyTorch agrees, gradient included")

softmax = lib.softmax.mindspore
gradient = ms.grad(lambda x: (softmax(x) * ms.Tensor(weight)).sum())(ms.Tensor(x))
np.testing.assert_allclose(gradient.asnumpy(), expected_gradient, atol=1e-6)
print("MindSpore agrees")

gradient = jax.jit(jax.grad(lambda x: (lib.softmax.jax(x) * weight).sum()))(jnp.asarray(x))
np.testing.assert_allclose(gradient, expected_gradient, atol=1e-6)
print("JAX agrees")

# The first barrier makes each thread wait for the values of the others.
source = (HERE / "softmax.cu").read_text()
broken = source.replace("__syncthreads();", "", 1)
forgetful = ob.inline(broken, schema="rows_broken::softmax(Tensor x) -> Tensor", out="x", device="cuda-twin")
try:
    forgetful(x)
    raise SystemExit("the forgotten barrier went unnoticed")
except ob.errors.KernelError as error:
    print(error)
