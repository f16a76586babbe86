"""Print loops as Ascend C with kernel.h and npu_grid.h: a kernel over rows with vector instructions, and its host.

The host computes what is the same for a whole call, and passes it to the kernel as numbers.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import combinations
from textwrap import fill

from opbridge.base.errors import RuleError
from opbridge.waist.formulas.ascend_code import VectorCode
from opbridge.waist.formulas.ascend_functions import ASCEND, REFUSED, Instructions
from opbridge.waist.formulas.functions import FUNCTIONS
from opbridge.waist.formulas.loops import Loops, Output
from opbridge.waist.formulas.nodes import (
    Apply,
    Count,
    Expand,
    Extent,
    Node,
    Number,
    Reduce,
    Scalar,
    Scan,
    Squeeze,
    Tensor,
    made,
    ordered,
)
from opbridge.waist.formulas.printer import TOTALS, FormulaText, dtype_of, function_name

_ELEMENTS = {"float16": "half", "bfloat16": "bfloat16_t", "float32": "float"}
_JOINED = {"sum": "Add", "max": "Max", "min": "Min"}
_STARTS = {"sum": "0.0f", "max": "-INFINITY", "min": "INFINITY"}
_INSTRUCTIONS = frozenset(name for form in ASCEND.values() for name in re.findall(r"\b[A-Z]\w+", form.text))

_WIDTH = 120
_UNBROKEN = "\N{NO-BREAK SPACE}"

Operand = tuple[str, str]
"""The kind of an operand, a vector (`v`), a mask (`m`), a number (`s`) or a condition (`t`), and its text."""


def ascend_source(loops: Loops) -> str:
    """Return the source of one kernel, for float, half and bfloat16."""
    return _AscendPrinter(loops).source()


def ascend_refusal(loops: Loops) -> RuleError | None:
    """Return the reason why the vector unit cannot compute the formula; None if it can."""
    for node in loops.nodes:
        name = node.function if isinstance(node, Apply) else node.kind if isinstance(node, Reduce) else ""
        if name in REFUSED:
            return _refused(loops, name)
    if any(dtype_of(output.value) == "float64" for output in loops.outputs):
        return _refused(loops, "float64")
    if loops.cuts or loops.others:
        return _refused(loops, "slices")
    return None


def _refused(loops: Loops, name: str) -> RuleError:
    return RuleError(
        f"{loops.schema.full_name} becomes no kernel for an NPU: {REFUSED[name]}, and the formula has {name}",
        hint="do without it, or write a kernel and name it: kernels: {npu: FILE.cpp}",
    )


class _AscendPrinter(FormulaText):
    includes = ("opbridge/npu_grid.h",)
    numel = "F(grid.numel())"
    n_rows = "F(grid.rows())"
    taken_too = frozenset({"w", "rows", "view", "workspace", "U", "AscendC", "INFINITY"}) | _INSTRUCTIONS

    def __init__(self, loops: Loops) -> None:
        super().__init__(loops)
        self.code = VectorCode()
        self.numbers: dict[str, tuple[str, str, str]] = {}
        """The numbers that the host passes, by their text there: type, name and text."""
        self.inputs: dict[Node, str] = {}
        self.has_functions = False
        self.sums: dict[Node, int] = {}
        """The index of each scan, whose sums are kept for every element."""
        self.everywhere: set[str] = set()
        """The row values that have been copied to every lane."""

    def source(self) -> str:
        name = function_name(self.loops.schema)
        kernel, context = self.fresh(f"{name}_rows"), self.fresh("context")
        self.body()
        text, buffers = self.code.settled(self.taken)
        tensors = [*(self.parameters[tensor.name] for tensor in self.places), *self.results]
        tensors += [self.parameters[tensor.name] for tensor in self.loops.shapes]
        data = [self.fresh(f"{tensor}_data") for tensor in tensors]
        size, vectors, masks = len(tensors), len(buffers["v"]), len(buffers["m"])
        given = [f"{kind} {own}" for kind, own, _ in self.numbers.values()]
        parameters = [*(f"GM_ADDR {one}" for one in data), "GM_ADDR workspace", f"ob::npu::View<{size}> view", *given]
        passed = [f"(GM_ADDR)ob::launch::address({tensor})" for tensor in tensors]
        passed += [f"grid.workspace({context})", "grid.view()", *(value for _, _, value in self.numbers.values())]
        scans = f", {len(self.sums)}" if self.sums else ""
        needs = f"{{{vectors}, {masks}, {str(self.has_functions).lower()}{scans}}}"
        return (
            self.heading
            + "template <class T>\n"
            + _listed(f"__global__ __aicore__ void {kernel}(", parameters, ") {")
            + "  using namespace AscendC;\n"
            + f"  ob::npu::Rows<{size}, {vectors}, {masks}{scans}> rows(view, workspace, {{{', '.join(data)}}});\n"
            + _declared("vector", buffers["v"])
            + _declared("mask", buffers["m"])
            + "  for (; rows.is_left(); rows.next()) {\n"
            + text
            + "\n  }\n"
            + self.finished()
            + "}\n\n"
            + "template <class T>\n"
            + _listed(f"void {name}(", [*self.signature(), f"ob::Context {context}"], ") {")
            + "  using F = float;\n" * any("F(" in value for value in passed)
            + "  ob::check_npu_type<T>();\n"
            + "".join(f"  {line}\n" for line in self.checks())
            + f"  const ob::NpuGrid<{size}> grid({self.grid()}, {needs});\n"
            + "".join(f"  {need}\n" for need in self.needs())
            + "  if (!grid.has_work()) return;\n"
            + "  using U = ob::npu::Element<T>;\n"
            + _listed(f"  {kernel}<U><<<grid.blocks(), nullptr, {context}.stream()>>>(", passed, ");")
            + "}\n"
            + self.kernel
        )

    def finished(self) -> str:
        return "".join(
            f"  rows.finish<{self.element(output)}>({place});\n"
            for place, output in enumerate(self.loops.outputs, len(self.places))
            if output.is_sum
        )

    def element(self, output: Output) -> str:
        return _ELEMENTS.get(dtype_of(output.value) or "", "T")

    def body(self) -> None:
        """Write the lines for one row."""
        for step in self.loops.steps:
            self.scan(step) if isinstance(step, Scan) else self.reduction(step)
        outputs = list(enumerate(self.loops.outputs, len(self.places)))
        elements = [(place, output) for place, output in outputs if output.form.extent is Extent.GRID]
        if elements:
            self.stores(elements)
        for place, output in outputs:
            if output.form.extent is not Extent.GRID:
                self.put(place, output)
        if any(re.search(r"\bw\b", line) for line in self.code.lines):
            self.code.lines.insert(0, "    const uint32_t w = rows.width();")
            self.code.loops = [(begin + 1, end + 1) for begin, end in self.code.loops]

    def stores(self, outputs: list[tuple[int, Output]]) -> None:
        self.prepare(tuple(output.value for _, output in outputs))
        begin = self.code.begin_steps()
        named: dict[Node, str] = {}
        for place, output in outputs:
            self.elements((output.value,), named)
            kind, value = self.settled(self.operand(output.value, named), "n")
            if kind == "m":
                self.code.line(f"rows.write({place}, {value});")
            else:
                self.code.line(f"rows.{'add' if output.is_sum else 'write'}<{self.element(output)}>({place}, {value});")
        self.code.end_steps(begin)

    def put(self, place: int, output: Output) -> None:
        if self.loops.is_row(output.value):
            self.row_values((output.value,))
            kind, value = self.settled(self.operand(output.value, {}), "w")
        else:
            kind, value = "v", self.total("sum", output.value)
        if kind == "m":
            self.code.line(f"rows.put({place}, {value});")
        else:
            self.code.line(f"rows.{'put_sum' if output.is_sum else 'put'}<{self.element(output)}>({place}, {value});")

    def reduction(self, node: Reduce) -> None:
        self.code.line(f"// {self.preferred.get(node, node.kind)}")
        match node.kind:
            case "mean":
                self.rows[node] = self.mean(node)
            case "var":
                self.rows[node] = self.variance(node)
            case "shift":
                self.rows[node] = most = self.total("max", node.arg)
                spare = self.code.new("v"), self.code.new("m")
                self.code.line(f"ob::npu::without_infinity({most}, {spare[0]}, {spare[1]}, w);")
            case "log_total":
                self.rows[node] = self.log_total(node)
            case kind:
                self.rows[node] = self.total(TOTALS[kind], node.arg)

    def scan(self, node: Scan) -> None:
        name = self.name_of(node, "rest" if node.is_backward else "total")
        self.code.line(f"// {name}")
        sums = self.code.keep("v", name)
        self.prepare((node.arg,))
        begin = self.code.begin_steps(node.is_backward)
        named: dict[Node, str] = {}
        self.elements((node.arg,), named)
        value = self.settled(self.as_number(self.operand(node.arg, named), "n"), "n")[1]
        place = len(self.sums)
        self.code.line(f"rows.{'scan_back' if node.is_backward else 'scan'}({place}, {sums}, {value});")
        self.code.end_steps(begin)
        self.sums[node] = place
        self.rows[node] = sums

    def mean(self, node: Reduce) -> str:
        known = (made(Reduce, "mean", node.arg, node.axes, keeps, 0) for keeps in (True, False))
        found = next((self.rows[mean] for mean in known if mean in self.rows), None)
        return found or self.divided(self.total("sum", node.arg), "F(grid.length())")

    def divided(self, total: str, by: str) -> str:
        share = self.passed(f"F(1) / {by}", "float", "share")
        self.code.line(f"Muls({total}, {total}, {share}, w);")
        return total

    def variance(self, node: Reduce) -> str:
        mean = self.mean(node)
        self.spread(mean)
        total = self.total(
            "sum", node.arg, lambda to, value: f"Sub({to}, {value}, {mean}, n);\nMul({to}, {to}, {to}, n);"
        )
        return self.divided(
            total,
            f"ob::maximum(F(grid.length()) - F({node.correction!r}), F(0))" if node.correction else "F(grid.length())",
        )

    def log_total(self, node: Reduce) -> str:
        """Return the logarithm of a sum of exponentials."""
        total = self.total("sum", node.arg, lambda to, value: f"Exp({to}, {value}, n);")
        result = self.code.new("v")
        self.code.line(f"Ln({result}, {total}, w);")
        return result

    def total(self, kind: str, node: Node, around: Callable[[str, str], str] | None = None) -> str:
        """Write the reduction of a row's elements, and return its name; `around` transforms each element first."""
        self.prepare((node,))
        total = self.code.new("v")
        self.code.line(f"rows.start({total}, {_STARTS[kind]});")
        begin = self.code.begin_steps()
        named: dict[Node, str] = {}
        self.elements((node,), named)
        _, value = self.settled(self.operand(node, named), "n")
        if around is not None:
            changed = self.code.new("v")
            self.code.line(around(changed, value))
            value = changed
        self.code.line(f"{_JOINED[kind]}({total}, {total}, {value}, n);")
        self.code.end_steps(begin)
        self.code.line(f"rows.{kind}({total});")
        return total

    def prepare(self, roots: tuple[Node, ...]) -> None:
        """Copy the row values that the elements need to every lane."""
        self.row_values(roots)
        nodes = [node for node in self.reached(roots) if node not in self.rows]
        used = {part for node in nodes for part in node.inputs if part in self.rows}
        once = [node for node in (*roots, *nodes, *used) if node in self.rows and node not in self.sums]
        for value in dict.fromkeys(self.rows[node] for node in once):
            self.spread(value)

    def spread(self, value: str) -> None:
        if value not in self.everywhere:
            self.everywhere.add(value)
            self.code.line(f"rows.spread({value});")

    def row_values(self, roots: tuple[Node, ...]) -> None:
        """Compute the values that exist once per row."""
        for node in ordered(roots):
            if node in self.rows or node.form.extent in (Extent.CALL, Extent.GRID) or isinstance(node, Reduce):
                continue
            if isinstance(node, Tensor):
                self.rows[node] = self.read(node, "read_row")
            elif all(part in self.rows or part.form.extent is Extent.CALL for part in node.inputs):
                made_of = node.arg if isinstance(node, (Expand, Squeeze)) else None
                self.rows[node] = self.rows[made_of] if made_of else self.computed(node, {}, "w")

    def elements(self, roots: tuple[Node, ...], named: dict[Node, str]) -> None:
        """Compute the values of each lane in one step."""
        for scan in self.scans(roots):
            if scan not in named:
                named[scan] = self.rows[scan]
                self.code.line(f"rows.read_sums({self.sums[scan]}, {named[scan]});")
        for node in self.reached(roots):
            if node in named or node.form.extent is not Extent.GRID:
                continue
            named[node] = self.read(node, "read") if isinstance(node, Tensor) else self.computed(node, named, "n")

    def read(self, node: Tensor, verb: str) -> str:
        if node not in self.inputs:
            self.inputs[node] = self.code.keep("m" if node.is_mask else "v", self.parameters[node.name])
        kind = "_mask" if node.is_mask else "<T>"
        self.code.line(f"rows.{verb}{kind}({self.places[node]}, {self.inputs[node]});")
        return self.inputs[node]

    def operand(self, node: Node, named: dict[Node, str]) -> Operand:
        found = named.get(node) or self.rows.get(node)
        if found is not None:
            return ("m" if node.is_truth else "v"), found
        if isinstance(node, Number) and not node.is_truth:
            return "s", f"{float(node.value)!r}f"
        text, _ = self.text(node, {})
        if text not in self.numbers and isinstance(node, Scalar):
            self.numbers[text] = ("bool" if node.is_truth else "float", self.parameters[node.name], text)
        kind = "bool" if node.is_truth else "float"
        return ("t" if node.is_truth else "s"), self.passed(text, kind, self.preferred.get(node, "given"))

    def count(self, node: Count) -> str:
        return "F(grid.length())" if node.axes == self.loops.axes else super().count(node)

    def passed(self, text: str, kind: str, name: str) -> str:
        """Return the kernel's name for a number that the host computes."""
        if text not in self.numbers:
            self.numbers[text] = (kind, self.fresh(name), text)
        return self.numbers[text][1]

    def settled(self, operand: Operand, n: str) -> Operand:
        """Return the operand as a vector or a mask."""
        kind, text = operand
        if kind in "vm":
            return operand
        to = self.code.new("v" if kind == "s" else "m")
        self.code.line(f"Duplicate({to}, {text}, {n});" if kind == "s" else f"ob::npu::all_of({to}, {text}, {n});")
        return ("v" if kind == "s" else "m"), to

    def as_number(self, operand: Operand, n: str) -> Operand:
        kind, text = operand
        if kind == "t":
            return "s", f"({text} ? 1.0f : 0.0f)"
        if kind != "m":
            return operand
        to = self.code.new("v")
        self.code.line(f"ob::npu::to_numbers({to}, {text}, {n});")
        return "v", to

    def computed(self, node: Node, named: dict[Node, str], n: str) -> str:
        assert isinstance(node, Apply)
        args = [self.operand(arg, named) for arg in node.args]
        if node.function == "astype":
            return self.cast(node, self.settled(args[0], n)[1], n)
        if not FUNCTIONS[node.function].takes_truth and not node.is_truth | (node.function != "where"):
            args[1:] = [self.as_number(arg, n) for arg in args[1:]]
        elif not FUNCTIONS[node.function].takes_truth and node.function != "where":
            args = [self.as_number(arg, n) for arg in args]
        form, args = self.form(node.function, args, n)
        self.has_functions = self.has_functions or form.is_library
        to = self.code.new("m" if node.is_truth else "v")
        words = {name: self.code.new("v" if name in "ab" else "m") for name in form.temporaries}
        comment = f"  // {self.preferred[node]}" if node in self.preferred else ""
        self.code.line(form.text.format(*(text for _, text in args), to=to, n=n, **words) + comment)
        return to

    def form(self, function: str, args: list[Operand], n: str) -> tuple[Instructions, list[Operand]]:
        """Return the instructions for these operands, after turning as few numbers as possible into vectors."""
        numbers = [place for place, (kind, _) in enumerate(args) if kind in "st"]
        for count in range(len(numbers) + 1):
            for chosen in combinations(numbers, count):
                kinds = [("v" if kind == "s" else "m") if at in chosen else kind for at, (kind, _) in enumerate(args)]
                form = ASCEND.get((function, "".join(kinds)))
                if form is not None:
                    return form, [self.settled(arg, n) if at in chosen else arg for at, arg in enumerate(args)]
        raise TypeError(f"{function} has no instructions")

    def cast(self, node: Apply, value: str, n: str) -> str:
        element = _ELEMENTS.get(node.dtype, "float")
        if element == "float":
            return value
        to = self.code.new("v")
        self.code.line(f"ob::npu::rounded<{element}>({to}, {value}, {self.code.new('v')}, {n});")
        return to


def _declared(kind: str, names: list[str]) -> str:
    found = [f"{name} = rows.{kind}({place})" for place, name in enumerate(names)]
    return _listed("  const auto ", found, ";") if names else ""


def _listed(head: str, items: list[str], tail: str) -> str:
    """Return the items on one line, or on as many as needed."""
    indent = len(head) - len(head.lstrip()) + 4
    head, *items = (item.replace(" ", _UNBROKEN) for item in (head, *items))
    text = fill(f"{head}{', '.join(items)}{tail}", _WIDTH, subsequent_indent=" " * indent, break_long_words=False)
    return text.replace(_UNBROKEN, " ") + "\n"
