"""The entry points of a library, and the code that uses each."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from opbridge.authoring.doctor.report import EntryPoint
from opbridge.base.errors import KernelError
from opbridge.build.sources.elf_image import Image
from opbridge.build.sources.torch_registrations import registrations
from opbridge.build.sources.tvm_ffi import functions as tvm_ffi_functions
from opbridge.waist.rules import DTYPES

_SIGNATURE_OF = "_ob_signature"
_SIGNATURE = struct.Struct("<IiQi4xQ")
_PARAMETER = struct.Struct("<iii")
_IN, _OUT, _INOUT, _ATTRIBUTE = range(4)
_OPTIONAL, _LIST, _STRIDED = 1, 2, 4
_MOST_PARAMETERS = 64
_ATTRIBUTES = {
    0: ("Scalar", "Scalar"),
    3: ("bool", "bool"),
    4: ("int64_t", "int"),
    5: ("double", "float"),
    6: ("String", "str"),
    7: ("Ints", "int[]"),
    8: ("Floats", "float[]"),
    9: ("Bools", "bool[]"),
    10: ("DType", "ScalarType"),
}
"""The names of each attribute kind of abi.h, in C++ and in a schema."""
_BESIDE = ("Init", "InferShape", "InferType")
_SCHEMA_IS_YOURS = "the schema is yours to write"
_MODULE = "PyInit_"
_TORCH_LIBRARY = "_ZN5torch7LibraryC"
_STABLE_LIBRARY = ("torch_library_init", "aoti_torch_library_init")
_XLA = "N3xla3ffi"
_SHOWN = 12


def entry_points(image: Image, import_first: str) -> Iterator[EntryPoint]:
    """Yield the entry points of a library.

    `import_first` holds the statements that must run before the library is loaded, if any.
    """
    exports = _Exports.of(image)
    before = f"{import_first}; " if import_first else ""
    modules = [name.removeprefix(_MODULE) for name in exports.functions if name.startswith(_MODULE)]
    yield from _kernels(exports)
    yield from _mindspore_functions(exports)
    yield from _tvm_ffi_functions(exports)
    yield from _torch_libraries(exports)
    yield from (_module(exports, name, before) for name in modules)
    if not modules:
        yield from _c_functions(exports)


@dataclass(frozen=True)
class _Exports:
    image: Image
    functions: tuple[str, ...]
    addresses: dict[str, int]
    """The addresses of functions and data."""
    kernels: tuple[str, ...]
    """The functions that describe themselves."""

    @classmethod
    def of(cls, image: Image) -> _Exports:
        defined = [symbol for symbol in image.symbols if symbol.is_defined]
        functions = tuple(symbol.name for symbol in defined if symbol.is_function)
        addresses = {symbol.name: symbol.address for symbol in defined}
        return cls(image, functions, addresses, tuple(name for name in functions if name + _SIGNATURE_OF in addresses))

    @property
    def path(self) -> str:
        return str(self.image.path)

    @property
    def for_mindspore(self) -> tuple[str, ...]:
        return tuple(name for name in self.functions if any(name + suffix in self.addresses for suffix in _BESIDE))

    def signature(self, kernel: str) -> tuple[str, str]:
        """Return the C++ parameters of a kernel and a schema; without a signature, the schema is only an example."""
        try:
            return _signature(self.image, kernel, self.addresses[kernel + _SIGNATURE_OF])
        except (KernelError, struct.error, KeyError):
            return "", f"mylib::{kernel.lower()}(Tensor x) -> Tensor"


def _kernels(exports: _Exports) -> Iterator[EntryPoint]:
    for name in exports.kernels:
        cpp, schema = exports.signature(name)
        alone = "; MindSpore alone can use it too" if name in exports.for_mindspore else ""
        use = f'ob.aot("{exports.path}:{name}", schema="{schema}", out="x")'
        yield EntryPoint("kernel on kernel.h", name, use, cpp + alone)


def _mindspore_functions(exports: _Exports) -> Iterator[EntryPoint]:
    for name in exports.for_mindspore:
        if name not in exports.kernels:
            use = f'ob.aot("{exports.path}:{name}", schema="{exports.signature(name)[1]}")'
            yield EntryPoint("MindSpore's aot function with attributes", name, use, _SCHEMA_IS_YOURS)


def _tvm_ffi_functions(exports: _Exports) -> Iterator[EntryPoint]:
    for name in tvm_ffi_functions(exports.functions):
        use = f'ob.tvm_ffi("{exports.path}:{name}", schema="{exports.signature(name)[1]}", out="x")'
        yield EntryPoint("tvm-ffi function", name, use, f"outputs come last; {_SCHEMA_IS_YOURS}")


def _module(exports: _Exports, name: str, before: str) -> EntryPoint:
    file = exports.image.path.resolve()
    use = f'import sys; {before}sys.path.insert(0, "{file.parent}"); import {name}'
    called = "" if file.name.partition(".")[0] == name else f"rename the file to {name}.so, or import does not find it"
    by = "by pybind11" if exports.image.holds(b"pybind11") else ""
    return EntryPoint("Python module", name, use, "; ".join(filter(None, (by, called))))


def _signature(image: Image, name: str, address: int) -> tuple[str, str]:
    """Return the C++ parameters of a kernel and a schema that fits them."""
    _, count, _, n_dtypes, _ = _SIGNATURE.unpack(image.read(address, _SIGNATURE.size))
    if not (0 <= count <= _MOST_PARAMETERS and 0 <= n_dtypes <= len(DTYPES)):
        raise KernelError("its numbers are none of a signature")
    table, dtypes = image.pointer(address + 8), image.pointer(address + 24)
    parameters = [_PARAMETER.unpack(image.read(table + i * _PARAMETER.size, _PARAMETER.size)) for i in range(count)]
    types = [int.from_bytes(image.read(dtypes + 4 * i, 4), "little") for i in range(n_dtypes)]
    cpp = f"({', '.join(_in_cpp(*parameter) for parameter in parameters)})"
    if types:
        cpp += f" for {', '.join(_dtype(code) for code in types)}"
    return cpp, _as_schema(name, parameters)


def _in_cpp(role: int, flags: int, kind: int) -> str:
    if role == _ATTRIBUTE:
        text = _ATTRIBUTES.get(kind, _ATTRIBUTES[0])[0]
    else:
        element = {-1: "any", -2: "T"}.get(kind) or _dtype(kind)
        strided = ", strided" if flags & _STRIDED else ""
        text = f"{ {_IN: 'In', _OUT: 'Out'}.get(role, 'InOut') }<{element}{strided}>"
        text = f"List<{text}>" if flags & _LIST else text
    return f"Optional<{text}>" if flags & _OPTIONAL else text


def _as_schema(name: str, parameters: list[tuple[int, int, int]]) -> str:
    tensors: list[str] = []
    attributes: list[str] = []
    returns = 0
    for role, flags, kind in parameters:
        optional = "?" if flags & _OPTIONAL else ""
        if role == _OUT:
            returns += 1
        elif role == _ATTRIBUTE:
            attributes.append(f"{_ATTRIBUTES.get(kind, _ATTRIBUTES[0])[1]}{optional} a{len(attributes)}")
        else:
            place = len(tensors)
            letter = f"({chr(ord('a') + place)}!)" if role == _INOUT else ""
            several = "[]" if flags & _LIST else ""
            tensors.append(f"Tensor{letter}{several}{optional} {'xyz'[place] if place < 3 else f'x{place}'}")
    arguments = ", ".join((*tensors, *(["*", *attributes] if attributes else [])))
    outputs = "Tensor" if returns == 1 else f"({', '.join(['Tensor'] * returns)})"
    return f"mylib::{name}({arguments}) -> {outputs}"


def _dtype(code: int) -> str:
    return DTYPES[code] if 0 <= code < len(DTYPES) else "?"


def _torch_libraries(exports: _Exports) -> Iterator[EntryPoint]:
    image = exports.image
    if not any(symbol.name.startswith((_TORCH_LIBRARY, *_STABLE_LIBRARY)) for symbol in image.symbols):
        return
    names = sorted({registration.namespace for registration in registrations(image)})
    example = f", then torch.ops.{names[0]}.NAME(...)" if names else ""
    use = f'import torch; torch.ops.load_library("{exports.path}"){example}'
    details = "registers operators when it is loaded" + ("" if names else "; it is stripped of the names")
    yield EntryPoint("TORCH_LIBRARY", ", ".join(names), use, details)


def _c_functions(exports: _Exports) -> Iterator[EntryPoint]:
    known = {*exports.kernels, *exports.for_mindspore}
    known |= {name + suffix for name in known for suffix in _BESIDE}
    names = [name for name in exports.functions if not name.startswith("_") and name not in known]
    if not names:
        return
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    shown = ", ".join(names[:_SHOWN]) + more
    image = exports.image
    if any(_XLA in name for name in (*(symbol.name for symbol in image.symbols), *image.local_names)):
        pointer = f'jax.ffi.pycapsule(ctypes.CDLL("{exports.path}").{names[0]})'
        use = f'jax.ffi.register_ffi_target("{names[0]}", {pointer}, platform="cpu")'
        yield EntryPoint("XLA FFI handler", shown, use, "judged by XLA's FFI header, with which the library is made")
    else:
        use = f'ob.aot("{exports.path}:{names[0]}", schema="{exports.signature(names[0])[1]}", out="x")'
        yield EntryPoint("C function", shown, use, "for those with the plain aot call, which a file does not say")
