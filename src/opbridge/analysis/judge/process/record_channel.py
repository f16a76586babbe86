"""Receive the records of the twin from the process of an answer.

The twin writes them to a FIFO that only this process reads: nothing that is written can be taken back. Each entry
begins with the next token of a sequence, whose key the twin reads before the answer is loaded and no Python of the
answer sees. So an answer that writes entries of its own damages the record, which is noticed.
"""

from __future__ import annotations

import os
import secrets
import select
import struct
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Lock, Thread

from opbridge.analysis.judge.process.jobs import MOST_WRITES
from opbridge.analysis.judge.process.operator_prices import operations_told

_MOST = 4 * MOST_WRITES
"""The most bytes that are kept; what comes later is read and forgotten."""
_HEAD = struct.Struct("<QcQ")
_OPERATOR = struct.Struct("<dd")
_COUNT = struct.Struct("<Q")
_COUNTS = {b"h": "to_host", b"d": "to_device", b"s": "by_host"}
"""The entries that have a number of bytes, and what each adds to."""
_OF_JUDGE = "aten::neg"
"""The operator without elements that a judge calls at the end of each record."""
_ALL = (1 << 64) - 1
_GLANCE = 0.1


@dataclass(frozen=True)
class Write:
    """What an allocation holds after a launch, or before one."""

    is_by_kernel: bool
    data: bytes


@dataclass
class Record:
    """What the twin saw of one call."""

    name: str
    writes: list[Write] = field(default_factory=list)
    launches: int = 0
    """The launches of kernels, and calls of functions of CUDA's libraries."""
    operations: float = 0.0
    """The operations of PyTorch's operators."""
    to_host: int = 0
    to_device: int = 0
    """The bytes that copies brought to the host, and from there to the device."""
    by_host: int = 0
    """The bytes of memory that the host wrote and shares with kernels, after these wrote to such memory."""
    is_deaf: bool = False
    """Whether it has ended without the operator that the judge itself called last."""
    _heard: bool = field(default=False, repr=False, compare=False)

    def add(self, kind: bytes, data: bytes) -> None:
        """Add an entry."""
        if kind in b"ko":
            self.writes.append(Write(kind == b"k", data))
        elif kind == b"l":
            self.launches += 1
        elif kind in _COUNTS and len(data) == _COUNT.size:
            setattr(self, _COUNTS[kind], getattr(self, _COUNTS[kind]) + _COUNT.unpack(data)[0])
        elif kind == b"c" and len(data) > _OPERATOR.size:
            elements, products = _OPERATOR.unpack_from(data)
            name = data[_OPERATOR.size :].decode(errors="replace")
            self.operations += operations_told(name, elements, products)
            self._heard = name == _OF_JUDGE and elements == 0
        elif kind == b"e":
            self.is_deaf = not self._heard


@dataclass(frozen=True)
class Records:
    """The records of all calls, in their order."""

    calls: tuple[Record, ...] = ()
    is_damaged: bool = False
    """Whether something else than the twin wrote to it."""

    def named(self, name: str) -> list[Record]:
        """Return the records of a name."""
        return [record for record in self.calls if record.name == name]

    @classmethod
    def read(cls, content: bytes, key: bytes) -> Records:
        """Read what was received, up to an entry that has not ended or that the twin has not written."""
        calls: list[Record] = []
        at, count, is_open = 0, 0, False
        while at + _HEAD.size <= len(content):
            token, kind, size = _HEAD.unpack_from(content, at)
            count += 1
            if token != token_of(key, count):
                return cls(tuple(calls), is_damaged=True)
            begin, at = at + _HEAD.size, at + _HEAD.size + size
            if at > len(content):
                break
            if kind in b"be" and is_open == (kind == b"b"):
                return cls(tuple(calls), is_damaged=True)  # other code began or ended a record
            is_open = kind == b"b" or (is_open and kind != b"e")
            if kind == b"b":
                calls.append(Record(content[begin:at].decode(errors="replace")))
            elif calls:
                calls[-1].add(kind, content[begin:at])
        return cls(tuple(calls))


def token_of(key: bytes, number: int) -> int:
    """Return the token of an entry, as `next_token` of the twin does."""
    first, second = struct.unpack("<QQ", key)
    return _mixed(first + _mixed(second + number))


def _mixed(x: int) -> int:
    x &= _ALL
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & _ALL
    x = (x ^ x >> 27) * 0x94D049BB133111EB & _ALL
    return x ^ x >> 31


class RecordChannel:
    """A FIFO in a folder that the answer cannot see, and what came through it; use it in a `with` statement."""

    def __init__(self, folder: Path) -> None:
        self.file, self.key_file = folder / "record", folder / "record.key"
        self._key = secrets.token_bytes(16)
        self._content, self._lock, self._ends = bytearray(), Lock(), Event()

    def __enter__(self) -> RecordChannel:
        os.mkfifo(self.file, 0o600)
        self.key_file.write_bytes(self._key)
        # Open it for both, so that it has no end while nobody writes.
        self._pipe = os.open(self.file, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        self._reader = Thread(target=self._read, daemon=True)
        self._reader.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.set()
        self._reader.join()
        os.close(self._pipe)
        for path in (self.file, self.key_file):
            path.unlink(missing_ok=True)

    def records(self) -> Records:
        """Return all records that were written up to now."""
        self._drain()
        with self._lock:
            return Records.read(bytes(self._content), self._key)

    def _read(self) -> None:
        while not self._ends.is_set():
            if select.select([self._pipe], [], [], _GLANCE)[0]:
                self._drain()

    def _drain(self) -> None:
        with self._lock, suppress(BlockingIOError):
            while part := os.read(self._pipe, 1 << 20):
                self._content += part[: max(0, _MOST - len(self._content))]
