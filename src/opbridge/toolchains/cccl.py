"""CCCL's headers, as the CUDA twin's compiler is given them: rewritten once, into a folder of the cache."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from opbridge.cache import Cache
from opbridge.toolchains import stamped_folder
from opbridge.twins.cuda import cccl, rewriting


@cache
def flags() -> tuple[str, ...]:
    """None where nothing has brought them."""
    headers = cccl.find()
    if headers is None:
        return ()
    sources = (Path(cccl.__file__), *sorted(Path(rewriting.__path__[0]).glob("*.py")))
    text = (source.read_bytes() for source in sources)
    stamp = hashlib.sha256(b"\0".join((str(headers).encode(), *text))).hexdigest()
    folder = stamped_folder.write(Cache().root / "cccl", stamp, lambda new: cccl.write(headers, new))
    return (cccl.MARK, f"-isystem{folder}", f"-isystem{headers}")
