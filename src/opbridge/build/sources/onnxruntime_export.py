"""The build of `opbridge compile ops.yaml lib.so --for onnxruntime`: a library of ONNX Runtime custom operators.

A generated source registers each operator with the runtime, checks its arguments by schema and rules, and calls the
kernel. The library needs neither opbridge nor the runtime's headers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from opbridge.base.errors import UnsupportedError
from opbridge.build.cache import Cache
from opbridge.build.sources.standalone import plan_array, symbols_of_source, why_not_inferred
from opbridge.build.sources.store import with_files
from opbridge.build.toolchains import BuildRequest
from opbridge.build.toolchains.interface import INCLUDE
from opbridge.waist.manifest import KernelRef, OpSpec
from opbridge.waist.rules import FromKernel
from opbridge.waist.schema import Schema

_NATIVE = INCLUDE.parent / "native"


def request_for(ops: Sequence[OpSpec], output: str, root: Path, cache: Cache) -> BuildRequest:
    """Return the build of one library with the operators of a manifest.

    Raises:
        UnsupportedError: An operator cannot be exported to ONNX Runtime.
    """
    kept = [with_files(op, cache) for op in ops]
    sources = dict.fromkeys(op.file(_kernel(op)) for op in kept)
    for op in kept:
        _check(op)
    source = cache.keep(f"{Path(output).stem}_onnxruntime.cpp", generate(kept))
    return BuildRequest(
        (*sources, source),
        output,
        include_dirs=(INCLUDE, _NATIVE),
        defines=(("OPBRIDGE_STANDALONE", ""),),
        portable=True,
        language="c++",
        root=root,
    )


def operator_name(schema: Schema) -> str:
    """Return the name of an operator within its domain, which is the namespace."""
    return "_".join(filter(None, (schema.name, schema.overload)))


def generate(ops: Iterable[OpSpec]) -> str:
    """Return the source that registers the operators."""
    lines = ["#include <standalone/onnxruntime.h>"]
    names = []
    for op in ops:
        name = operator_name(op.schema)
        symbol = _kernel(op).symbol or op.schema.name
        lines.append(plan_array(f"{name}_plan", op))
        lines.append(f"OB_ONNXRUNTIME_OPERATOR({name}, {symbol}, {name}_plan)")
        names.append(f"{name}_operator()")
    lines.append(f"OB_ONNXRUNTIME_REGISTER({', '.join(names)})")
    return "\n".join((*lines, ""))


def _kernel(op: OpSpec) -> KernelRef:
    """Return the CPU source of an operator."""
    kernel = op.kernel("cpu")
    if kernel is None or kernel.path is None or kernel.is_library:
        have = ", ".join(f"{known.device}: {known}" for known in op.kernels)
        raise UnsupportedError(
            f"{op.schema.full_name} has no source for the CPU, which ONNX Runtime would run; it has {have}"
        )
    return kernel


def _check(op: OpSpec) -> None:
    name, symbol = op.schema.full_name, _kernel(op).symbol or op.schema.name
    if symbol not in symbols_of_source(op.file(_kernel(op))):
        raise UnsupportedError(f"{name}: its kernel {symbol} is not written on kernel.h, with OB_KERNEL")
    if any(isinstance(rule, FromKernel) for rule in op.rules.out):
        raise UnsupportedError(f"{name} has no out rule, by which outputs are allocated")
    if op.schema.mutable_arguments:
        raise UnsupportedError(f"{name}: {why_not_inferred(op)}, and ONNX has no operator that does")
    tensors = [argument for argument in op.schema.arguments if argument.is_tensor]
    lists = [argument.name for argument in tensors[:-1] if argument.type.is_list]
    if lists:
        raise UnsupportedError(f"{name}: '{lists[0]}' is a list of tensors, which ONNX wants last")
