"""Kernels generated from formulas, and the functions that print them for each device."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from opbridge.base.errors import RuleError
from opbridge.waist.formulas.ascend import ascend_refusal, ascend_source
from opbridge.waist.formulas.cpp import cpp_refusal, cpp_source
from opbridge.waist.formulas.cuda import cuda_source
from opbridge.waist.formulas.loops import Loops
from opbridge.waist.formulas.nodes import GRID, Extent, Form, Node
from opbridge.waist.formulas.printer import function_name
from opbridge.waist.schema import Schema


@dataclass(frozen=True)
class Target:
    """The language of the kernels for one device."""

    suffix: str
    print: Callable[[Loops], str]
    refusal: Callable[[Loops], RuleError | None] = lambda _: None
    """Returns the reason why there is no kernel, or None."""


PRINTERS: Mapping[str, Target] = {
    "cpu": Target(".cpp", cpp_source, cpp_refusal),
    "cuda": Target(".cu", cuda_source),
    "npu": Target(".asc", ascend_source, ascend_refusal),
}
"""The targets by device."""


@dataclass(frozen=True)
class Generated:
    """An operator generated from a formula."""

    schema: Schema
    rules: Mapping[str, object]
    loops: Loops

    def source(self, device: str) -> str:
        """Return the source of the kernel for a device."""
        return PRINTERS[device].print(self.loops)

    @property
    def symbol(self) -> str:
        """The name of the kernel's function."""
        return function_name(self.schema)

    def file(self, device: str) -> str:
        """Return the file name of the kernel for a device."""
        overload = f"_{self.schema.overload}" if self.schema.overload else ""
        return f"{self.schema.name}{overload}{PRINTERS[device].suffix}"


def output_names(schema: Schema) -> list[str]:
    """Return a name for each output that no argument has."""
    taken = {argument.name for argument in schema.arguments}
    found = []
    for place, output in enumerate(schema.returns):
        name = output.name or ("out" if len(schema.returns) == 1 else f"out{place}")
        while name in taken:
            name += "_"
        taken.add(name)
        found.append(name)
    return found


def stored_form(node: Node) -> Form:
    """Return the form in which an output is stored: the grid's for a value that is the same for the whole call."""
    return GRID if node.form.extent is Extent.CALL else node.form
