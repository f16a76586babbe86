"""The common base of the printers for C++ and its dialects: names, and the text of a node."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Collection, Iterable, Mapping

from opbridge.base.names import is_cpp_name
from opbridge.waist.formulas.functions import CALL, CHOICE, COMPARISON, EXTREMES, FUNCTIONS, SUM
from opbridge.waist.formulas.loops import Loops, Output
from opbridge.waist.formulas.nodes import (
    Apply,
    Count,
    Cut,
    Expand,
    Extent,
    Join,
    Node,
    Number,
    Reduce,
    Scalar,
    Scan,
    Size,
    Squeeze,
    Tensor,
    Text,
    grid_tensors,
    made,
    ordered,
)
from opbridge.waist.formulas.size_text import divisions, names_of, size_text
from opbridge.waist.formulas.summed_lengths import Span
from opbridge.waist.rules.syntax import Int
from opbridge.waist.schema import Schema

TYPES = {"bool": "bool", "float16": "ob::half", "bfloat16": "ob::bfloat16", "float32": "float", "float64": "double"}
ATTRIBUTES = {
    "float": "double",
    "int": "int64_t",
    "SymInt": "int64_t",
    "bool": "bool",
    "SymBool": "bool",
    "str": "ob::String",
    "Scalar": "ob::Scalar",
}
_TAKEN = {"n", "i", "row", "grid", "exchange", "T", "F", "ob", "std", "int64_t", "main"}
MACROS = frozenset(
    {"alloca", "assert", "errno", "issubnormal", "linux", "major", "makedev", "minor", "offsetof", "stderr", "stdin"}
    | {"stdout", "strdupa", "strndupa", "unix"}
)
"""Macros of compilers and C headers that look like plain names."""
_PLAIN = re.compile(r"[a-z]+[0-9]?")
_PLAIN_FUNCTION = re.compile(r"[a-z][a-z0-9_]*")


def function_name(schema: Schema) -> str:
    """Return the operator's name, changed if C++ or the kernel itself uses it."""
    name = schema.name if _PLAIN_FUNCTION.fullmatch(schema.name) else f"{schema.name}_"
    return _free_name(name, _TAKEN | MACROS)


def own_name(name: str) -> str:
    """Return a user's name in a form that neither a macro nor anything else in a kernel has.

    A plain word stays unless a macro has this name. Any other name gets a `_` at its end: no macro ends so, and no name
    of the kernel's own, such as `x_row`.
    """
    if _PLAIN.fullmatch(name) and name not in MACROS and is_cpp_name(name):
        return name
    return f"arg{name}_" if name.startswith("_") else f"{name}_"


def _free_name(name: str, taken: Collection[str]) -> str:
    name = name if is_cpp_name(name) else f"{name}_"
    while name in taken:
        name += "_"
    return name


TOTALS = {"sum": "sum", "mean": "sum", "max": "max", "min": "min", "largest": "max", "any": "max", "all": "min"}
"""For each reduction, the total over a row from which it is computed."""


