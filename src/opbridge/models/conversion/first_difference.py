"""Find the first operator of a converted network that differs from PyTorch, and its line.

The source runs line by line next to the PyTorch graph of the same modules. The value of each name is compared with
the result of its node. If all values agree, each line is differentiated by itself, with PyTorch's numbers.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from torch._ops import OpOverload

from opbridge.models.conversion.check_conversion import arrays, loaded_side
from opbridge.models.conversion.comparison import TOLERANCE, Difference
from opbridge.models.conversion.convert_module import Converted, imported
from opbridge.models.conversion.exported_graphs import Exported
from opbridge.models.conversion.frameworks_under_test import Side
from opbridge.models.conversion.graph_replay import Replay
from opbridge.models.conversion.line_by_line import Step, steps_of
from opbridge.models.conversion.line_gradients import gradient_apart, tensors_apart
from opbridge.models.scan.nested_values import tensors


def first_difference(
    made: Converted, folder: Path, args: Sequence[object], kwargs: Mapping[str, object]
) -> Difference | None:
    """Return the first operator that differs; None if each operator agrees by itself."""
    exported = made.package.exported
    side = loaded_side(imported(folder).load(), arrays(args, kwargs))
    source = folder / "network.py"
    steps = list(steps_of(side, made.package.origins, source))
    found: dict[object, list[object]] = defaultdict(list)
    Replay(exported, "", lambda path, node, args, value: found[path, node].append(value)).start(args, kwargs)
    for step in steps:
        values = found[step.path, step.origin.node]
        amount = _apart(side, values.pop(0) if values else None, step.value)
        if amount > TOLERANCE:
            return _told(step, "value", amount, source)
    return _first_gradient(exported, side, steps, source, args, kwargs)


def _apart(side: Side, want: object, have: object) -> float:
    """Return the relative difference of a value from the PyTorch value."""
    wanted = list(tensors(want))
    got = list(have) if isinstance(have, (tuple, list)) else [have]
    if not wanted:
        return 0.0
    if len(wanted) != len(got):
        return float("inf")
    return max(map(lambda one, other: tensors_apart(one, side.array(other)), wanted, got))


def _first_gradient(
    exported: Exported,
    side: Side,
    steps: Sequence[Step],
    source: Path,
    args: Sequence[object],
    kwargs: Mapping[str, object],
) -> Difference | None:
    lines = {node.lineno: node.value for node in ast.walk(_parsed(source)) if isinstance(node, ast.Assign)}
    by_node: dict[object, list[Step]] = defaultdict(list)
    for step in steps:
        by_node[step.path, step.origin.node].append(step)
    found: list[Difference] = []

    def compare(path: str, node: object, given: Any, value: object) -> None:
        left = by_node[path, node]
        step = left.pop(0) if left else None
        if found or step is None or given is None or step.number not in lines:
            return
        amount = gradient_apart(exported, side, step, lines[step.number], given)
        if amount > TOLERANCE:
            found.append(_told(step, "gradient", amount, source))

    Replay(exported, "", compare).start(args, kwargs)
    return found[0] if found else None


def _parsed(source: Path) -> ast.Module:
    return ast.parse(source.read_text(encoding="utf-8"))


def _told(step: Step, what: str, amount: float, source: Path) -> Difference:
    target = step.origin.node.target
    name = target._name if isinstance(target, OpOverload) else str(getattr(target, "__name__", target))
    text = source.read_text(encoding="utf-8").splitlines()[step.number - 1].strip()
    place = f"{source.parent.name}/{source.name}:{step.number}: {text}"
    return Difference(name.removesuffix(".default"), step.path, what, amount, step.origin.line, place)
