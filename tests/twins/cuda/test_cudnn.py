"""cuDNN of the twin against PyTorch, called as C; forward, backward, and blended with what was there."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional

from opbridge.twins.cuda import toolchain as cuda_twin

FLOAT, DOUBLE = 0, 1
NCHW, NHWC = 0, 1
ONE, ZERO, HALF, TWO = (ctypes.byref(ctypes.c_double(value)) for value in (1, 0, 0.5, 2))
BAD_PARAM = 3

Call = Callable[..., int]


@pytest.fixture(scope="module")
def library() -> ctypes.CDLL:
    return ctypes.CDLL(str(cuda_twin.library("cudnn")))


class Cudnn:
    """A handle, and descriptors that live as long."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self.library = library
        self.handle = ctypes.c_void_p()
        self.made: list[tuple[str, ctypes.c_void_p]] = []
        assert library.cudnnCreate(ctypes.byref(self.handle)) == 0

    def status(self, name: str, *arguments: Any) -> int:
        passed = [
            ctypes.c_void_p(argument.data_ptr()) if isinstance(argument, torch.Tensor) else argument
            for argument in arguments
        ]
        status: int = getattr(self.library, f"cudnn{name}")(*passed)
        return status

    def __call__(self, name: str, *arguments: Any) -> None:
        assert self.status(name, *arguments) == 0, name

    def on_handle(self, name: str, *arguments: Any) -> None:
        self(name, self.handle, *arguments)

    def new(self, kind: str) -> ctypes.c_void_p:
        made = ctypes.c_void_p()
        self(f"Create{kind}Descriptor", ctypes.byref(made))
        self.made.append((kind, made))
        return made

    def of(self, tensor: torch.Tensor) -> ctypes.c_void_p:
        made = self.new("Tensor")
        ints = ctypes.c_int * tensor.ndim
        self("SetTensorNdDescriptor", made, DOUBLE, tensor.ndim, ints(*tensor.shape), ints(*tensor.stride()))
        return made

    def filter(self, weight: torch.Tensor) -> ctypes.c_void_p:
        made = self.new("Filter")
        self("SetFilterNdDescriptor", made, DOUBLE, NCHW, weight.ndim, (ctypes.c_int * weight.ndim)(*weight.shape))
        return made

    def close(self) -> None:
        for kind, made in self.made:
            self(f"Destroy{kind}Descriptor", made)
        self("Destroy", self.handle)


@pytest.fixture
def cudnn(library: ctypes.CDLL) -> Iterator[Cudnn]:
    made = Cudnn(library)
    yield made
    made.close()


def drawn(*sizes: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*sizes, dtype=torch.float64, generator=torch.Generator().manual_seed(seed + sum(sizes)))


def convolution(cudnn: Cudnn, rank: int, pad: int, stride: int, dilation: int, groups: int, mode: int) -> Any:
    made = cudnn.new("Convolution")
    ints = ctypes.c_int * rank
    sizes = (ints(*[value] * rank) for value in (pad, stride, dilation))
    cudnn("SetConvolutionNdDescriptor", made, rank, *sizes, mode, DOUBLE)
    cudnn("SetConvolutionGroupCount", made, groups)
    return made


