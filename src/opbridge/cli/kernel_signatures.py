"""Verify after a build that kernels fit the operators that name them, so that no call is the first to find out."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator, Mapping
from functools import partial

from opbridge._core import NumpyOp, load_kernel
from opbridge.base.errors import KernelError
from opbridge.build.toolchains import BuiltLibrary
from opbridge.build.toolchains.machine_identity import PROCESSOR
from opbridge.cli.kernel_files import KernelFile
from opbridge.native.catalog import Catalog
from opbridge.waist.manifest import Manifest


def require_fitting(libraries: Mapping[KernelFile, BuiltLibrary], manifest: Manifest) -> None:
    """Check the kernels in all libraries that this machine can open.

    Raises:
        KernelError: Some kernels do not fit; the text lists all of them.
    """
    plan = Catalog.of(manifest.namespace, manifest.ops).plan
    indices = {op.schema.full_name: index for index, op in enumerate(manifest.ops)}
    misfits = [
        misfit
        for file, library in libraries.items()
        if _can_be_opened(library)
        for misfit in _misfits(file, library, manifest, plan, indices)
    ]
    if misfits:
        raise KernelError("\n".join(misfits))


def _can_be_opened(library: BuiltLibrary) -> bool:
    """Return whether this machine can open the library.

    A library for another processor, or one that needs a library of its target machine, is left to that machine.
    """
    if os.environ.get(PROCESSOR, "native") != "native":
        return False
    try:
        ctypes.CDLL(str(library.path))
    except OSError:
        return False
    return True


def _misfits(
    file: KernelFile, library: BuiltLibrary, manifest: Manifest, plan: bytes, indices: Mapping[str, int]
) -> Iterator[str]:
    for function, op in file.functions(manifest):
        load = partial(load_kernel, str(library.path), function, file.name)
        try:
            NumpyOp(plan, indices[op.schema.full_name], load).rebind(load())
        except KernelError as error:
            yield str(error)
