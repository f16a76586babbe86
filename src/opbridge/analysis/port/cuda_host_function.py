"""Write the host function that starts a bare CUDA kernel, for the operator that its parameters describe.

`const` distinguishes tensors: a pointer to const elements is an input. Another pointer is an output, or a tensor
that the schema declares as mutable. A number is an operator argument, or what `launch` defines.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from opbridge.analysis.port.signatures import DTYPES, Guess, usual_shapes
from opbridge.base.errors import InputError
from opbridge.build.cache import Cache
from opbridge.build.cxx.ascend_kernels import AscendKernel, KernelParameter
from opbridge.build.sources.host_function import StartingFunction
from opbridge.waist.rules.syntax import Name
from opbridge.waist.schema import Schema

GRID = {"grid": None, "grid_y": "1", "grid_z": "1", "block": "256", "block_y": "1", "block_z": "1", "shared": "0"}
"""The keys of `launch` that configure the kernel launch, with their defaults."""

_POINTER = re.compile(r"^(?P<const>const )?(?P<type>\w+)(?P<late> const)? \*")
_ELEMENTS = {
    "__half": "ob::half",
    "half": "ob::half",
    "__nv_bfloat16": "ob::bfloat16",
    "int": "int32_t",
    **{name: name for name in ("float", "double", "bool", "int8_t", "uint8_t", "int16_t", "int32_t", "int64_t")},
}
_REAL = ("float", "double")


def hosted(source: Path, kernel: AscendKernel, schema: Schema, launch: Mapping[str, str]) -> tuple[Path, str]:
    """Write a source on kernel.h with a function that starts the kernel; return its path and the function name."""
    function = _StartingCuda(source, kernel, schema, launch)
    text = f'#include "{source.absolute()}"\n#include <opbridge/launch_values.h>\n{function.code()}'
    return Cache().keep(f"{source.stem}_host.cu", text), function.name


def keys_of(kernel: AscendKernel) -> set[str]:
    """Return the keys that `launch` may have for a kernel."""
    return {*GRID, *(one.name for one in kernel.parameters)}


def shown(source: Path, kernel: AscendKernel, launch: Mapping[str, str]) -> Guess:
    """Return the operator that the kernel parameters describe.

    Raises:
        InputError: A parameter is neither a pointer, a real number nor a key of `launch`.
    """
    pointers = [one for one in kernel.parameters if one.is_address]
    inputs = [one.name for one in pointers if _is_input(source, one)]
    outputs = [one for one in pointers if not _is_input(source, one)]
    taken = [f"Tensor {name}" for name in inputs]
    for one in kernel.parameters:
        if one.is_address or one.name in launch:
            continue
        if one.type.removeprefix("const ") not in _REAL:
            raise InputError(
                f"{source.name}: the kernel {kernel.name} takes '{one.type} {one.name}', which can be anything",
                hint=f"say what it is: --launch {one.name}={(inputs or ['x'])[0]}.numel, or name it in --schema",
            )
        taken.append(f"float {one.name}")
    returned = "Tensor" if len(outputs) == 1 else f"({', '.join(['Tensor'] * len(outputs))})"
    return Guess(
        f"port_check::{kernel.name}({', '.join(taken)}) -> {returned}",
        tuple((shape,) * len(outputs) for shape in usual_shapes(inputs)),
        tuple(DTYPES[_element(source, one)] for one in outputs),
    )


def _element(source: Path, parameter: KernelParameter) -> str:
    return _ELEMENTS[_pointer(source, parameter)["type"]]


def _pointer(source: Path, parameter: KernelParameter) -> re.Match[str]:
    found = _POINTER.match(parameter.type)
    if found is None or found["type"] not in _ELEMENTS:
        raise InputError(
            f"{source.name}: a kernel that takes '{parameter.type} {parameter.name}' needs a function that starts it",
            hint="write one on opbridge/kernel.h, followed by OB_KERNEL(name)",
        )
    return found


def _is_input(source: Path, parameter: KernelParameter) -> bool:
    found = _pointer(source, parameter)
    return bool(found["const"] or found["late"])


class _StartingCuda(StartingFunction):
    def __init__(self, source: Path, kernel: AscendKernel, schema: Schema, launch: Mapping[str, str]) -> None:
        super().__init__(schema.name, source, schema, {key: launch[key] for key in launch if key in keys_of(kernel)})
        self.kernel = kernel
        self.name = f"{kernel.name}_by_arrows"
        changed = [f"a_{item.name}" for item in schema.mutable_arguments]
        self.written = [*changed, *(f"out_{index}" for index in range(len(schema.new_outputs)))]
        self.tensor_of = self._tensors()

    def _tensors(self) -> dict[str, str]:
        """Return the tensor variable for each pointer parameter, by name; raise InputError if the counts differ."""
        pointers = [one for one in self.kernel.parameters if one.is_address]
        inputs = [one.name for one in pointers if _is_input(self.source, one)]
        outputs = [one.name for one in pointers if not _is_input(self.source, one)]
        read = [f"a_{item.name}" for item in self.schema.tensor_arguments if not item.mutable]
        if (len(inputs), len(outputs)) != (len(read), len(self.written)):
            raise InputError(
                f"{self.source.name}: {self.kernel.name} has {len(inputs)} pointers to const, {len(outputs)} others; "
                f"{self.schema} has {len(read)} tensors to read and {len(self.written)} to write"
            )
        return dict(zip((*inputs, *outputs), (*read, *self.written), strict=True))

    def code(self) -> str:
        of = {self.tensor_of[one.name]: one for one in self.kernel.parameters if one.is_address}
        elements = {tensor: _element(self.source, one) for tensor, one in of.items()}
        taken = [self.parameter(item, elements.get(f"a_{item.name}", "")) for item in self.schema.arguments]
        new = [f"ob::Out<{elements[name]}> {name}" for name in self.written if name.startswith("out_")]
        first = f"{self.written[0]}.numel()" if self.written else "1"
        numbers = [self._number(key, default or f"({first} + 255) / 256") for key, default in GRID.items()]
        grid, block = (f"dim3({', '.join(part)})" for part in (numbers[:3], numbers[3:6]))
        passed = ", ".join(map(self._argument, self.kernel.parameters))
        return (
            f"static void {self.name}({', '.join((*taken, *new, 'ob::Context context'))}) {{\n"
            f"  if ({first} == 0) return;\n"
            f"  {self.kernel.name}<<<{grid}, {block}, {numbers[6]}, (cudaStream_t)context.stream()>>>({passed});\n"
            f"}}\nOB_KERNEL({self.name})\n"
        )

    def _number(self, key: str, default: str) -> str:
        given = self.launch[key]
        return default if given is None else self.expression(given)

    def _argument(self, parameter: KernelParameter) -> str:
        if parameter.is_address:
            return f"({parameter.type})ob::launch::address({self.tensor_of[parameter.name]})"
        given = self.launch[parameter.name] or Name(parameter.name)
        if isinstance(given, Name) and given.id not in self.kinds:
            raise InputError(
                f"{self.schema} has no argument '{given.id}', which {self.kernel.name} of {self.source.name} takes",
                hint=f"--launch {given.id}=x.numel says what it is",
            )
        return f"({parameter.type})({self.expression(given)})"
