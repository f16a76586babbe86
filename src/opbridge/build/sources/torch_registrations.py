"""Sources and libraries that register operators with PyTorch, by TORCH_LIBRARY or the stable ABI.

Such a source has no function to call: its kernel is the operator that it registers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from opbridge.base.safe_open import read_file
from opbridge.build.sources.elf_image import Image
from opbridge.waist.manifest.kernel_origins import KernelRef

_REGISTERS = re.compile(rb"^[ \t]*(STABLE_)?TORCH_LIBRARY(_FRAGMENT|_IMPL)?\s*\(", re.MULTILINE)
_KERNEL = re.compile(rb"^[ \t]*OB_KERNEL\s*\(", re.MULTILINE)

_INITIALIZER = re.compile(
    r"(?P<length>\d+)(?P<macro>(STABLE_)?TORCH_LIBRARY(?P<kind>_FRAGMENT|_IMPL)?_(static_)?init_)(?P<rest>\w+)"
)
_ENDINGS = {None: r"$", "_FRAGMENT": r"_\d+$", "_IMPL": r"_[A-Za-z]+(_\d+)?$"}
"""The patterns after the namespace: the key of an implementation, and a number where there may be several."""
_SCHEMA = re.compile(rb"(?<![\w:])([A-Za-z_]\w*(\.\w+)?)\([^()\0]*(\([^()\0]*\)[^()\0]*)*\) -> ")


@dataclass(frozen=True)
class Registration:
    """One use of the PyTorch registration macros in a library."""

    namespace: str
    kind: str
    """Empty for TORCH_LIBRARY, and _FRAGMENT or _IMPL for the others."""


def registrations(image: Image) -> Iterator[Registration]:
    """Yield the registrations of a library, found by the static functions of the macros.

    A library that is stripped of their names yields none.
    """
    for name in image.local_names:
        if (found := _INITIALIZER.search(name)) is not None:
            rest = found["rest"][: int(found["length"]) - len(found["macro"])]
            yield Registration(re.sub(_ENDINGS[found["kind"]], "", rest), found["kind"] or "")


def schema_names(image: Image) -> frozenset[str]:
    """Return the operator names of all texts in a library that look like a schema."""
    return frozenset(found[1].decode() for found in _SCHEMA.finditer(image.data))


def registers(ref: KernelRef, root: Path) -> bool:
    """Return whether a kernel's source registers operators and has no kernel to call."""
    if ref.path is None or ref.is_library or ref.source is not None:
        return False
    try:
        text = read_file(root / ref.path)
    except OSError:
        return False  # building the source reports it
    # The substring search comes first: most sources lack the word, and a library may have a thousand sources.
    return b"TORCH_LIBRARY" in text and _REGISTERS.search(text) is not None and _KERNEL.search(text) is None
