"""One run: declarations in, texts by file name out."""

from __future__ import annotations

import json
import os
from pathlib import Path

from opbridge.cache import Cache, KeyBuilder
from opbridge.codegen.inputs import Inputs, installed_functions
from opbridge.codegen.model import Backend
from opbridge.codegen.outputs.aliasing import aliasing
from opbridge.codegen.outputs.autograd import autograd
from opbridge.codegen.outputs.custom_functions import custom_functions
from opbridge.codegen.outputs.launched import launched_kernels
from opbridge.codegen.outputs.package import package
from opbridge.codegen.outputs.python_api import python_api
from opbridge.codegen.outputs.registration import registration
from opbridge.filesystem import files_below

_OUTPUTS = (registration, launched_kernels, custom_functions, autograd, aliasing, python_api, package)
_PACKAGE = Path(__file__).parent.parent


def sources(backend: Backend) -> dict[str, str]:
    """Every file for a backend, by its name below the output folder."""
    return {name: text for output in _OUTPUTS for name, text in output(backend).items()}


def generate(inputs: Inputs, cache: Cache) -> dict[str, str]:
    """The same from the cache, where the same was asked for before."""
    wish = inputs.wish
    key = KeyBuilder("codegen").add("code", _code_stamp()).add("pytorch", _stamp(installed_functions()))
    key.add("wish", json.dumps([wish.key, wish.namespace, wish.cpp_namespace, wish.torch_version]))
    for source in inputs.sources:
        key.add("source", source.data)
    made = cache.fetch_value(key.key(), lambda: json.dumps(sources(inputs.backend())).encode())
    files: dict[str, str] = json.loads(made)
    return files


def _code_stamp() -> str:
    """Changes with the code that generates, so that work on opbridge itself never meets sources of an older make."""
    folders = [_PACKAGE / "codegen", _PACKAGE / "manifest"]
    files = [
        _PACKAGE / "schema.py",
        _PACKAGE / "_schema_parser.py",
        *(f for each in folders for f in files_below(each)),
    ]
    return "\n".join(_stamp(file) for file in files if file.suffix in (".py", ".h"))


def _stamp(path: Path | None) -> str:
    if path is None:
        return ""
    status = os.stat(path)
    return f"{path} {status.st_size} {status.st_mtime_ns}"