class FormulaText:
    """The part that every printer shares: names, the host function, and C++ for what is the same for a whole call.

    `includes` are the headers in addition to kernel.h.
    """

    includes: tuple[str, ...]
    numel: str
    n_rows: str
    taken_too: frozenset[str] = frozenset()
    """Additional names that the kernels for one device use."""

    def __init__(self, loops: Loops) -> None:
        self.loops = loops
        self.taken = {*_TAKEN, *self.taken_too}
        self.parameters = {argument.name: self.fresh(own_name(argument.name)) for argument in loops.schema.arguments}
        names = dict.fromkeys(output.name for part in loops.all for output in part.outputs)
        self.outputs = {name: self.fresh(own_name(name)) for name in names}
        self.preferred = {node: own_name(name) for name, node in loops.names}
        self.lines: list[str] = []
        self.rows: dict[Node, str] = {}
        """The names of the values computed once per row."""
        self.own_names: set[str] = set()
        self.start(loops)

    def start(self, loops: Loops) -> None:
        """Start printing the next of the kernel's loops."""
        self.loops = loops
        self.rows.clear()
        self.taken -= self.own_names
        self.places = {tensor: place for place, tensor in enumerate(loops.tensors)}
        shared = {name for name, times in Counter(tensor.name for tensor in loops.tensors).items() if times > 1}
        self.locals_of = {
            tensor: self.fresh(f"{own_name(tensor.name)}_{place}")
            if tensor.name in shared
            else self.parameters[tensor.name]
            for place, tensor in enumerate(loops.tensors)
        }
        of_outputs = Counter(output.name for output in loops.outputs)
        self.results = [
            self.fresh(f"{own_name(output.name)}_{place}") if of_outputs[output.name] > 1 else self.outputs[output.name]
            for place, output in enumerate(loops.outputs)
        ]
        self.own_names = {*self.locals_of.values(), *self.results} - {*self.parameters.values(), *self.outputs.values()}

    @property
    def heading(self) -> str:
        """The comment and the includes at the start of the source."""
        loops = self.loops
        comment = "\n".join(f"//   {line.strip()}" for line in loops.comment.splitlines() if line.strip())
        first = ("opbridge/uncontracted.h",) if self.looks_for_extremes else ()
        includes = "\n".join(f"#include <{header}>" for header in (*first, *self.includes, "opbridge/kernel.h"))
        return f"// {loops.schema}\n{comment}\n{includes}\n\n#include <cmath>\n\n"

    @property
    def looks_for_extremes(self) -> bool:
        """Whether values are computed twice and compared: once to find the largest, and once to find where it is."""
        reductions = (node for part in self.loops.all for node in part.reductions)
        return any(node.kind in EXTREMES for node in reductions)

    @property
    def kernel(self) -> str:
        """The OB_KERNEL line."""
        return f"OB_KERNEL({function_name(self.loops.schema)}, float, double, ob::half, ob::bfloat16)\n"

    def fresh(self, name: str) -> str:
        """Return an unused name like this one, and mark it as used."""
        name = _free_name(name, self.taken)
        self.taken.add(name)
        return name

    def name_of(self, node: Node, otherwise: str) -> str:
        """Return an unused name for a node: the name that the author gave it, or else this one."""
        return self.fresh(self.preferred.get(node, otherwise))

    def signature(self) -> list[str]:
        """Return the parameters of the kernel."""
        masks = {node.name for part in self.loops.all for node in (*part.tensors, *part.shapes) if node.is_mask}
        values = {output.name: output for part in self.loops.all for output in part.outputs}
        nodes = [node for part in self.loops.all for node in part.nodes]
        shapes = [node for part in self.loops.all for node in part.shapes]
        used = {node.name for node in (*nodes, *shapes) if isinstance(node, (Tensor, Scalar, Text))}
        used |= names_of([*nodes, *shapes, *(output for part in self.loops.all for output in part.outputs)])
        found = []
        for argument in self.loops.schema.arguments:
            # A gradient needs only the shape of some tensors; these parameters have no name.
            name = f" {self.parameters[argument.name]}" if argument.name in used else ""
            if argument.is_tensor:
                found.append(f"ob::In<{'bool' if argument.name in masks else 'T'}, ob::strided>{name}")
            else:
                found.append(f"{ATTRIBUTES[str(argument.type)]}{name}")
        return [*found, *(f"ob::Out<{self.type_of(values[name])}> {own}" for name, own in self.outputs.items())]

    def checks(self) -> list[str]:
        """Return the lines that check assumed sizes, and that clear outputs to which several loops add."""
        found = [
            f"ob::check_divides({size_text(whole, self.parameters)}, {divisor});"
            for whole, divisor in divisions(self.loops.cuts)
        ]
        found += [self.span(span) for span in self.loops.spans]
        summed = {
            output.name: output for part in self.loops.all for output in part.outputs if output.is_sum and output.cuts
        }
        for name, output in summed.items():
            axes = ", ".join(str(cut.axis) for cut in output.cuts)
            found.append(f"ob::clear_shared({self.outputs[name]}, {{{axes}}});")
        return found

    def span(self, span: Span) -> str:
        """Return the line that checks one requirement on sizes."""
        axes = "ob::Axes::all()" if span.axes is None else f"{{{', '.join(map(str, span.axes))}}}"
        tensors, everything = (
            ", ".join(f"&{self.parameters[name]}" for name in names)
            for names in (span.tensors, grid_tensors(output.value for output in self.loops.outputs))
        )
        return f"ob::check_spans({axes}, {{{tensors}}}, {{{everything}}});"

    def type_of(self, output: Output) -> str:
        """Return the element type of an output in C++."""
        return TYPES.get(dtype_of(output.value) or "", "int64_t" if is_index(output.value) else "T")

    def use(self, verb: str, name: str, extent: Extent) -> str:
        """Return how a grid uses a tensor."""
        return f"ob::{verb}({name}{', true' if extent is Extent.DROPPED else ''})"

    def grid(self) -> str:
        """Return the arguments of a grid."""

        def reads(tensors: Iterable[Tensor]) -> list[str]:
            return [
                _cut(self.use("reads", self.parameters[tensor.name], tensor.form.extent), tensor.cuts, self.parameters)
                for tensor in tensors
            ]

        uses = reads(self.loops.tensors)
        uses += [
            _cut(
                self.use("sums" if output.is_sum else "writes", self.outputs[output.name], output.form.extent),
                output.cuts,
                self.parameters,
            )
            for output in self.loops.outputs
        ]
        uses += reads(self.loops.shapes)
        axes = self.loops.axes
        spelled = "ob::Axes::all()" if axes is None else f"{{{', '.join(map(str, axes))}}}"
        separator = ",\n      " if sum(map(len, uses)) > 90 else ", "
        return f"{spelled}, {{{separator.join(uses)}}}"

    def needs(self) -> list[str]:
        """Return the conditions that a grid's size must meet."""
        found = next((node.kind for node in self.loops.reductions if node.kind in EXTREMES), None)
        return [f'grid.needs_elements("{found}");'] if found else []

    def count(self, node: Count) -> str:
        """Return C++ for a number of elements."""
        if node.axes == self.loops.axes:
            return "F(n)"
        return self.numel if node.of.extent is Extent.GRID else self.n_rows

    def sizes(self) -> list[tuple[str, str]]:
        """Return the names and texts of the sizes used as numbers; from here on, the names replace them."""
        found = []
        for node in self.loops.nodes:
            if isinstance(node, Size):
                name = self.name_of(node, "size")
                found.append((name, size_text(node.size, self.parameters)))
                self.rows[node] = f"F({name})"
        return found

    def line(self, depth: int, text: str) -> None:
        """Append a line with this indentation depth."""
        self.lines.append("  " * depth + text)

    def reached(self, roots: tuple[Node, ...]) -> Iterable[Node]:
        """Return the nodes that are computed again for each element, without those below values of the row."""
        found: dict[Node, None] = {}

        def visit(node: Node) -> None:
            if node in found or node in self.rows:
                return
            for child in node.inputs:
                visit(child)
            found[node] = None

        for root in roots:
            visit(root)
        return found

    def scans(self, roots: tuple[Node, ...]) -> list[Scan]:
        """Return the scans that an element's value uses."""
        used = dict.fromkeys([*roots, *(part for node in self.reached(roots) for part in node.inputs)])
        return [node for node in used if isinstance(node, Scan)]

    def text(self, node: Node, named: dict[Node, str]) -> tuple[str, int]:
        """Return C++ for a node, and its precedence."""
        name = named.get(node) or self.rows.get(node)
        if name is not None:
            return name, CALL
        match node:
            case Number(bool() as value):
                return str(value).lower(), CALL
            case Number(value):
                # No integer of C++ is as large as those of Python.
                return f"F({value if abs(value) < 2**53 else float(value)!r})", CALL
            case Scalar(name, "Scalar"):
                return f"{self.parameters[name]}.to<F>()", CALL
            case Scalar(name):
                own = self.parameters[name]
                return (own if node.is_truth else f"F({own})"), CALL
            case Text(name, value):
                return f'{self.parameters[name]} == "{value}"', COMPARISON
            case Size(size):
                return f"F({size_text(size, self.parameters)})", CALL
            case Expand(arg) | Squeeze(arg):
                return self.text(arg, named)
            case Count():
                return self.count(node), CALL
            case Apply():
                return self.applied(node, named)
        raise TypeError(f"{type(node).__name__} has no C++")

    def applied(self, node: Apply, named: dict[Node, str]) -> tuple[str, int]:
        """Return C++ for an elementwise function, and its precedence."""
        if node.function == "astype":
            value = self.text(node.args[0], named)[0]
            return f"F({TYPES[node.dtype]}({value}))", CALL
        function = FUNCTIONS[node.function]
        args = [self.text(arg, named) for arg in node.args]
        if not function.takes_truth and node.function != "where":
            args = [
                (f"F({text})", CALL) if arg.is_truth else (text, level)
                for arg, (text, level) in zip(node.args, args, strict=True)
            ]
        if node.function == "where" and not node.is_truth:
            args[1:] = [
                (f"F({text})", CALL) if arg.is_truth else (text, level)
                for arg, (text, level) in zip(node.args[1:], args[1:], strict=True)
            ]
        return function.cpp.format(*_wrapped(args, node.function)), function.level


