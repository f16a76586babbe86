"""What commands on a manifest's operators have in common."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import opbridge as ob
from opbridge.errors import InputError
from opbridge.loading import MANIFEST_SUFFIXES
from opbridge.manifest.kernels import TWINS
from opbridge.op import Op, OpLibrary


def load_library(manifest: Path, device: str) -> OpLibrary:
    """The operators of a manifest, with the kernels that run for a device."""
    if manifest.suffix not in MANIFEST_SUFFIXES:
        hint = "a kernel alone goes through Python: opbridge.check.check(ob.load(...)), opbridge.bench.bench(...)"
        raise InputError(f"{manifest} is no manifest; expected a name such as ops.yaml", hint=hint)
    library: OpLibrary = ob.load(manifest, device=device if device in TWINS else "cpu")
    if not len(library):
        raise InputError(f"{manifest} declares no operators")
    return library


def chosen(library: OpLibrary, names: Sequence[str] | None) -> list[Op]:
    """Those that were named, or all."""
    return [library[name] for name in dict.fromkeys(names)] if names else list(library)
