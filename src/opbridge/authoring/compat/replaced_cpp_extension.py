"""The takeover of unchanged builds: torch.utils.cpp_extension gets opbridge functions and classes."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Mapping
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from opbridge.authoring.compat import cpp_extension as ours
from opbridge.frameworks.import_hooks import when_imported
from opbridge.waist.manifest.kernel_origins import TWINS

if TYPE_CHECKING:
    from setuptools import Extension

AT_START = Path(__file__).with_name("at_start")
"""A folder for PYTHONPATH; Python imports its sitecustomize at startup, which calls `take_over`."""


def take_over() -> None:
    """Replace torch.utils.cpp_extension in this process, now or when it is imported."""
    when_imported(ours.THEIRS, _replace)


def take_over_for_the_twin() -> None:
    """Replace torch.utils.cpp_extension, and name the toolkit of the CUDA twin where there is none.

    Programs check CUDA_HOME before they build.
    """
    take_over()
    when_imported(ours.THEIRS, _name_the_toolkit_of_the_twin)


def environment(given: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that take over a process and all its children.

    `python` and `pip` are those of this environment, and pip builds in it: an isolated build environment would have a
    different PyTorch than the one that imports the result, and no opbridge.
    """
    in_front = {"PATH": Path(sys.executable).parent, "PYTHONPATH": AT_START}
    paths = {name: os.pathsep.join(filter(None, (str(path), given.get(name)))) for name, path in in_front.items()}
    return {**given, **paths, "PIP_NO_BUILD_ISOLATION": "0"}


def import_next_sitecustomize() -> None:
    """Import the next sitecustomize on the path, which Python would have imported without this one."""
    spec = PathFinder.find_spec("sitecustomize", [folder for folder in sys.path if folder != str(AT_START)])
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(module_from_spec(spec))


def _name_the_toolkit_of_the_twin() -> None:
    theirs = importlib.import_module(ours.THEIRS)
    if theirs.CUDA_HOME is None:
        theirs.CUDA_HOME = ours.twin_toolkit()  # type: ignore[attr-defined]


def _replace() -> None:
    theirs = importlib.import_module(ours.THEIRS)
    for name in ours.__all__:
        setattr(theirs, name, getattr(ours, name))

    def cuda_extension(*args: Any, **kwargs: Any) -> Extension:
        """Raise like PyTorch's own if PyTorch has no CUDA: projects try it, and continue without."""
        if theirs.CUDA_HOME is None:
            raise OSError(
                "CUDA_HOME is None: PyTorch is built for CPUs, or there is no nvcc\n"
                f"  {TWINS['cuda-twin'].variable}=1 in the environment builds for the CUDA twin"
            )
        return ours.CUDAExtension(*args, **kwargs)

    theirs.CUDAExtension = cuda_extension  # type: ignore[attr-defined]