class Printer(FormulaText, ABC):
    """Print the loops of one formula for languages in which an element's value is a C++ expression."""

    def __init__(self, loops: Loops) -> None:
        super().__init__(loops)
        self.rows_of: dict[str, str] = {}

    def pointer(self, name: str) -> str:
        """Return the name of a row's elements."""
        if name not in self.rows_of:
            self.rows_of[name] = self.fresh(f"{name.rstrip('_')}_row")
        return self.rows_of[name]

    def body(self) -> None:
        """Write the lines for one row."""
        self.line(2, "const int64_t n = row.size();")
        self.pointers()
        for step in self.loops.steps:
            self.step(step)
        self.row_values(tuple(output.value for output in self.loops.outputs))
        outputs = list(zip(self.loops.outputs, self.results, range(len(self.places), 99), strict=False))
        elements = [item for item in outputs if item[0].form.extent is Extent.GRID]
        if elements:
            self.stores(elements)
        for output, _, place in outputs:
            if output.form.extent is not Extent.GRID:
                self.put(output, place)

    def kind_of(self, output: Output) -> str:
        """Return the type in which a body computes an output."""
        return "F" if output.is_sum else self.type_of(output)

    def step(self, node: Reduce | Scan) -> None:
        """Write a walk over the row."""
        if isinstance(node, Scan):
            self.row_values((node.arg,))
            self.scan(node, self.name_of(node, "rest" if node.is_backward else "total"))
        else:
            self.reduction(node)

    def reduction(self, node: Reduce) -> None:
        """Write a reduction, and record its name."""
        self.row_values((node.arg,))
        name = self.name_of(node, node.kind)
        if node.kind in TOTALS:
            total = self.total(TOTALS[node.kind], node.arg)
            self.line(2, f"const F {name} = {total}{' / F(n)' if node.kind == 'mean' else ''};")
        elif node.kind == "shift":
            self.line(2, f"F {name} = {self.total('max', node.arg)};")
            self.line(2, f"if (std::isinf({name})) {name} = F(0);  // else infinity minus infinity")
        elif node.kind in ("argmax", "argmin"):
            self.line(2, f"const int64_t {name} = {self.place(node)};")
        elif node.kind == "var":
            mean = self.mean(node, name)
            square = self.total("sum", node.arg, f"({{}} - {mean}) * ({{}} - {mean})")
            degrees = f"ob::maximum(F(n) - F({node.correction!r}), F(0))" if node.correction else "F(n)"
            self.line(2, f"const F {name} = {square} / {degrees};")
        else:
            self.log_total(node, name)
        self.rows[node] = name

    def mean(self, node: Reduce, name: str) -> str:
        """Return the name of the mean, after writing it if it is not known yet."""
        known = (made(Reduce, "mean", node.arg, node.axes, keeps, 0) for keeps in (True, False))
        found = next((self.rows[mean] for mean in known if mean in self.rows), None)
        if found is None:
            found = self.fresh(f"{name}_mean")
            self.line(2, f"const F {found} = {self.total('sum', node.arg)} / F(n);")
        return found

    @abstractmethod
    def pointers(self) -> None:
        """Write the pointers to the tensors' rows."""

    @abstractmethod
    def total(self, kind: str, node: Node, around: str = "{}") -> str:
        """Return the reduction of a row's elements; `around` transforms each element first."""

    @abstractmethod
    def place(self, node: Reduce) -> str:
        """Return the index that an argmax or argmin finds."""

    @abstractmethod
    def scan(self, node: Scan, name: str) -> None:
        """Write a scan, and record in `rows` the name of its value for an element."""

    @abstractmethod
    def log_total(self, node: Reduce, name: str) -> None:
        """Return the logarithm of a sum of exponentials."""

    @abstractmethod
    def stores(self, elements: list[tuple[Output, str, int]]) -> None:
        """Write the outputs that have a value for each element: the output, its name, and its place in the grid."""

    @abstractmethod
    def put(self, output: Output, place: int) -> None:
        """Write an output that has one value per row."""

    def converted(self, output: Output, kind: str, named: dict[Node, str]) -> str:
        """Return an output's value in the given type."""
        text = self.text(output.value, named)[0]
        if kind == "F" and not output.value.is_truth:
            return text
        return text if kind in ("bool", "int64_t") else f"{kind}({text})"

    def locals(self, roots: tuple[Node, ...], depth: int) -> dict[Node, str]:
        """Write local variables for the values of one element that are used more than once, and return all names."""
        nodes = [node for node in self.reached(roots) if node not in self.rows]
        uses = Counter(child for node in nodes for child in node.inputs) + Counter(roots)
        named: dict[Node, str] = {}
        for node in nodes:
            if isinstance(node, Tensor):
                named[node] = self.locals_of[node]
                self.load(node, depth)
            elif (
                isinstance(node, Apply) and not self.loops.is_call(node) and (uses[node] > 1 or node in self.preferred)
            ):
                text = self.text(node, named)[0]
                named[node] = self.fresh(self.preferred.get(node, node.function))
                self.line(depth, f"const {'bool' if node.is_truth else 'F'} {named[node]} = {text};")
        self.taken -= {name for node, name in named.items() if not isinstance(node, Tensor)}
        return named

    def load(self, node: Tensor, depth: int) -> None:
        """Write the load of a tensor's element into a variable with the tensor's name."""

    def computed(self, node: Node, depth: int, around: str) -> tuple[list[str], str]:
        """Return a value of one element: the lines before it, and its text."""
        before, self.lines = self.lines, []
        text, level = self.text(node, self.locals((node,), depth))
        lines, self.lines = self.lines, before
        if around.count("{}") > 1 and level < CALL:
            name = self.fresh("value")
            lines.append("  " * depth + f"const F {name} = {text};")
            self.taken.discard(name)
            text = name
        return lines, around.replace("{}", text)

    def row_values(self, roots: tuple[Node, ...]) -> None:
        """Name the values that are the same for a whole row."""
        for node in ordered(roots):
            if node in self.rows or self.loops.is_call(node) or not self.loops.is_row(node):
                continue
            if isinstance(node, (Reduce, Tensor)) or any(_pending(part, self.rows) for part in node.inputs):
                continue
            if isinstance(node, (Expand, Squeeze)):
                self.rows[node] = self.rows.get(node.arg) or self.text(node.arg, {})[0]
            elif isinstance(node, Count):
                self.rows[node] = self.count(node)
            else:
                name = self.name_of(node, node.function if isinstance(node, Apply) else "value")
                self.line(2, f"const {'bool' if node.is_truth else 'F'} {name} = {self.text(node, {})[0]};")
                self.rows[node] = name


