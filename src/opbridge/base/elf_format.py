"""The tables of an ELF file, and the messages for other files.

Only 64-bit little-endian ELF, which is every platform opbridge runs on; a damaged file gives a KernelError.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from opbridge.base.errors import KernelError

HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
SECTION = struct.Struct("<IIQQQQIIQQ")
SEGMENT = struct.Struct("<IIQQQQQQ")
SYMBOL = struct.Struct("<IBBHQQ")

_MACHINES = {3: "i386", 40: "arm", 62: "x86_64", 183: "aarch64", 190: "cuda", 243: "riscv64", 258: "loongarch64"}


def machine_name(number: int) -> str:
    """Return the name of the processor that an ELF machine number stands for."""
    return _MACHINES.get(number, f"machine {number}")


def check_identity(path: str | Path, data: bytes) -> None:
    """Refuse a file that is empty, not ELF, or not for a 64-bit little-endian machine."""
    if not data:
        raise KernelError(f"{path} is empty; expected a shared library")
    if data[:4] != b"\x7fELF":
        raise KernelError(f"{path} is not a shared library: expected an ELF file, it begins with {data[:8]!r}")
    if data[4:6] != b"\x02\x01":
        raise KernelError(f"{path} is not for a 64-bit little-endian machine, and opbridge runs on no other")


@contextmanager
def damage_explained(path: str | Path) -> Iterator[None]:
    """Report damage found inside the `with` block as an error that names the file."""
    try:
        yield
    except (struct.error, IndexError, OverflowError):
        raise KernelError(f"{path} is damaged: it ends in the middle of a table; build it again") from None
    except ValueError as error:
        raise KernelError(f"{path} cannot be used: {error}; build it again") from None
