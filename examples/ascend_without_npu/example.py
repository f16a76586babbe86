"""Compare Ascend C kernels with PyTorch on the CPU for all shapes, types and numbers of blocks; then show a mistake."""

from pathlib import Path

import jax
import jax.numpy as jnp
import mindspore as ms
import numpy as np
import torch
from torch.nn.functional import layer_norm, silu

import opbridge as ob

HERE = Path(__file__).parent
BLOCKS = (1, 2, 8)
SIZES = (1, 7, 64, 1000, 5000)
MATRICES = ((1, 1), (3, 7), (17, 100), (8, 1024), (5, 3000))
TOLERANCE = {torch.float16: 2e-3, torch.float32: 1e-5}

lib = ob.load(HERE / "ops.yaml", device="ascend-twin")
torch.manual_seed(0)


def agree(got: torch.Tensor, wanted: torch.Tensor) -> None:
    tolerance = TOLERANCE[got.dtype]
    torch.testing.assert_close(got, wanted.to(got.dtype), rtol=tolerance, atol=tolerance)


for blocks in BLOCKS:
    for size in SIZES:
        x = torch.rand(size)
        agree(lib.affine(x, scale=2.5, shift=-1.0, blocks=blocks), 2.5 * x - 1)
        agree(lib.share_of_total(x, blocks=blocks), x / x.sum())
        for dtype in TOLERANCE:
            agree(lib.silu(x.to(dtype), blocks=blocks), silu(x.to(dtype).float()))
    for rows, columns in MATRICES:
        weight, bias = torch.randn(2, columns)
        index = torch.randint(rows, (19,))
        for dtype in TOLERANCE:
            x = torch.randn(rows, columns).to(dtype)
            agree(lib.row_sum(x, blocks=blocks), x.float().sum(1))
            agree(lib.softmax(x, blocks=blocks), x.float().softmax(1))
            agree(lib.layer_norm(x, weight, bias, blocks=blocks), layer_norm(x.float(), (columns,), weight, bias))
            agree(lib.embedding(x, index, blocks=blocks), x[index])
            outwards, addend = torch.rand(columns, 24).to(dtype) / columns, torch.randn(24)
            agree(lib.linear(x, outwards, addend, blocks=blocks), x.float() @ outwards.float() + addend)
print(f"eight kernels agree with PyTorch, by {', '.join(map(str, BLOCKS))} blocks")

x = torch.randn(40, 300, requires_grad=True)
weight = torch.randn(40, 300)
(expected,) = torch.autograd.grad((x.softmax(1) * weight).sum(), x)
(gradient,) = torch.autograd.grad((lib.softmax(x) * weight).sum(), x)
agree(gradient, expected)
print("so does the gradient of softmax")

softmax = lib.softmax.mindspore
in_mindspore = ms.grad(lambda x: (softmax(x) * ms.Tensor(weight.numpy())).sum())(ms.Tensor(x.detach().numpy()))
np.testing.assert_allclose(in_mindspore.asnumpy(), expected, atol=1e-5)
in_jax = jax.grad(lambda x: (lib.softmax.jax(x) * weight.numpy()).sum())(jnp.asarray(x.detach().numpy()))
np.testing.assert_allclose(in_jax, expected, atol=1e-5)
print("in MindSpore and JAX too")

# Without the queue, the vector unit may read a tile before it has been copied.  A sequential run on the CPU gives the
# right result nevertheless.
queue = "    in.EnQue(loaded);\n    return in.DeQue<float>();\n"
source = (HERE / "share_of_total.cpp").read_text().replace(queue, "    return loaded;\n", 1)
broken = ob.inline(
    source.replace('#include "common.h"', (HERE / "common.h").read_text()),
    schema="without_queue::share_of_total(Tensor x) -> Tensor",
    out="x",
    launch={"blockDim": 2, "workspace": 64, "n": "x.numel"},
    device="ascend-twin",
)
try:
    broken(torch.rand(5000))
    raise SystemExit("the missing queue went unnoticed")
except ob.errors.KernelError as error:
    print(error)