def _wrapped(args: list[tuple[str, int]], name: str) -> list[str]:
    """Return the operands, in parentheses if their precedence is too low for their place."""
    function = FUNCTIONS[name]
    if function.level == CALL:
        return [text for text, _ in args]
    needed = [function.level] * len(args)
    if name in ("add", "subtract", "multiply", "divide", "reciprocal"):
        # C++ goes from the left, and sums and products are rounded.
        needed[-1] += 1
    if function.level in (CHOICE, COMPARISON):
        needed = [SUM] * len(args)
    if name == "square":
        needed = [CALL]
    if name in ("negative", "logical_not"):
        needed = [CALL]
    return [text if level >= wanted else f"({text})" for (text, level), wanted in zip(args, needed, strict=True)]


def _cut(use: str, cuts: tuple[Cut, ...], parameters: Mapping[str, str]) -> str:
    for cut in cuts:
        places = (cut.start, cut.count, Int(cut.step), cut.whole)
        use = f"ob::cut({use}, {{{cut.axis}, {', '.join(size_text(place, parameters) for place in places)}}})"
    return use


def _pending(node: Node, rows: dict[Node, str]) -> bool:
    return isinstance(node, Reduce) and node not in rows


def dtype_of(node: Node) -> str | None:
    """Return the element type of an output; None if it is that of the tensors."""
    if isinstance(node, Join):
        return dtype_of(node.parts[0])
    if node.is_truth:
        return "bool"
    return node.dtype if isinstance(node, Apply) and node.function == "astype" else None


def is_index(node: Node) -> bool:
    """Return whether a node is the index from an argmax or argmin."""
    return isinstance(node, Reduce) and node.kind in ("argmax", "argmin")
