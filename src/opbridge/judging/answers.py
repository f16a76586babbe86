"""From an answer's file to what makes its model."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import torch
import torch.utils.cpp_extension

SOURCES = (".cu", ".cpp", ".cc")
"""Of answers that are no Python: they bind a function of the name that the task asks for."""


def model_maker(answer: Path, name: str) -> Callable[..., torch.nn.Module]:
    """The class of that name, or one whose model is the function of that name."""
    if answer.suffix in SOURCES:
        module = torch.utils.cpp_extension.load(name="answer", sources=[str(answer)])
    else:
        module = _imported(answer)
    found = getattr(module, name, None)
    if found is None:
        raise AttributeError(f"the answer has no {name}")
    return found if isinstance(found, type) else lambda: _FunctionModel(found)


class _FunctionModel(torch.nn.Module):  # type: ignore[misc]
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self._function = function

    def forward(self, *arguments: Any) -> Any:
        return self._function(*arguments)


def _imported(answer: Path) -> Any:
    spec = spec_from_file_location("answer", answer)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules["answer"] = module
    spec.loader.exec_module(module)
    return module
