"""Transposed convolutions: an image with gaps is convolved by flipped weights, as in the gradient of a convolution."""

from __future__ import annotations

from mindspore import Tensor, ops

Sizes = int | tuple[int, ...] | list[int]
"""One number for all dimensions, or one for each."""


def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Sizes = (1, 1),
    padding: Sizes = (0, 0),
    output_padding: Sizes = (0, 0),
    groups: int = 1,
    dilation: Sizes = (1, 1),
) -> Tensor:
    """Compute a transposed convolution of images."""
    stride, padding, more, dilation = (_pair(each) for each in (stride, padding, output_padding, dilation))
    inputs, outputs, height, width = weight.shape
    turned = ops.flip(weight, (2, 3)).reshape(groups, inputs // groups, outputs, height, width)
    turned = turned.swapaxes(1, 2).reshape(groups * outputs, inputs // groups, height, width)
    spread = _spread(_spread(input, 2, stride[0]), 3, stride[1])
    left = dilation[1] * (width - 1) - padding[1]
    top = dilation[0] * (height - 1) - padding[0]
    image = _padded(spread, (left, left + more[1], top, top + more[0]))
    return ops.conv2d(image, turned, bias, 1, "valid", 0, dilation, groups)


def conv_transpose1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Sizes = (1,),
    padding: Sizes = (0,),
    output_padding: Sizes = (0,),
    groups: int = 1,
    dilation: Sizes = (1,),
) -> Tensor:
    """Compute a transposed convolution of rows, as images of one row."""
    found = conv_transpose2d(
        input.expand_dims(2),
        weight.expand_dims(2),
        bias,
        (1, _one(stride)),
        (0, _one(padding)),
        (0, _one(output_padding)),
        groups,
        (1, _one(dilation)),
    )
    return found.squeeze(2)


def _one(value: Sizes) -> int:
    return value[0] if isinstance(value, (tuple, list)) else value


def _pair(value: Sizes) -> tuple[int, int]:
    if not isinstance(value, (tuple, list)):
        return (value, value)
    return (value[0], value[0]) if len(value) == 1 else (value[0], value[1])


def _spread(image: Tensor, axis: int, stride: int) -> Tensor:
    """Put stride - 1 zeros between the elements along an axis."""
    if stride == 1:
        return image
    shape = image.shape
    wide = image.expand_dims(axis + 1)
    gaps = ops.zeros((*shape[: axis + 1], stride - 1, *shape[axis + 1 :]), image.dtype)
    size = shape[axis] * stride
    whole = ops.concat((wide, gaps), axis + 1).reshape((*shape[:axis], size, *shape[axis + 1 :]))
    return ops.split(whole, (size - stride + 1, stride - 1), axis)[0]


def _padded(image: Tensor, sides: tuple[int, int, int, int]) -> Tensor:
    """Pad the last two axes; negative sides crop."""
    left, right, top, bottom = sides
    more = (max(left, 0), max(right, 0), max(top, 0), max(bottom, 0))
    image = ops.pad(image, more) if sum(more) else image
    height, width = image.shape[2], image.shape[3]
    return image[:, :, max(-top, 0) : height - max(-bottom, 0), max(-left, 0) : width - max(-right, 0)]
