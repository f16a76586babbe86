"""Headers of installed libraries that hold device code, as the CUDA twin's compiler is given them: rewritten once, into
a folder of the cache."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from opbridge.cache import Cache
from opbridge.toolchains import rewriting, stamped_folder
from opbridge.twins.cuda import cccl, for_torch


@cache
def of_cccl() -> tuple[str, ...]:
    """Flags with which they are found before the installed ones; none where nothing has brought these."""
    headers = cccl.find()
    if headers is None:
        return ()
    stamp = _stamp(str(headers))
    folder = stamped_folder.write(Cache().root / "cccl", stamp, lambda new: cccl.write(headers, new))
    return (cccl.MARK, f"-isystem{folder}", f"-isystem{headers}")


@cache
def of_torch(install: Path, identity: tuple[str, ...]) -> tuple[str, ...]:
    """The same of a PyTorch, whose own headers are found anyway."""
    stamp = _stamp(*identity, str(cccl.find()))
    name = f"torch_{hashlib.sha256(str(install).encode()).hexdigest()[:12]}"
    headers = install / "include"
    folder = stamped_folder.write(Cache().root / name, stamp, lambda new: for_torch.write(headers, new))
    return (f"-isystem{folder}",)


def _stamp(*facts: str) -> str:
    return hashlib.sha256("\0".join((*facts, rewriting.state("cuda"))).encode()).hexdigest()
