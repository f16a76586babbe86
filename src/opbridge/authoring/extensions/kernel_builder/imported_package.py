"""The import of a built project as the Python package that its author wrote around it."""

from __future__ import annotations

import functools
import importlib.util
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType

from opbridge.authoring.extensions.imported_library import loaded
from opbridge.base.errors import InputError
from opbridge.build.cache import Cache

OPERATORS = "_ops"
"""The module that kernel-builder adds to a package, which knows the namespace of the operators."""


@functools.cache
def package(folder: Path, namespace: str, library: Path | None) -> ModuleType:
    """Import the Python package of a project, once for each library.

    Raises:
        InputError: The project has no Python package.
    """
    init = folder / "__init__.py"
    if not init.is_file():
        raise InputError(f"expected the Python package of the project in {folder}, with an __init__.py")
    if library is not None:
        loaded(namespace, library)
    written = Cache().keep_files({f"{OPERATORS}.py": operators_text(namespace)})
    loader = SourceFileLoader(namespace, str(init))
    spec = importlib.util.spec_from_file_location(
        namespace, init, loader=loader, submodule_search_locations=[str(folder), str(written)]
    )
    module = ModuleType(namespace) if spec is None else importlib.util.module_from_spec(spec)
    sys.modules[namespace] = module
    try:
        loader.exec_module(module)
    except BaseException:
        for name in [name for name in sys.modules if name == namespace or name.startswith(f"{namespace}.")]:
            del sys.modules[name]
        raise
    return module


def operators_text(namespace: str, library: str = "") -> str:
    """Return the text of the module; `library` is an adjacent library to import first, if nothing has loaded it."""
    return f'''import torch
{library and f"from . import {library}"}
ops = torch.ops.{namespace}


def add_op_namespace_prefix(name: str) -> str:
    return f"{namespace}::{{name}}"
'''
