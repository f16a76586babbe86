"""The row of tinygrad in the table of frameworks.  The entry point in pyproject.toml names it; the module has nothing
else, so that listing the frameworks imports neither tinygrad nor the adapter."""

from opbridge.frameworks import Framework

FRAMEWORK = Framework(
    "tinygrad",
    packages=("tinygrad",),
    tensor="a tinygrad.Tensor",
    view="A function of tinygrad's tensors.",
    package="opbridge_tinygrad",
)
