"""Call an operator in tinygrad, which a package of 150 lines adds to opbridge."""

import numpy as np
from tinygrad import Tensor

import opbridge as ob

KERNEL = """
#include <opbridge/kernel.h>

#include <cmath>

void swish(ob::In<float> x, ob::Out<float> out) {
  for (int64_t i = 0; i < x.numel(); ++i) out[i] = x[i] / (1 + std::exp(-x[i]));
}
OB_KERNEL(swish)
"""

swish = ob.inline(
    KERNEL,
    schema="example::swish(Tensor x) -> Tensor",
    out="x",
    derivatives={"x": "grad * sigmoid(x) * (1 + x * (1 - sigmoid(x)))"},
)

x = Tensor([[0.5, -1.0], [2.0, 0.0]])
y = swish(x)  # or swish.tinygrad(x)
(gradient,) = y.sum().gradient(x)
print("swish    ", y.numpy().tolist())
print("gradient ", gradient.numpy().tolist())

np.testing.assert_allclose(y.numpy(), (x * x.sigmoid()).numpy(), rtol=1e-6)
np.testing.assert_allclose(gradient.numpy(), (x * x.sigmoid()).sum().gradient(x)[0].numpy(), rtol=1e-5)
