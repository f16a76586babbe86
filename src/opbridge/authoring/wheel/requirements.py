"""List the packages that a package of operators requires."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from opbridge._version import __version__
from opbridge.authoring.doctor.entry_points import entry_points
from opbridge.build.sources.elf_image import Image


def requirements(libraries: Iterable[Path]) -> tuple[str, ...]:
    """Return the requirements of a package with these kernels: opbridge, and ml_dtypes if one takes bfloat16.

    NumPy has no bfloat16.  Without ml_dtypes, PyTorch tensors of that type need a compiler where the package is used.
    """
    takes_bfloat16 = any("bfloat16" in one.details for path in libraries for one in entry_points(Image(path), ""))
    return (f"opbridge>={__version__}", *(("ml_dtypes",) if takes_bfloat16 else ()))
