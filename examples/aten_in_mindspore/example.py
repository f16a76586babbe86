"""Use a PyTorch operator in a MindSpore network.  Only its compilation needs opbridge."""

import subprocess
import sys
import tempfile
from pathlib import Path

import mindspore as ms
import numpy as np
import torch
from mindspore import nn, ops

folder = Path(tempfile.mkdtemp())
library = folder / "erfcx.so"
source = Path(__file__).with_name("erfcx.cpp")
subprocess.run([sys.executable, "-m", "opbridge", "compile", source, library], check=True)


def like_x(x, *others):
    return x


erfcx_grad = ops.Custom(f"{library}:ErfcxGrad", out_shape=like_x, out_dtype=like_x, func_type="aot")


def backward(x, y, grad):
    return (erfcx_grad(x, y, grad),)


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.erfcx = ops.Custom(f"{library}:Erfcx", out_shape=like_x, out_dtype=like_x, func_type="aot", bprop=backward)

    def construct(self, x):
        return self.erfcx(x).sum()


x = np.linspace(-2, 2, 9, dtype=np.float32)
expected = torch.tensor(x, requires_grad=True)
torch.special.erfcx(expected).sum().backward()
for mode in (ms.PYNATIVE_MODE, ms.GRAPH_MODE):
    ms.set_context(mode=mode, device_target="CPU")
    value, gradient = ms.value_and_grad(Net())(ms.Tensor(x))
    print(value, gradient)
    np.testing.assert_allclose(value.asnumpy(), torch.special.erfcx(expected).sum().item(), rtol=1e-6)
    np.testing.assert_allclose(gradient.asnumpy(), expected.grad.numpy(), rtol=1e-5)