@pytest.mark.parametrize(
    ("rank", "pad", "stride", "dilation", "groups"),
    [(2, 1, 1, 1, 1), (2, 0, 2, 1, 2), (2, 2, 1, 2, 1), (3, 1, 2, 1, 1)],
)
def test_a_convolution_and_its_gradients(
    cudnn: Cudnn, rank: int, pad: int, stride: int, dilation: int, groups: int
) -> None:
    x = drawn(2, 4, *[6] * rank).requires_grad_()
    w = drawn(6, 4 // groups, *[3] * rank).requires_grad_()
    expected = [functional.conv2d, functional.conv3d][rank - 2](x, w, None, stride, pad, dilation, groups)
    grad = drawn(*expected.shape, seed=1)
    expected.backward(grad)
    made = convolution(cudnn, rank, pad, stride, dilation, groups, 1)
    sizes = (ctypes.c_int * x.ndim)()
    cudnn("GetConvolutionNdForwardOutputDim", made, cudnn.of(x), cudnn.filter(w), x.ndim, sizes)
    assert tuple(sizes) == expected.shape

    y = torch.empty_like(expected)
    no_space: tuple[Any, ...] = (0, None, ctypes.c_size_t(0))
    xd, wd, yd = cudnn.of(x), cudnn.filter(w), cudnn.of(y)
    cudnn.on_handle("ConvolutionForward", ONE, xd, x, wd, w, made, *no_space, ZERO, yd, y)
    torch.testing.assert_close(y, expected.detach())
    dx, dw = torch.empty_like(x), torch.ones_like(w)
    cudnn.on_handle("ConvolutionBackwardData", ONE, wd, w, yd, grad, made, *no_space, ZERO, xd, dx)
    torch.testing.assert_close(dx, x.grad)
    cudnn.on_handle("ConvolutionBackwardFilter", HALF, xd, x, yd, grad, made, *no_space, TWO, wd, dw)
    assert w.grad is not None
    torch.testing.assert_close(dw, 0.5 * w.grad + 2)


def test_a_true_convolution_turns_its_filter(cudnn: Cudnn) -> None:
    x, w = drawn(1, 2, 5, 5), drawn(3, 2, 3, 3)
    y = torch.empty(1, 3, 3, 3, dtype=torch.float64)
    made = convolution(cudnn, 2, 0, 1, 1, 1, 0)
    space = (0, None, ctypes.c_size_t(0))
    cudnn.on_handle("ConvolutionForward", ONE, cudnn.of(x), x, cudnn.filter(w), w, made, *space, ZERO, cudnn.of(y), y)
    torch.testing.assert_close(y, functional.conv2d(x, w.flip(2, 3)))


@pytest.mark.parametrize(("mode", "dimensions"), [(0, (1, 2, 3)), (1, (1,))])
@pytest.mark.parametrize("is_log", [False, True])
def test_softmax_over_images_and_over_channels(
    cudnn: Cudnn, mode: int, dimensions: tuple[int, ...], is_log: bool
) -> None:
    x = drawn(2, 3, 4, 2).requires_grad_()
    flat = x.flatten(1) if len(dimensions) > 1 else x
    expected = (functional.log_softmax if is_log else functional.softmax)(flat, 1).reshape(x.shape)
    grad = drawn(*x.shape, seed=1)
    expected.backward(grad)
    y, dx = torch.empty_like(x), torch.empty_like(x)
    tensor, algorithm = cudnn.of(x), 2 if is_log else 1
    cudnn.on_handle("SoftmaxForward", algorithm, mode, ONE, tensor, x, ZERO, tensor, y)
    torch.testing.assert_close(y, expected.detach())
    cudnn.on_handle("SoftmaxBackward", algorithm, mode, ONE, tensor, y, tensor, grad, ZERO, tensor, dx)
    torch.testing.assert_close(dx, x.grad)


@pytest.mark.parametrize(
    ("mode", "function"),
    [
        (0, torch.sigmoid),
        (1, functional.relu),
        (2, torch.tanh),
        (3, lambda x: x.clamp(0, 0.7)),
        (4, lambda x: functional.elu(x, 0.7)),
        (5, lambda x: x * 1),
        (6, functional.silu),
    ],
)
def test_activations(cudnn: Cudnn, mode: int, function: Callable[[torch.Tensor], torch.Tensor]) -> None:
    x = drawn(2, 3, 4, 5).requires_grad_()
    expected = function(x)
    grad = drawn(*x.shape, seed=1)
    expected.backward(grad)
    made = cudnn.new("Activation")
    cudnn("SetActivationDescriptor", made, mode, 1, ctypes.c_double(0.7))
    y, dx = torch.empty_like(x), torch.empty_like(x)
    tensor = cudnn.of(x)
    cudnn.on_handle("ActivationForward", made, ONE, tensor, x, ZERO, tensor, y)
    torch.testing.assert_close(y, expected.detach())
    cudnn.on_handle("ActivationBackward", made, ONE, tensor, y, tensor, grad, tensor, x, ZERO, tensor, dx)
    torch.testing.assert_close(dx, x.grad)


@pytest.mark.parametrize(
    ("mode", "function"),
    [
        (0, lambda x: functional.max_pool2d(x, 3, 2, 1)),
        (1, lambda x: functional.avg_pool2d(x, 3, 2, 1)),
        (2, lambda x: functional.avg_pool2d(x, 3, 2, 1, count_include_pad=False)),
    ],
)
def test_pooling(cudnn: Cudnn, mode: int, function: Callable[[torch.Tensor], torch.Tensor]) -> None:
    x = drawn(2, 3, 7, 6).contiguous(memory_format=torch.channels_last).requires_grad_()
    expected = function(x)
    grad = drawn(*expected.shape, seed=1)
    expected.backward(grad)
    made = cudnn.new("Pooling")
    cudnn("SetPooling2dDescriptor", made, mode, 1, 3, 3, 1, 1, 2, 2)
    y, dx = torch.empty(expected.shape, dtype=torch.float64), torch.empty_like(x)
    xd, yd = cudnn.of(x), cudnn.of(y)
    cudnn.on_handle("PoolingForward", made, ONE, xd, x, ZERO, yd, y)
    torch.testing.assert_close(y, expected.detach(), check_stride=False)
    cudnn.on_handle("PoolingBackward", made, ONE, yd, y, yd, grad, xd, x, ZERO, cudnn.of(dx), dx)
    torch.testing.assert_close(dx, x.grad, check_stride=False)


def test_batch_normalization_in_training_and_behind_it(cudnn: Cudnn) -> None:
    x = drawn(4, 3, 5, 2).requires_grad_()
    gain, shift = drawn(3).requires_grad_(), drawn(3, seed=1).requires_grad_()
    mean, variance = torch.zeros(3, dtype=torch.float64), torch.ones(3, dtype=torch.float64)
    running = mean.clone(), variance.clone()
    expected = functional.batch_norm(x, mean, variance, gain, shift, True, 0.1, 1e-5)
    grad = drawn(*x.shape, seed=2)
    expected.backward(grad)
    tensor, derived = cudnn.of(x), cudnn.new("Tensor")
    cudnn("DeriveBNTensorDescriptor", derived, tensor, 1)
    saved = torch.empty(2, 3, dtype=torch.float64)
    y, dx, dgain, dshift = (torch.empty_like(like) for like in (x, x, gain, shift))
    over = (ONE, ZERO, tensor, x, tensor, y, derived, gain, shift)
    factor, epsilon = ctypes.c_double(0.1), ctypes.c_double(1e-5)
    cudnn.on_handle("BatchNormalizationForwardTraining", 1, *over, factor, *running, epsilon, saved[0], saved[1])
    torch.testing.assert_close(y, expected.detach())
    torch.testing.assert_close(running, (mean, variance))
    given = (ONE, ZERO, ONE, ZERO, tensor, x, tensor, grad, tensor, dx, derived, gain, dgain, dshift)
    cudnn.on_handle("BatchNormalizationBackward", 1, *given, epsilon, saved[0], saved[1])
    torch.testing.assert_close((dx, dgain, dshift), (x.grad, gain.grad, shift.grad))
    cudnn.on_handle("BatchNormalizationForwardInference", 1, *over, *running, epsilon)
    torch.testing.assert_close(y, functional.batch_norm(x, mean, variance, gain, shift, False, 0.1, 1e-5).detach())


def test_a_bias_is_added_in_floats_with_scalars_that_are_floats(cudnn: Cudnn) -> None:
    y, bias = torch.ones(2, 3, 2, 2), torch.tensor([1.0, 2, 3])
    whole, row = cudnn.new("Tensor"), cudnn.new("Tensor")
    cudnn("SetTensor4dDescriptor", whole, NCHW, FLOAT, 2, 3, 2, 2)
    cudnn("SetTensor4dDescriptor", row, NHWC, FLOAT, 1, 3, 1, 1)
    one = ctypes.byref(ctypes.c_float(1))
    cudnn.on_handle("AddTensor", one, row, bias, one, whole, y)
    torch.testing.assert_close(y, 1 + bias.reshape(1, 3, 1, 1).expand(2, 3, 2, 2))


def test_sizes_that_do_not_fit_are_refused(cudnn: Cudnn) -> None:
    x, w, y = drawn(1, 2, 5, 5), drawn(3, 2, 3, 3), drawn(1, 3, 4, 4)
    made = convolution(cudnn, 2, 0, 1, 1, 1, 1)
    space = (0, None, ctypes.c_size_t(0))
    passed = (ONE, cudnn.of(x), x, cudnn.filter(w), w, made, *space, ZERO, cudnn.of(y), y)
    assert cudnn.status("ConvolutionForward", cudnn.handle, *passed) == BAD_PARAM
    assert np.isfinite(y.numpy()).all()
