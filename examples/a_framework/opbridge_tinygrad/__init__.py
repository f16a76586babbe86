"""Operators of opbridge on tinygrad's tensors.  The entry point in pyproject.toml names this row; nothing more is here,
so that whoever lists the frameworks imports neither tinygrad nor the adapter."""

from opbridge.frameworks import Framework

FRAMEWORK = Framework(
    "tinygrad",
    packages=("tinygrad",),
    tensor="a tinygrad.Tensor",
    view="A function of tinygrad's tensors.",
    package="opbridge_tinygrad",
)
