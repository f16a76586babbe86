"""Operators of opbridge on tinygrad's tensors.  The entry point in pyproject.toml names this row; nothing more is here,
so that whoever lists the frameworks imports neither tinygrad nor the adapter."""

from opbridge.frameworks import Framework

FRAMEWORK = Framework("tinygrad", ("tinygrad",), "a tinygrad.Tensor", package="opbridge_tinygrad")
