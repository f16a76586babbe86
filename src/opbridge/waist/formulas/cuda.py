"""Print loops as CUDA with kernel.h and cuda_grid.h: a GPU function over rows, and a host function that launches it."""

from __future__ import annotations

from textwrap import indent

from opbridge.waist.formulas.functions import CALL
from opbridge.waist.formulas.loops import Loops, Output
from opbridge.waist.formulas.nodes import Apply, Extent, Node, Reduce, Scalar, Scan, Tensor, Text
from opbridge.waist.formulas.printer import ATTRIBUTES, Printer, function_name


def cuda_source(loops: Loops) -> str:
    """Return the source of one kernel, for the four floating-point types."""
    return _CudaPrinter(loops).source()


class _CudaPrinter(Printer):
    includes = ("opbridge/cuda_grid.h",)
    numel = "F(grid.numel)"
    n_rows = "F(grid.rows)"

    def source(self) -> str:
        parts = self.loops.all
        name = function_name(self.loops.schema)
        heading, signature = self.heading, ", ".join(self.signature())
        checks = "".join(f"  {line}\n" for line in self.checks())
        found = [self.one(part, f"{name}_rows{place or ''}") for place, part in enumerate(parts)]
        launches = [launch for _, launch in found]
        if len(parts) > 1:
            launches = ["  {\n" + indent(launch, "  ") + "  }\n" for launch in launches]
        return (
            heading
            + "".join(kernel for kernel, _ in found)
            + f"template <class T>\nvoid {name}({signature}) {{\n"
            + checks
            + "".join(launches)
            + "}\n"
            + self.kernel
        )

    def one(self, loops: Loops, name: str) -> tuple[str, str]:
        """Return a GPU function and the code that launches it."""
        self.start(loops)
        self.lines = []
        self.kept = 0
        rows = self.fresh(name)
        given, passed = self.attributes()
        self.body()
        parameters = ", ".join(["const __grid_constant__ ob::GridView grid", *given])
        kernel = (
            f"template <class T>\n__global__ void {rows}({parameters}) {{\n"
            + "  using F = ob::opmath<T>;\n"
            + "  __shared__ ob::Exchange exchange;\n"
            + "  for (ob::GridRow<T> row(grid, exchange); row.is_left(); row.next()) {\n"
            + "\n".join(self.lines)
            + "\n  }\n}\n\n"
        )
        arguments = ", ".join([f"{rows}<T>", *passed])
        grid = self.grid() + (f", {self.kept}" if self.kept else "")
        needs = "".join(f"  {need}\n" for need in self.needs())
        return kernel, f"  ob::CudaGrid grid({grid});\n{needs}  grid.launch<T>({arguments});\n"

    def attributes(self) -> tuple[list[str], list[str]]:
        """Return what the rows need besides tensors: parameters, and the host's arguments for them."""
        used = {node.name: node.type for node in self.loops.nodes if isinstance(node, Scalar)}
        given = [f"{ATTRIBUTES[kind]} {self.parameters[name]}" for name, kind in used.items()]
        passed = [self.parameters[name] for name in used]
        for size, text in self.sizes():
            given.append(f"int64_t {size}")
            passed.append(text)
        for node in self.loops.nodes:
            if isinstance(node, Text):
                # Strings stay on the host; pass the result of the comparison.
                local = self.fresh(f"{node.name}_is_it")
                self.rows[node] = local
                given.append(f"bool {local}")
                passed.append(f'{self.parameters[node.name]} == "{node.value}"')
        return given, passed

    def pointers(self) -> None:
        for tensor, place in self.places.items():
            kind = "bool" if tensor.is_mask else "T"
            name = self.locals_of[tensor]
            if tensor.form.extent is Extent.GRID:
                self.line(2, f"const auto {self.pointer(name)} = row.template read<{kind}>({place});")
            else:
                value = f"row.template value<{kind}>({place})"
                local = self.fresh(name)
                self.rows[tensor] = local
                self.line(2, f"const bool {local} = {value};" if tensor.is_mask else f"const F {local} = F({value});")

    def total(self, kind: str, node: Node, around: str = "{}") -> str:
        return f"row.{kind}({self.function(node, around)})"

    def place(self, node: Reduce) -> str:
        return self.total(node.kind, node.arg)

    def scan(self, node: Scan, name: str) -> None:
        walk = "scan_back" if node.is_backward else "scan"
        self.line(2, f"const auto {self.pointer(name)} = row.{walk}({self.kept}, {self.function(node.arg, '{}')});")
        self.kept += 1
        self.rows[node] = name

    def log_total(self, node: Reduce, name: str) -> None:
        self.line(2, f"const F {name} = ob::log({self.total('sum', node.arg, 'ob::exp({})')});")

    def stores(self, elements: list[tuple[Output, str, int]]) -> None:
        for output, name, place in elements:
            verb = "add" if output.is_sum else "write"
            self.line(2, f"const auto {self.pointer(name)} = row.template {verb}<{self.type_of(output)}>({place});")
        before, self.lines = self.lines, []
        roots = tuple(output.value for output, _, _ in elements)
        named = self.locals(roots, 3)
        for output, name, _ in elements:
            self.line(3, f"{name} = {self.converted(output, self.slot(output), named)};")
        lines, self.lines = self.lines, before
        parameters, tensors = self.read(roots)
        parameters += [f"{self.slot(output)}& {name}" for output, name, _ in elements]
        tensors += [self.pointer(name) for _, name, _ in elements]
        self.line(2, f"row.each([=]({', '.join(parameters)}) {{")
        self.lines += lines
        self.line(2, f"}}, {', '.join(tensors)});")

    def applied(self, node: Apply, named: dict[Node, str]) -> tuple[str, int]:
        if self.looks_for_extremes and node.function in ("multiply", "square") and not node.is_truth:
            args = [f"F({self.text(arg, named)[0]})" for arg in node.args]
            return f"ob::product({args[0]}, {args[-1]})", CALL
        return super().applied(node, named)

    def slot(self, output: Output) -> str:
        """Return the type in which a body assigns an output: F for floats of any precision."""
        kind = self.type_of(output)
        return kind if kind in ("bool", "int64_t") else "F"

    def put(self, output: Output, place: int) -> None:
        if not self.loops.is_row(output.value):
            value = self.total("sum", output.value)
        else:
            value = self.converted(output, self.kind_of(output), {})
        if output.is_sum:
            self.line(2, f"row.template put_sum<{self.type_of(output)}>({place}, {value});")
        else:
            self.line(2, f"row.put({place}, {value});")

    def read(self, roots: tuple[Node, ...]) -> tuple[list[str], list[str]]:
        """Return the tensors and sums whose elements are needed: parameters of a body, and row pointers."""
        tensors = [node for node in self.reached(roots) if isinstance(node, Tensor) and node not in self.rows]
        parameters = [f"{'bool' if node.is_mask else 'F'} {self.locals_of[node]}" for node in tensors]
        scans = [self.rows[node] for node in self.scans(roots)]
        names = [*(self.locals_of[node] for node in tensors), *scans]
        return parameters + [f"F {name}" for name in scans], [self.pointer(name) for name in names]

    def function(self, node: Node, around: str) -> str:
        """Return a lambda that computes a value from the elements of tensors, followed by these tensors."""
        parameters, tensors = self.read((node,))
        lines, value = self.computed(node, 3, around)
        head = f"[=]({', '.join(parameters)}) {{"
        if not lines and len(head) + len(value) < 80:
            return ", ".join([f"{head} return {value}; }}", *tensors])
        return "\n".join([head, *lines, f"      return {value};", ", ".join(["    }", *tensors])])
