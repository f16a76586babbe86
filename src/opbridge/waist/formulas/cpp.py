"""Print loops as C++ with kernel.h and grid.h, as a person would write them."""

from __future__ import annotations

from textwrap import indent

from opbridge.base.errors import RuleError
from opbridge.waist.formulas.loops import Loops, Output
from opbridge.waist.formulas.nodes import Apply, Expand, Extent, Node, Reduce, Scan, Tensor
from opbridge.waist.formulas.printer import Printer, function_name

_MOST_KEPT = 32
"""The same as `ob::Row::most_kept`."""


def cpp_source(loops: Loops) -> str:
    """Return the source of one kernel, for the four floating-point types."""
    return _CppPrinter(loops).source()


def cpp_refusal(loops: Loops) -> RuleError | None:
    """Return an error if the kernel keeps more values per element than a row has arrays for; else None."""
    kept = sum(isinstance(node, Scan) or node.kind == "log_total" for part in loops.all for node in part.steps)
    if kept <= _MOST_KEPT:
        return None
    message = f"{loops.schema.full_name} keeps {kept} values of each element, of {_MOST_KEPT} that a kernel may"
    return RuleError(message, hint="make it two operators")


class _CppPrinter(Printer):
    includes = ("opbridge/grid.h",)
    numel = "F(grid.numel())"
    n_rows = "F(grid.rows())"

    def source(self) -> str:
        head = (
            self.heading
            + f"template <class T>\nvoid {function_name(self.loops.schema)}({', '.join(self.signature())}) {{\n"
            + "  using F = ob::opmath<T>;\n"
            + "".join(f"  {line}\n" for line in self.checks())
        )
        parts = self.loops.all
        texts = [self.one(part) for part in parts]
        if len(parts) > 1:
            texts = ["  {\n" + indent(text, "  ") + "  }\n" for text in texts]
        return head + "".join(texts) + "}\n" + self.kernel

    def one(self, loops: Loops) -> str:
        self.start(loops)
        self.lines = []
        self.kept = 0
        for size, text in self.sizes():
            self.line(1, f"const int64_t {size} = {text};")
        self.line(1, f"const ob::Grid grid({self.grid()});")
        for need in self.needs():
            self.line(1, need)
        self.line(1, "grid.each_row([=](ob::Row& row) {")
        self.body()
        self.line(1, "});")
        text = "\n".join(self.lines) + "\n"
        if text.partition("each_row")[2].count("grid."):
            text = text.replace("[=](ob::Row& row)", "[=, &grid](ob::Row& row)", 1)
        return text

    def pointers(self) -> None:
        for tensor, place in self.places.items():
            kind = "bool" if tensor.is_mask else "T"
            name = self.locals_of[tensor]
            if tensor.form.extent is Extent.GRID:
                self.line(2, f"const {kind}* {self.pointer(name)} = row.read<{kind}>({place});")
            else:
                value = f"row.value<{kind}>({place})"
                local = self.fresh(name)
                self.rows[tensor] = local
                self.line(2, f"const bool {local} = {value};" if tensor.is_mask else f"const F {local} = F({value});")

    def load(self, node: Tensor, depth: int) -> None:
        name = self.locals_of[node]
        value = f"{self.pointer(name)}[i]"
        self.line(depth, f"const bool {name} = {value};" if node.is_mask else f"const F {name} = F({value});")

    def total(self, kind: str, node: Node, around: str = "{}") -> str:
        return f"ob::row_{kind}<F>(n, {self.function(node, 2, around)})"

    def place(self, node: Reduce) -> str:
        return f"ob::row_find<F>(n, {self.total(node.kind[3:], node.arg)}, {self.function(node.arg, 2)})"

    def scan(self, node: Scan, name: str) -> None:
        self.line(2, f"F* {name} = row.keep<F>({self.kept});")
        self.kept += 1
        walk = "row_scan_back" if node.is_backward else "row_scan"
        self.line(2, f"ob::{walk}<F>(n, {name}, {self.function(node.arg, 2)});")
        self.rows[node] = f"{name}[i]"

    def log_total(self, node: Reduce, name: str) -> None:
        shares = self.shares(node)
        if not shares:
            self.line(2, f"const F {name} = ob::log({self.total('sum', node.arg, 'ob::exp({})')});")
            return
        # Compute the exponentials once, and divide them by their sum where the formula needs the shares.
        kept, sum_name, part = (self.fresh(f"{name}_{what}") for what in ("kept", "sum", "part"))
        self.line(2, f"F* {kept} = row.keep<F>({self.kept});")
        self.kept += 1
        total = self.total("sum", node.arg, f"{kept}[i] = ob::exp({{}})")
        self.line(2, f"const F {sum_name} = {total}, {part} = F(1) / {sum_name};")
        self.line(2, f"[[maybe_unused]] const F {name} = ob::log({sum_name});")
        for share in shares:
            self.rows[share] = f"({kept}[i] * {part})"

    def shares(self, node: Reduce) -> list[Node]:
        """Return each exponential's share of their sum where it is needed: exp(x - log_total(x))."""
        found: list[Node] = []
        for one in self.loops.nodes:
            match one:
                case Apply("exp", (Apply("subtract", (x, logs)),)) if x is node.arg:
                    below = logs.arg if isinstance(logs, Expand) else logs
                    found += [one] if below is node else []
        return found

    def stores(self, elements: list[tuple[Output, str, int]]) -> None:
        for output, name, place in elements:
            kind = self.kind_of(output)
            self.line(2, f"{kind}* {self.pointer(name)} = row.write<{kind}>({place});")
        self.line(2, "ob::parallel_for(n, [=](int64_t i) {")
        named = self.locals(tuple(output.value for output, _, _ in elements), 3)
        for output, name, _ in elements:
            self.line(3, f"{self.pointer(name)}[i] = {self.converted(output, self.kind_of(output), named)};")
        self.line(2, "});")

    def put(self, output: Output, place: int) -> None:
        kind = self.kind_of(output)
        is_row = self.loops.is_row(output.value)
        value = self.converted(output, kind, {}) if is_row else self.total("sum", output.value)
        self.line(2, f"row.put<{kind}>({place}, {value});")

    def function(self, node: Node, depth: int, around: str = "{}") -> str:
        """Return a lambda that computes a value of the element at an index."""
        loads, value = self.computed(node, depth + 1, around)
        if not loads:
            return f"[=](int64_t{' i' if '[i]' in value else ''}) {{ return F({value}); }}"
        if len(loads) == 1 and len(loads[0]) + len(value) < 90:
            return f"[=](int64_t i) {{ {loads[0].strip()} return F({value}); }}"
        lines = [*loads, "  " * (depth + 1) + f"return F({value});"]
        return "[=](int64_t i) {\n" + "\n".join(lines) + "\n" + "  " * depth + "}"
