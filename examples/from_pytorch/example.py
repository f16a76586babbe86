"""Scan two PyTorch models, and run the operators that MindSpore lacks in MindSpore, with their gradients."""

import subprocess
import sys
import tempfile
from pathlib import Path

import mindspore as ms
import numpy as np
import torch

# Graph mode reads the source of functions, so the folder must exist as long as the program runs.
packages = tempfile.TemporaryDirectory()
sys.path.insert(0, packages.name)


def scan(model: str, shape: str, package: str) -> None:
    """Do what `opbridge scan` does on a command line in this folder."""
    output = Path(packages.name, package)
    command = [sys.executable, "-m", "opbridge", "scan", model, "--input", shape, "--namespace", package, "-o", output]
    subprocess.run(command, cwd=Path(__file__).parent, check=True)


scan("nets:encoder_layer()", "2,5,16", "attention_ops")
assert not Path(packages.name, "attention_ops").exists()  # MindSpore has them all

scan("nets:SpatialNet", "2,3,16,16", "spatial_ops")
# The scan has written this module.
from spatial_ops import affine_grid_generator, instance_norm, upsample_bicubic2d  # noqa: E402

rng = np.random.default_rng(0)


def array(*shape: int) -> np.ndarray:
    return rng.standard_normal(shape, dtype="float32")


class Spatial(ms.nn.Cell):
    def construct(self, pose, image, weight, bias):
        grid = affine_grid_generator(pose, (2, 3, 8, 8), False)
        turned = ms.ops.grid_sample(image, grid, align_corners=False)
        styled = instance_norm(turned, weight, bias, None, None, True, 0.1, 1e-5)
        return upsample_bicubic2d(styled, (16, 16), False, None)


def spatial(pose, image, weight, bias):
    grid = torch.nn.functional.affine_grid(pose, [2, 3, 8, 8], align_corners=False)
    turned = torch.nn.functional.grid_sample(image, grid, align_corners=False)
    styled = torch.nn.functional.instance_norm(turned, None, None, weight, bias)
    return torch.nn.functional.interpolate(styled, (16, 16), mode="bicubic", align_corners=False)


def compare(cell, function, inputs: list[np.ndarray]) -> None:
    tensors = [torch.from_numpy(value).requires_grad_() for value in inputs]
    expected = function(*tensors)
    weights = array(*expected.shape)
    (expected * torch.from_numpy(weights)).sum().backward()

    def loss(*values):
        return (cell(*values) * ms.Tensor(weights)).sum()

    values = [ms.Tensor(value) for value in inputs]
    places = tuple(range(len(values)))
    for mode, step in (("PyNative", ms.grad(loss, places)), ("Graph", ms.jit(ms.grad(loss, places)))):
        assert np.allclose(cell(*values).asnumpy(), expected.detach().numpy(), atol=1e-5)
        for gradient, tensor in zip(step(*values), tensors, strict=True):
            assert np.allclose(gradient.asnumpy(), tensor.grad.numpy(), rtol=1e-3, atol=1e-4)
        print(f"{type(cell).__name__} in {mode} mode: PyTorch's values and gradients")


compare(Spatial(), spatial, [array(2, 2, 3), array(2, 3, 8, 8), array(3), array(3)])
