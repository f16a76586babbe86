"""Build answers in Ascend C: write their files, build an importable binding, and return the file of the model."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path

from opbridge.analysis.judge.answer.formats import MODEL, PROJECT, Launches
from opbridge.authoring.extensions.operator_projects import binding, build_operators, launching

_BINDING = "custom_ops_lib"
"""The module that the model of a project imports."""
_NAMES = (re.compile(r'#\s*include\s*"(\w+)_tiling\.h"'), re.compile(r"\bOP_ADD\s*\(\s*(\w+)"))
"""Patterns for the operator name in the host source."""
_MODULE = re.compile(r"PYBIND11_MODULE\s*\(\s*(?!TORCH_EXTENSION_NAME)(\w+)")


def project_model(texts: Mapping[str, str], folder: Path) -> Path:
    """Build an operator project with a binding that calls aclnn in two phases; return the file of its model."""
    host = texts["host_operator_src"]
    name = next((found[1] for pattern in _NAMES if (found := pattern.search(host))), "operator")
    _write(folder, {path.replace("OP", name): texts[part] for part, path in PROJECT.parts})
    build_operators(folder, folder / "built")
    sys.modules[_BINDING] = binding(_BINDING, [folder / "python_bind.cpp"])
    return folder / MODEL


def launches_model(launches: Launches, folder: Path) -> Path:
    """Build a binding that launches kernels itself; return the file of its model."""
    _write(folder, launches.files)
    said = (_MODULE.search(launches.files[path]) for path in launches.bindings)
    name = launches.module or next((found[1] for found in said if found), "benchmark_ops")
    sources = [folder / path for path in (*launches.kernels, *launches.bindings)]
    sys.modules[name] = launching(name, sources, [folder / path for path in launches.include_dirs])
    return folder / launches.model


def _write(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
