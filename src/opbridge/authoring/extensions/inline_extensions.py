"""Extensions given as text: the files written for them, and the bindings of their functions."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from opbridge.authoring.extensions.arguments import words
from opbridge.base.errors import CallError, InputError
from opbridge.base.names import is_cpp_name
from opbridge.build.cache import Cache


@dataclass(frozen=True)
class SourceTexts:
    """The texts of an extension, with headers and bindings."""

    cpp: str
    cuda: str

    @classmethod
    def of(cls, cpp: object, cuda: object, functions: object, no_headers: bool, error_handling: bool) -> SourceTexts:
        """Add headers and bindings to the texts, as PyTorch does."""
        cpp_texts, cuda_texts = words("cpp_sources", cpp), words("cuda_sources", cuda)
        if not no_headers:
            cpp_texts = ("#include <torch/extension.h>", *cpp_texts)
            cuda_headers = ("torch/types.h", "cuda.h", "cuda_runtime.h")
            cuda_texts = cuda_texts and (*(f"#include <{header}>" for header in cuda_headers), *cuda_texts)
        if functions is not None:
            cpp_texts = (*cpp_texts, _bindings(_checked(_described(functions)), error_handling))
        return cls("\n".join(cpp_texts), "\n".join(cuda_texts))

    def written(self, folder: Path | None, cache: Cache) -> tuple[Path, ...]:
        """Write the texts to files, in the cache if `folder` is None, and return their paths."""
        given = (("main.cpp", self.cpp), ("cuda.cu", self.cuda))
        return tuple(_kept(folder, name, text, cache) for name, text in given if text)


def _kept(folder: Path | None, name: str, text: str, cache: Cache) -> Path:
    if folder is None:
        return cache.keep(name, text)
    path = folder / name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}", hint="it comes from `build_directory`") from None
    return path


def _bindings(functions: Mapping[str, str], error_handling: bool) -> str:
    wrapped = "torch::wrap_pybind_function(%s)" if error_handling else "%s"
    lines = [
        f'  m.def("{name}", {wrapped % name}, {json.dumps(text, ensure_ascii=False)});'
        for name, text in functions.items()
    ]
    return "\n".join(("PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {", *lines, "}"))


def _described(functions: object) -> Mapping[str, str]:
    """Return the functions to bind with their docstrings; the default docstring is the name."""
    if isinstance(functions, Mapping):
        return {str(name): str(text) for name, text in functions.items()}
    return {name: name for name in words("functions", functions)}


def _checked(functions: Mapping[str, str]) -> Mapping[str, str]:
    for name in functions:
        if not is_cpp_name(name):
            raise CallError(f"functions: expected names of C++ functions, got {name!r:.80}")
    return functions
