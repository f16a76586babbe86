"""Rewrite the headers of installed libraries that contain device code, once, into a folder of the cache.

The compiler of the CUDA twin uses these copies instead of the installed headers.
"""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from opbridge.build.cache import Cache
from opbridge.build.toolchains import stamped_folder
from opbridge.twins.common import toolchain as rewriting
from opbridge.twins.cuda import cccl, torch_extension_sources


@cache
def of_cccl() -> tuple[str, ...]:
    """Return flags that put the rewritten CCCL headers before the installed ones; empty if CCCL is not installed."""
    headers = cccl.find()
    if headers is None:
        return ()
    stamp = _stamp(str(headers))
    folder = stamped_folder.write(Cache().root / "cccl", stamp, lambda new: cccl.write(headers, new))
    return (cccl.MARK, f"-isystem{folder}", f"-isystem{headers}")


@cache
def of_torch(install: Path, identity: tuple[str, ...]) -> tuple[str, ...]:
    """Return the flag that puts the rewritten headers of a PyTorch before its own, which the build adds in any case."""
    stamp = _stamp(*identity, str(cccl.find()))
    name = f"torch_{hashlib.sha256(str(install).encode()).hexdigest()[:12]}"
    headers = install / "include"
    folder = stamped_folder.write(Cache().root / name, stamp, lambda new: torch_extension_sources.write(headers, new))
    return (f"-isystem{folder}",)


def _stamp(*facts: str) -> str:
    return hashlib.sha256("\0".join((*facts, rewriting.state("cuda"))).encode()).hexdigest()
