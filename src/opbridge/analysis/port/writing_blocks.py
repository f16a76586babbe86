"""Find which block of a port wrote an element, from the records of the Ascend C twin."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from opbridge.twins.ascend.toolchain import runtime


@contextmanager
def writers_noted() -> Iterator[Callable[[int], str | None]]:
    """Record writes, and yield a function from an address to the block and instruction that wrote it first."""
    library = ctypes.CDLL(str(runtime()))
    library.ob_ascend_writer_of.argtypes = [ctypes.c_void_p]
    library.ob_ascend_writer_of.restype = ctypes.c_char_p

    def writer_of(address: int) -> str | None:
        text: bytes | None = library.ob_ascend_writer_of(address)
        return None if text is None else text.decode()

    library.ob_ascend_note_writers(1)
    try:
        yield writer_of
    finally:
        library.ob_ascend_note_writers(0)
