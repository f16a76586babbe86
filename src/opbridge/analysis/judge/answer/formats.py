"""Define how answers are written, and the device that each format runs on. A format is one row."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from opbridge.analysis.judge.process.devices import CUDA, NPU, Device
from opbridge.analysis.judge.task.assignments import values_assigned

MODEL = "model.py"
"""The file of the model in a project that an answer contains as text."""


@dataclass(frozen=True)
class AnswerFormat:
    """A way to write an answer."""

    name: str
    device: Device
    suffixes: tuple[str, ...]
    parts: tuple[tuple[str, str], ...] = ()
    """The names of the sources in its text, and the project path of each; `OP` is replaced by the operator name."""

    def is_of(self, suffix: str, source: str) -> bool:
        """Return whether a file with this suffix and text has this format."""
        return suffix in self.suffixes and {name for name, _ in self.parts} <= texts_in(source).keys()


SOURCES = AnswerFormat("a source that binds a function", CUDA, (".cu", ".cpp", ".cc"))
LAUNCHES = AnswerFormat("Ascend C with its own launches", NPU, (".json",))
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
UNSUPPORTED = {".hip": "HIP"}
"""Suffixes of languages that no twin runs."""


def answer_format(suffix: str, source: str) -> AnswerFormat:
    """Return the format of an answer; PYTHON if no other one fits."""
    return next((row for row in (SOURCES, LAUNCHES, PROJECT) if row.is_of(suffix, source)), PYTHON)


def is_answer(path: Path) -> bool:
    """Return whether a file in the folder of a task is an answer; a JSON file may belong to the task."""
    if path.suffix in LAUNCHES.suffixes:
        return Launches.is_meant(path.read_text(encoding="utf-8", errors="replace"))
    return path.suffix in (*PYTHON.suffixes, *SOURCES.suffixes, *UNSUPPORTED)


@dataclass(frozen=True)
class Launches:
    """An answer in the MultiKernelBench format `ascendc_direct_launch`: several files, one of which has the model."""

    files: dict[str, str]
    model: str
    kernels: tuple[str, ...]
    bindings: tuple[str, ...]
    include_dirs: tuple[str, ...]
    module: str
    """The module name of the bindings; empty if the bindings define it."""

    @staticmethod
    def is_meant(text: str) -> bool:
        """Return whether a JSON text has sources, so that it is an answer."""
        try:
            return "sources" in json.loads(text)
        except (ValueError, TypeError):
            return False

    @classmethod
    def parse(cls, text: str) -> Launches:
        """Read the JSON text of an answer; raise ValueError if it is not one."""
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
    """Return the name under which the text of a project has the file; empty for other files."""
    # Try the kernel last: its pattern matches any name.
    return next((name for name, path in reversed(PROJECT.parts) if _fits(file, path)), "")


def _fits(file: str, path: str) -> bool:
    return fnmatch(file, path.rpartition("/")[2].replace("OP", "*"))


def python_texts(form: AnswerFormat, name: str, source: str) -> Iterator[tuple[str, str]]:
    """Yield the file name and text of the Python code that an answer runs, as far as it is written out."""
    if form.suffixes == PYTHON.suffixes:
        yield name, source
    if form == PROJECT:
        yield MODEL, texts_in(source).get("model_src") or ""
    if form == LAUNCHES:
        launches = Launches.parse(source)
        yield launches.model, launches.files[launches.model]


def texts_in(source: str) -> dict[str, str | None]:
    """Return the strings assigned to top-level names, by name; None for a value that is computed."""
    try:
        body = ast.parse(source).body
    except (SyntaxError, ValueError):
        return {}
    return {name: _text(value) for node in body for name, value in values_assigned(node)}


def _text(value: ast.expr) -> str | None:
    return value.value if isinstance(value, ast.Constant) and isinstance(value.value, str) else None
