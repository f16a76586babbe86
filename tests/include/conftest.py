"""A host in ctypes: it builds the C call of abi.h by hand around NumPy arrays, without any of opbridge's own hosts."""

from __future__ import annotations

import ctypes
import subprocess
import threading
from collections.abc import Callable, Sequence
from ctypes import POINTER, c_char_p, c_double, c_int, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.helpers.compilers import COMPILERS

Array = np.ndarray[Any, np.dtype[Any]]

HERE = Path(__file__).parent
INCLUDE = HERE.parents[1] / "src" / "opbridge" / "include"

DTYPES = (
    *("bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64"),
    *("float16", "bfloat16", "float32", "float64", "complex64", "complex128"),
)
NONE, TENSOR, TENSORS, BOOL, INT, FLOAT, STRING, INTS, FLOATS, BOOLS, DTYPE = range(11)
MAGIC = int.from_bytes(b"POBRIDGE", "little")

Body = ctypes.CFUNCTYPE(None, c_void_p, c_int64, c_int64)
Scratch = ctypes.CFUNCTYPE(c_void_p, c_void_p, c_size_t)
Parallel = ctypes.CFUNCTYPE(None, c_void_p, c_int64, c_int64, Body, c_void_p)


class Value(ctypes.Union):
    _fields_ = [("i", c_int64), ("d", c_double), ("p", c_void_p)]


class Arg(ctypes.Structure):
    _fields_ = [("kind", c_int32), ("count", c_int32), ("v", Value)]


class Call(ctypes.Structure):
    _fields_ = [
        ("magic", c_uint64),
        ("version", c_uint32),
        ("size", c_uint32),
        ("op", c_char_p),
        ("args", POINTER(Arg)),
        ("n_args", c_int32),
        ("n_inputs", c_int32),
        ("dtypes", POINTER(c_int32)),
        ("strides", POINTER(POINTER(c_int64))),
        ("device_type", c_int32),
        ("device_index", c_int32),
        ("host", c_void_p),
        ("scratch", Scratch),
        ("parallel", Parallel),
        ("error", c_char_p),
        ("error_size", c_uint64),
        ("arg_names", POINTER(c_char_p)),
    ]


class Param(ctypes.Structure):
    _fields_ = [("role", c_int32), ("flags", c_int32), ("type", c_int32)]


class Signature(ctypes.Structure):
    _fields_ = [
        ("version", c_uint32),
        ("n_params", c_int32),
        ("params", POINTER(Param)),
        ("n_dtypes", c_int32),
        ("dtypes", POINTER(c_int32)),
        ("file", c_char_p),
        ("line", c_int32),
    ]


def dtype_of(array: Array) -> str:
    """The name on the wire; one that NumPy has no type for is the name of a record's only field."""
    return array.dtype.names[0] if array.dtype.names else array.dtype.name


def int64s(values: Sequence[int]) -> Any:
    return ctypes.cast((c_int64 * max(1, len(values)))(*values), POINTER(c_int64))


class Failed(RuntimeError):
    """The kernel returned something other than 0."""


