"""Kernels that are built to be counted, and run in a process of their own."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from forked_python import PYTHON

from opbridge.build.toolchains import BuildRequest, build
from opbridge.build.toolchains.interface import PROFILE
from opbridge.twins.cuda.toolchain import CHECKS


def counted_run(source: Path, function: str, folder: Path) -> str:
    """Leaves the counts of a call in the folder; what was said on the way."""
    request = BuildRequest(
        (source,), f"{source.stem}.so", language="cuda-twin", defines=((CHECKS, "1"), (PROFILE, "1"))
    )
    library = build(request).path
    code = f"import ctypes, sys; sys.exit(ctypes.CDLL({str(library)!r}).{function}())"
    done = subprocess.run(
        [PYTHON, "-c", code],
        env=os.environ | {PROFILE: str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout
