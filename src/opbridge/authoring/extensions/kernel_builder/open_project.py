"""The implementation of `ob.extension("build.toml")`."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

from opbridge.authoring.extensions.imported_library import has_device
from opbridge.authoring.extensions.kernel_builder.backend_build import BACKENDS, Extra, device_for, request
from opbridge.authoring.extensions.kernel_builder.imported_package import package
from opbridge.authoring.extensions.kernel_builder.project import FILE, load
from opbridge.build.cache import Cache
from opbridge.build.toolchains import build


def is_project(name: object) -> bool:
    """Return whether a name is the path of a build.toml."""
    return isinstance(name, (str, os.PathLike)) and os.path.basename(name) == FILE


def project_package(file: Path, device: str | None, extra: Extra, progress: Callable[[str], None] | None) -> ModuleType:
    """Build a project, register its operators, and return its Python package."""
    project = load(Path(os.path.abspath(file)))
    device = device_for(project, device, has_device("cuda"))
    namespace = project.namespace(BACKENDS[device])
    library = build(request(project, device, extra), Cache(), progress).path if project.is_compiled else None
    return package(project.package, namespace, library)
