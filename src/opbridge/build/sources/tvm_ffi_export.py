"""The addition of `opbridge build --export tvm-ffi` to a library: a tvm-ffi function for each of its operators.

A generated source checks the arguments by schema and rules, and calls the kernel. It compiles without tvm-ffi, and
looks up the functions of the host at run time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from opbridge.base.errors import UnsupportedError
from opbridge.build.cache import Cache
from opbridge.build.sources.standalone import plan_array, symbols_of_source
from opbridge.build.toolchains import BuildRequest
from opbridge.build.toolchains.interface import INCLUDE
from opbridge.waist.manifest import OpSpec
from opbridge.waist.rules import FromKernel

_NATIVE = INCLUDE.parent / "native"
_DEVICES = {"cpu": "OB_DEVICE_CPU", "cuda": "OB_DEVICE_CUDA"}


def with_functions(
    request: BuildRequest, device: str, operators: Sequence[tuple[str, OpSpec]], cache: Cache
) -> BuildRequest:
    """Return the build with a tvm-ffi function for each operator; `operators` pairs kernel symbols with operators.

    Raises:
        UnsupportedError: The device or an operator cannot be exported.
    """
    if device not in _DEVICES:
        raise UnsupportedError(f"kernels for {device} cannot be exported to tvm-ffi; those for cpu and cuda can")
    known = {symbol for source in request.sources for symbol in symbols_of_source(source)}
    for symbol, spec in operators:
        if symbol not in known:
            raise UnsupportedError(
                f"{spec.schema.full_name}: its kernel {symbol} is not written on kernel.h, with OB_KERNEL"
            )
        if any(isinstance(rule, FromKernel) for rule in spec.rules.out):
            raise UnsupportedError(
                f"{spec.schema.full_name} has no out rule, by which an exported function checks its outputs"
            )
    source = cache.keep(f"{Path(request.output).stem}_tvm_ffi.cpp", generate(operators, device))
    return replace(
        request,
        sources=(*request.sources, source),
        include_dirs=tuple(dict.fromkeys((*request.include_dirs, INCLUDE, _NATIVE))),
        link_flags=(*request.link_flags, "-ldl"),
        # The project stays the folder of the kernels, wherever the generated source is.
        root=request.project,
    )


def generate(operators: Iterable[tuple[str, OpSpec]], device: str) -> str:
    """Return the source of the functions."""
    lines = ["#include <standalone/tvm_ffi.h>"]
    for symbol, spec in operators:
        name = "_".join(filter(None, (spec.schema.name, spec.schema.overload)))
        lines.append(plan_array(f"{name}_plan", spec))
        lines.append(f"OB_TVM_FFI_FUNCTION({name}, {symbol}, {name}_plan, {_DEVICES[device]})")
    return "\n".join((*lines, ""))
