"""Recognize bindings whose functions take only tensors and numbers: they compile without any PyTorch header.

For most extensions, load_inline writes a source that only declares functions and binds them. Such a source is
recognized by its whole text. It is compiled with include/slim/signatures and linked with a library that
registers the functions with Python.
"""

from __future__ import annotations

import re

_TENSOR = r"(?:(?:torch|at)::Tensor|std::vector<\s*(?:torch|at)::Tensor\s*>)"
_TYPE = rf"(?:const\s+)?(?:{_TENSOR}|(?:bool|int|int64_t|float|double)\b)(?:\s*&)?"
_NAME = r"[A-Za-z_]\w*"
_LITERAL = r"(?:-?[\d.]+(?:e-?\d+)?f?|true|false)"
_PARAMETER = rf"\s*{_TYPE}(?:\s*\b{_NAME})?(?:\s*=\s*{_LITERAL})?\s*"
_DECLARATION = rf"\s*(?:void\b|{_TYPE})\s*{_NAME}\s*\((?:{_PARAMETER}(?:,{_PARAMETER})*|\s*)\)\s*;"
_INCLUDE = r"\s*#\s*include\s*<torch/extension\.h>[^\S\n]*\n"
_TEXT = r'"(?:[^"\\]|\\.)*"'
_BOUND = rf"\s*m\.def\({_TEXT},\s*torch::wrap_pybind_function\({_NAME}\),\s*{_TEXT}\);"
_MODULE = rf"\s*PYBIND11_MODULE\(TORCH_EXTENSION_NAME, m\)\s*\{{(?:{_BOUND})*\s*\}}\s*"
_SOURCE = re.compile(rf"(?:{_INCLUDE})+(?:{_DECLARATION})*{_MODULE}")


def says_only_types(text: str) -> bool:
    """Return whether a source, given without comments, only declares functions and binds them."""
    return _SOURCE.fullmatch(text) is not None
