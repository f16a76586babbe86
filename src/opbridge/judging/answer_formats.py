"""How answers are written, and on which device each runs.  A format is one row."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from opbridge.judging.assignments import values_assigned
from opbridge.judging.devices import CUDA, NPU, Device

MODEL = "model.py"
"""Where the model of a project lies that an answer holds as text."""


@dataclass(frozen=True)
class AnswerFormat:
    name: str
    device: Device
    suffixes: tuple[str, ...]
    parts: tuple[tuple[str, str], ...] = ()
    """The names that its text gives to sources, and where each lies in a project; `OP` is the operator's name."""

    def is_of(self, suffix: str, source: str) -> bool:
        return suffix in self.suffixes and {name for name, _ in self.parts} <= texts_in(source).keys()


SOURCES = AnswerFormat("a source that binds a function", CUDA, (".cu", ".cpp", ".cc"))
LAUNCHES = AnswerFormat("Ascend C with launches of its own", NPU, (".json",))
PROJECT = AnswerFormat(
    "an operator project of Ascend C",
    NPU,
    (".py",),
    (
        ("kernel_src", "op_kernel/OP.cpp"),
        ("host_tiling_src", "op_host/OP_tiling.h"),
        ("host_operator_src", "op_host/host_operator.cpp"),
        ("python_bind_src", "python_bind.cpp"),
        ("model_src", MODEL),
    ),
)
PYTHON = AnswerFormat("Python", CUDA, (".py",))


def answer_format(suffix: str, source: str) -> AnswerFormat:
    return next((row for row in (SOURCES, LAUNCHES, PROJECT) if row.is_of(suffix, source)), PYTHON)


def is_answer(path: Path) -> bool:
    """Of a file beside a task; JSON may be the task's own."""
    if path.suffix in LAUNCHES.suffixes:
        return Launches.is_meant(path.read_text(encoding="utf-8", errors="replace"))
    return path.suffix in (*PYTHON.suffixes, *SOURCES.suffixes)


@dataclass(frozen=True)
class Launches:
    """MultiKernelBench's `ascendc_direct_launch`: files, one of which has the model."""

    files: dict[str, str]
    model: str
    kernels: tuple[str, ...]
    bindings: tuple[str, ...]
    include_dirs: tuple[str, ...]
    module: str
    """Of the bindings; empty where they say it themselves."""

    @staticmethod
    def is_meant(text: str) -> bool:
        try:
            return "sources" in json.loads(text)
        except (ValueError, TypeError):
            return False

    @classmethod
    def parse(cls, text: str) -> Launches:
        """ValueError for what is none."""
        try:
            found = json.loads(text)
            files = {str(one["path"]): str(one.get("content", "")) for one in found["sources"]}
            build = found.get("build", {})
            model = str(found.get("entry", {}).get("model", "ModelNew.py")).partition("::")[0]
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"expected `sources`, each with `path` and `content`, and `entry`: {error!r}") from None
        sources = sorted(path for path in files if path.endswith((".cpp", ".cc", ".cxx")))
        bindings = tuple(build.get("binding_sources") or (path for path in sources if "PYBIND11_MODULE" in files[path]))
        kernels = tuple(build.get("kernel_sources") or (path for path in sources if path not in bindings))
        folders = dict.fromkeys((".", *(path.rpartition("/")[0] or "." for path in files)))
        named = str(build.get("module_name") or "")
        if missing := [path for path in (model, *kernels, *bindings) if path not in files]:
            raise ValueError(f"{missing[0]} is not among its sources")
        return cls(files, model, kernels, bindings, tuple(build.get("include_dirs") or folders), named)


def part_in(file: str) -> str:
    """The name that a project's text gives to what lies in a file of that name; empty for others."""
    # Behind the kernel's, whose name may be any.
    return next((name for name, path in reversed(PROJECT.parts) if _fits(file, path)), "")


def _fits(file: str, path: str) -> bool:
    return fnmatch(file, path.rpartition("/")[2].replace("OP", "*"))


def python_texts(form: AnswerFormat, name: str, source: str) -> Iterator[tuple[str, str]]:
    """The file and the text of what Python runs of an answer, as far as it is written out."""
    if form.suffixes == PYTHON.suffixes:
        yield name, source
    if form == PROJECT:
        yield MODEL, texts_in(source).get("model_src") or ""
    if form == LAUNCHES:
        launches = Launches.parse(source)
        yield launches.model, launches.files[launches.model]


def texts_in(source: str) -> dict[str, str | None]:
    """What names at its top are, where that is text written out; None for what is computed."""
    try:
        body = ast.parse(source).body
    except (SyntaxError, ValueError):
        return {}
    return {name: _text(value) for node in body for name, value in values_assigned(node)}


def _text(value: ast.expr) -> str | None:
    return value.value if isinstance(value, ast.Constant) and isinstance(value.value, str) else None
