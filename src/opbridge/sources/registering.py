"""Sources and libraries that register operators with PyTorch themselves, by TORCH_LIBRARY or on its stable ABI.

Such a source has no function to call: its kernel is the operator that it registers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from opbridge.manifest.kernels import KernelRef
from opbridge.openings import read_file
from opbridge.sources.elf_image import Image

_REGISTERS = re.compile(rb"^[ \t]*(STABLE_)?TORCH_LIBRARY(_FRAGMENT|_IMPL)?\s*\(", re.MULTILINE)
_KERNEL = re.compile(rb"^[ \t]*OB_KERNEL\s*\(", re.MULTILINE)

_INITIALIZER = re.compile(
    r"(?P<length>\d+)(?P<macro>(STABLE_)?TORCH_LIBRARY(?P<kind>_FRAGMENT|_IMPL)?_(static_)?init_)(?P<rest>\w+)"
)
_ENDINGS = {None: r"$", "_FRAGMENT": r"_\d+$", "_IMPL": r"_[A-Za-z]+(_\d+)?$"}
"""What follows the namespace: of an implementation its key, and a number where there may be several."""
_SCHEMA = re.compile(rb"(?<![\w:])([A-Za-z_]\w*(\.\w+)?)\([^()\0]*(\([^()\0]*\)[^()\0]*)*\) -> ")


@dataclass(frozen=True)
class Registration:
    """One use of PyTorch's macros in a library."""

    namespace: str
    kind: str
    """Empty for TORCH_LIBRARY, _FRAGMENT or _IMPL for the others."""


def registrations(image: Image) -> Iterator[Registration]:
    """By the static functions that the macros make; none where the library is stripped of their names."""
    for name in image.local_names:
        if (found := _INITIALIZER.search(name)) is not None:
            rest = found["rest"][: int(found["length"]) - len(found["macro"])]
            yield Registration(re.sub(_ENDINGS[found["kind"]], "", rest), found["kind"] or "")


def schema_names(image: Image) -> frozenset[str]:
    """The names before all texts of a library that look like a schema."""
    return frozenset(found[1].decode() for found in _SCHEMA.finditer(image.data))


def registers(ref: KernelRef, root: Path) -> bool:
    """Whether a kernel's source registers operators and has no kernel to call."""
    if ref.path is None or ref.is_library or ref.source is not None:
        return False
    try:
        text = read_file(root / ref.path)
    except OSError:
        return False  # said by whoever builds it
    # Searched first, as most sources have no such word, and a library may have a thousand of them.
    return b"TORCH_LIBRARY" in text and _REGISTERS.search(text) is not None and _KERNEL.search(text) is None
