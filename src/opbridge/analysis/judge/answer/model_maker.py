"""Load the model of an answer from its file."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import torch
import torch.utils.cpp_extension

from opbridge.analysis.judge.answer.formats import LAUNCHES, PROJECT, SOURCES, AnswerFormat, Launches


def model_maker(answer: Path, form: AnswerFormat, name: str) -> Callable[..., torch.nn.Module]:
    """Return a callable that creates the model: the class of that name, or a wrapper of the function of that name.

    Raises:
        AttributeError: The answer has no such name.
    """
    module = _LOADED.get(form, _imported)(answer)
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


def _built(answer: Path) -> Any:
    return torch.utils.cpp_extension.load(name="answer", sources=[str(answer)])


def _of_project(answer: Path) -> Any:
    from opbridge.analysis.judge.answer.ascend_models import project_model

    return _imported(project_model(vars(_imported(answer)), answer.parent))


def _of_launches(answer: Path) -> Any:
    from opbridge.analysis.judge.answer.ascend_models import launches_model

    return _imported(launches_model(Launches.parse(answer.read_text(encoding="utf-8")), answer.parent))


_LOADED: dict[AnswerFormat, Callable[[Path], Any]] = {SOURCES: _built, PROJECT: _of_project, LAUNCHES: _of_launches}
