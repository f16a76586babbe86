"""The host code that starts a bare Ascend C kernel for an operator."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from opbridge.base.errors import KernelError, UnsupportedError
from opbridge.build.cache import Cache
from opbridge.build.cxx.ascend_kernels import AscendKernel, KernelParameter
from opbridge.build.sources.ascend.source_kind import AscendUses, Use
from opbridge.build.sources.host_function import StartingFunction
from opbridge.build.toolchains import BuildRequest
from opbridge.waist.rules.launch import BLOCKS, is_struct
from opbridge.waist.rules.syntax import Call, Expr, Name
from opbridge.waist.rules.value_kinds import Kind
from opbridge.waist.schema import Schema

DEFAULT_BLOCKS = "8"

_TYPED = re.compile(r"__gm__\s+(?P<element>\w+) \*$")
_ELEMENTS = {
    "half": "ob::half",
    "bfloat16_t": "ob::bfloat16",
    **{name: name for name in ("float", "double", "bool", "int8_t", "int16_t", "int32_t", "int64_t")},
    **{name: name for name in ("uint16_t", "uint32_t", "uint64_t")},
}
"""The C++ element types of kernel parameters; uint8_t is missing because it may be memory of any type."""


def with_hosts(request: BuildRequest, uses: AscendUses) -> BuildRequest:
    """Return the build with the functions that start the kernels for these operators."""
    (source,) = request.sources
    # Named after the user's source, so that build messages contain that name.
    generated = Cache().keep(f"{source.stem}_host.cpp", generate(source, uses))
    return replace(request, sources=(generated,), include_dirs=(*request.include_dirs, source.parent))


def generate(source: Path, uses: AscendUses) -> str:
    """Return a source that includes the kernels and starts them."""
    kernels = {kernel.name: kernel for kernel in uses.source.kernels} if uses.source else {}
    hosts = (_StartingFunction(source, kernels.get(use.symbol), use).code() for use in uses.bare)
    return "\n".join((f'#include "{source.name}"', "#include <opbridge/launch.h>", *hosts))


class _StartingFunction(StartingFunction):
    def __init__(self, source: Path, kernel: AscendKernel | None, use: Use) -> None:
        if kernel is None:
            raise UnsupportedError(
                f"{use.operator}: {use.symbol} of {source.name} is in a namespace or a template, and opbridge cannot "
                f'start it; make it extern "C", or write a function that does'
            )
        self.kernel = kernel
        self.use = use
        super().__init__(use.operator, source, Schema.parse(use.schema), dict(use.launch))
        self.statements: list[str] = []
        unknown = [name for name, _ in self.launch.values if name != BLOCKS and name not in self._names()]
        if unknown:
            raise self.error(f"launch has '{unknown[0]}', which is not a parameter of the kernel")

    def _names(self) -> list[str]:
        return [parameter.name for parameter in self.kernel.parameters]

    def error(self, message: str) -> KernelError:
        takes = ", ".join(f"{one.type} {one.name}" for one in self.kernel.parameters)
        return KernelError(
            f"{self.use.operator}: {message}\n  the kernel is {self.kernel.name}({takes}), in {self.source}"
        )

    def code(self) -> str:
        passed = self.arguments()
        outputs = [f"a_{item.name}.numel()" for item in self.schema.mutable_arguments]
        outputs += [f"out_{index}.numel()" for index in range(len(self.schema.new_outputs))]
        nothing = f"  if ({' + '.join(outputs)} == 0) return;\n" if outputs else ""
        blocks = self.expression(self.launch[BLOCKS]) if self.launch[BLOCKS] is not None else DEFAULT_BLOCKS
        body = "".join(f"  {statement}\n" for statement in self.statements)
        return (
            f"// {self.schema}\n"
            f"static void {self.use.host}({', '.join(self.parameters())}) {{\n"
            f"{nothing}{body}"
            f"  {self.kernel.name}<<<ob::launch::blocks({blocks}), nullptr, context.stream()>>>({', '.join(passed)});\n"
            f"}}\n"
            f"OB_KERNEL({self.use.host})\n"
        )

    def parameters(self) -> list[str]:
        """Return the parameters of the function that hosts call."""
        addresses = dict(zip(self.tensors(), self.addresses(), strict=False))
        elements = {name: _element(address) for name, address in addresses.items()}
        taken = [
            self.parameter(argument, elements.get(f"a_{argument.name}", "ob::any"))
            for argument in self.schema.arguments
        ]
        outputs = (f"out_{index}" for index in range(len(self.schema.new_outputs)))
        return [
            *taken,
            *(f"ob::Out<{elements.get(name, 'ob::any')}> {name}" for name in outputs),
            "ob::Context context",
        ]

    def tensors(self) -> list[str]:
        """Return the names of all tensors, in the order in which a kernel takes them."""
        inputs = [f"a_{argument.name}" for argument in self.schema.tensor_arguments]
        return inputs + [f"out_{index}" for index in range(len(self.schema.new_outputs))]

    def addresses(self) -> list[KernelParameter]:
        """Return the kernel parameters that receive tensors."""
        return [one for one in self.kernel.parameters if one.is_address and self.launch[one.name] is None]

    def arguments(self) -> list[str]:
        tensors, addresses = self.tensors(), self.addresses()
        if len(tensors) != len(addresses):
            names = ", ".join(one.name for one in addresses)
            raise self.error(
                f"the operator has {len(tensors)} tensors, outputs included, for {len(addresses)} addresses of the "
                f"kernel: {names or 'none'}; define each other one, as in launch: {{workspace: 1024}}"
            )
        tensor_of = dict(zip((one.name for one in addresses), tensors, strict=True))
        return [self.argument(one, tensor_of.get(one.name)) for one in self.kernel.parameters]

    def argument(self, parameter: KernelParameter, tensor: str | None) -> str:
        if tensor is not None:
            return f"({parameter.type})ob::launch::address({tensor})"
        given = self.launch[parameter.name]
        if given is None and self.kinds.get(parameter.name) in (Kind.INT, Kind.FLOAT, Kind.BOOL):
            given = Name(parameter.name)
        if given is None:
            size = f"{self._first_tensor()}.numel"
            fields = {BLOCKS: DEFAULT_BLOCKS, **self.launch.field(), parameter.name: size}
            example = ", ".join(f"{name}: {value}" for name, value in fields.items())
            raise self.error(
                f"the kernel takes '{parameter.type} {parameter.name}', which is not an argument of the operator; "
                f"set it, as in launch: {{{example}}}"
            )
        if is_struct(given):
            value = self.struct(given, parameter.name)
            return f"({parameter.type})ob::launch::on_device(context, {value})" if parameter.is_address else value
        if parameter.is_address:
            return f"({parameter.type})ob::launch::workspace(context, {self.expression(given)})"
        return f"({parameter.type})({self.expression(given)})"

    def _first_tensor(self) -> str:
        return next((argument.name for argument in self.schema.tensor_arguments), "x")

    def struct(self, expr: Expr, parameter: str) -> str:
        assert isinstance(expr, Call)
        name = f"struct_{parameter}"
        self.statements.append(f"{expr.name} {name}{{}};")
        for field, value in expr.kwargs:
            place = f"{name}.{field}"
            self.statements.append(f"{place} = static_cast<decltype({place})>({self.expression(value)});")
        return name


def _element(parameter: KernelParameter) -> str:
    """Return the element type of a tensor, if the kernel's parameter shows it, or `ob::any`."""
    typed = _TYPED.search(parameter.type)
    return _ELEMENTS.get(typed["element"], "ob::any") if typed else "ob::any"