@dataclass
class Host:
    """One library of kernels, and what a host does for it during a call."""

    library: ctypes.CDLL
    threads: int = 4
    pieces: list[tuple[int, int]] = field(default_factory=list)
    scratched: list[Any] = field(default_factory=list)

    def signature(self, symbol: str) -> Signature:
        return Signature.in_dll(self.library, f"{symbol}_ob_signature")

    def __call__(
        self, symbol: str, args: Sequence[Any], outputs: Sequence[Array], *, strided: bool = False, **changes: Any
    ) -> None:
        """Calls as opbridge does: `args` in schema order, a missing tensor as None and a missing attribute as `...`."""
        keep: list[Any] = []
        tensors: list[Array | None] = []
        described = (Arg * max(1, len(args)))(*[self._describe(arg, tensors, keep) for arg in args])
        n_inputs = len(tensors)
        tensors += outputs
        codes = [0 if t is None else DTYPES.index(dtype_of(t)) for t in tensors]
        strides = self._strides(tensors, keep) if strided else None
        error = ctypes.create_string_buffer(300)
        scratch, parallel = Scratch(self._scratch), Parallel(self._parallel)
        call = Call(
            MAGIC, 1, ctypes.sizeof(Call), b"test::" + symbol.encode(), described, len(args), n_inputs,
            (c_int32 * max(1, len(codes)))(*codes), strides, 1, 3, None, scratch, parallel,
            ctypes.cast(error, c_char_p), len(error),
        )  # fmt: skip
        for name, value in changes.items():
            setattr(call, name, value)
        status = self._invoke(symbol, tensors, ctypes.byref(call))
        if status != 0:
            raise Failed(error.value.decode())

    def foreign(self, symbol: str, tensors: Sequence[Array], extra: Any = None) -> int:
        """Calls as MindSpore does: names of types, no attributes, an `extra` that is not opbridge's."""
        return self._invoke(symbol, tensors, extra)

    def _invoke(self, symbol: str, tensors: Sequence[Array | None], extra: Any) -> int:
        n = len(tensors)
        params = (c_void_p * n)(*[None if t is None else t.ctypes.data for t in tensors])
        ndims = (c_int * n)(*[0 if t is None else t.ndim for t in tensors])
        shapes = (POINTER(c_int64) * n)(*[int64s(() if t is None else t.shape) for t in tensors])
        names = (c_char_p * n)(*[b"none" if t is None else dtype_of(t).encode() for t in tensors])
        stream = c_void_p(0x1234)
        return int(getattr(self.library, symbol)(n, params, ndims, shapes, names, stream, extra))

    @staticmethod
    def _strides(tensors: Sequence[Array | None], keep: list[Any]) -> Any:
        rows = []
        for tensor in tensors:
            array = np.zeros(0) if tensor is None else tensor
            rows.append(int64s([s // array.itemsize for s in array.strides]))
        keep += rows
        return (POINTER(c_int64) * len(rows))(*rows)

    @staticmethod
    def _describe(arg: Any, tensors: list[Array | None], keep: list[Any]) -> Arg:
        if arg is None or isinstance(arg, np.ndarray):
            tensors.append(arg)
            return Arg(TENSOR, 1, Value(i=len(tensors) - 1))
        if isinstance(arg, list):
            tensors.extend(arg)
            return Arg(TENSORS, len(arg), Value(i=len(tensors) - len(arg)))
        if arg is ...:
            return Arg(NONE)
        if isinstance(arg, bool):
            return Arg(BOOL, 0, Value(i=arg))
        if isinstance(arg, int):
            return Arg(INT, 0, Value(i=arg))
        if isinstance(arg, float):
            return Arg(FLOAT, 0, Value(d=arg))
        if isinstance(arg, np.dtype):
            return Arg(DTYPE, 0, Value(i=DTYPES.index(arg.name)))
        items: Array
        if isinstance(arg, str):
            kind, items = STRING, np.frombuffer(arg.encode() + b"\0", np.uint8)
        else:
            items = np.array(arg or np.zeros(0, np.int64))
            kind = {"b": BOOLS, "i": INTS, "f": FLOATS}[items.dtype.kind]
        keep.append(items)
        return Arg(kind, len(arg), Value(p=items.ctypes.data))

    def _scratch(self, _host: int, size: int) -> int:
        if size > 1 << 40:
            return 0
        buffer = ctypes.create_string_buffer(size + 64)
        self.scratched.append(buffer)
        return -(-ctypes.addressof(buffer) // 64) * 64

    def _parallel(self, _host: int, n: int, grain: int, body: Callable[[int, int, int], None], state: int) -> None:
        grain = max(grain, -(-n // self.threads))
        pieces = [(begin, min(n, begin + grain)) for begin in range(0, n, grain)]
        self.pieces += pieces
        workers = [threading.Thread(target=body, args=(state, *piece)) for piece in pieces[1:]]
        for worker in workers:
            worker.start()
        body(state, *pieces[0])
        for worker in workers:
            worker.join()


@pytest.fixture(scope="session")
def strict() -> list[str]:
    """The flags that everything of ours compiles with."""
    return ["-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{INCLUDE}"]


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory, strict: list[str]) -> Callable[..., Path]:
    """Compiles one file of this folder; gives back what came of it."""
    folder = tmp_path_factory.mktemp("kernels")

    def compile_one(source: str, *flags: str, compiler: str = "g++", standard: str = "c++17") -> Path:
        made = folder / f"{Path(source).stem}{len(list(folder.iterdir()))}"
        command = [compiler, f"-std={standard}", *strict, *flags, str(HERE / source), "-o", str(made)]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return made

    return compile_one


@pytest.fixture(scope="session")
def host_of() -> Callable[[Path], Host]:
    """A library of kernels that was built elsewhere, under the host above."""
    return lambda library: Host(ctypes.CDLL(str(library)))


@pytest.fixture(scope="session")
def load(build: Callable[..., Path]) -> Callable[..., Host]:
    """The kernels of one file of this folder, under the host above."""
    return lambda source, *flags, **how: Host(ctypes.CDLL(str(build(source, "-fPIC", "-shared", *flags, **how))))


@pytest.fixture(scope="session", params=COMPILERS)
def compiler(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="session")
def library(load: Callable[..., Host], compiler: str) -> Host:
    return load("kernels.cpp", "-O1", compiler=compiler)


@pytest.fixture
def kernels(library: Host) -> Host:
    library.pieces.clear()
    library.scratched.clear()
    library.threads = 4
    return library
