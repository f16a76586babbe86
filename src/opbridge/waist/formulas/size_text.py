"""Print the sizes in a call as C++."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from opbridge.waist.formulas.nodes import Cut, Size
from opbridge.waist.formulas.sizes import divided
from opbridge.waist.rules.syntax import Attribute, Binary, Call, Expr, Index, Int, Name, Unary


def size_text(size: Expr, parameters: Mapping[str, str]) -> str:
    """Return C++ for a size."""
    match size:
        case Int(value):
            return str(value)
        case Name(id):
            return parameters[id]
        case Unary("-", operand):
            return f"-{size_text(operand, parameters)}"
        case Index(Attribute(Name(id), "shape"), (axis,)):
            return f"{parameters[id]}.size({axis})"
        case Index(Call("broadcast", args), (axis,)):
            views = ", ".join(f"&{parameters[str(arg)]}" for arg in args)
            return f"ob::broadcast_size({axis}, {{{views}}})"
        case Binary(op, left, right):
            texts = [size_text(left, parameters), size_text(right, parameters)]
            if isinstance(right, Binary):
                texts[1] = f"({texts[1]})"
            if op in ("*", "//") and isinstance(left, Binary):
                texts[0] = f"({texts[0]})"
            return f" {op.replace('//', '/')} ".join(texts)
    raise TypeError(f"{size} is not a size")


def divisions(cuts: Iterable[Cut]) -> Iterator[tuple[Expr, int]]:
    """Return the sizes that must be divisible for these cuts, each once with its divisor."""
    sizes = (size for cut in cuts for size in (cut.start, cut.count, cut.whole))
    return iter(dict.fromkeys(division for size in sizes for division in divided(size)))


def names_of(found: Iterable[object]) -> set[str]:
    """Return the arguments on which the sizes in these nodes and outputs depend."""
    items = list(found)
    cuts = [cut for item in items for cut in getattr(item, "cuts", ())]
    sizes = [size for cut in cuts for size in (cut.start, cut.count, cut.whole)]
    sizes += [item.size for item in items if isinstance(item, Size)]
    return {node.id for size in sizes for node in size.walk() if isinstance(node, Name)}
