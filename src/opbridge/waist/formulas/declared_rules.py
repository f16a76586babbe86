"""Compare the rules that an author wrote for an operator with those that follow from its formula."""

from __future__ import annotations

import math
import random
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from opbridge.base.errors import Location, RuleError
from opbridge.waist.formulas.generated_kernels import Generated, stored_form
from opbridge.waist.formulas.gradients import gradients
from opbridge.waist.formulas.loops import Loops
from opbridge.waist.formulas.nodes import GRID, Extent, Form, Node, Scalar, Tensor, made, ordered
from opbridge.waist.formulas.number_evaluation import NoNumber, Row, row_of
from opbridge.waist.formulas.parser import Program, read_formula, read_value
from opbridge.waist.rules import FromKernel, Rules, evaluate_out
from opbridge.waist.schema import Schema

_SIZES = (5, 2, 3, 4)
_POINTS = 3
_PLAIN: Mapping[str, object] = {"bool": True, "SymBool": True, "str": "", "float": 1.5, "Scalar": 1.5}


@dataclass(frozen=True)
class _Like:
    """The shape and type of a tensor, as rules need them."""

    shape: tuple[int, ...]
    dtype: str


def check_said(
    text: str, said: Rules, names: Collection[str], forward: Generated, where: Mapping[str, Location | None]
) -> None:
    """Check the rules in `names`, which an author wrote, against the formula.

    Raises:
        RuleError: A rule contradicts the formula.
    """
    if "out" in names:
        _check_out(said, forward, where.get("out"))
    axes = forward.loops.axes
    if "batch" in names and said.batch == "elementwise" and (axes is None or any(axis >= 0 for axis in axes)):
        hint = "leave the rule out, and samples are computed one by one; axes counted from the end need not be"
        message = "but the formula reduces axes that a batch in front would change"
        raise RuleError(f"{forward.schema.full_name}: `batch: elementwise`, {message}", where.get("batch"), hint)
    if "shard" in names and said.shard == "elementwise" and axes != ():
        follows = forward.rules.get("shard")
        hint = f"what follows is `shard: {follows}`; leave the rule out" if follows else "leave the rule out"
        message = "but the formula reduces, so that elements do not stand alone"
        raise RuleError(f"{forward.schema.full_name}: `shard: elementwise`, {message}", where.get("shard"), hint)
    if "derivatives" in names:
        _check_derivatives(read_formula(text, forward.schema), said, where.get("derivatives"))


def _check_out(said: Rules, forward: Generated, where: Location | None) -> None:
    """Reject an `out` rule that agrees with the formula for no shapes at all.

    An author may know that tensors have the same shape, so agreement for some shapes is enough.
    """
    if any(isinstance(rule, FromKernel) for rule in said.out):
        return
    follows = Rules.parse({"out": forward.rules["out"]}, forward.schema)
    shown = None
    for arguments in _calls(forward.schema, forward.loops):
        try:
            expected = evaluate_out(follows.out, forward.schema, arguments)
            got = evaluate_out(said.out, forward.schema, arguments)
        except (RuleError, LookupError):
            continue
        if got == expected:
            return
        shown = shown or (arguments, expected, got)
    if shown is None:
        return
    arguments, expected, got = shown
    given = ", ".join(f"{name} {list(value.shape)}" for name, value in arguments.items() if isinstance(value, _Like))
    hint = f"what follows is `out: {follows.fields()['out']}`; leave the rule out"
    message = f"for {given} `out` says {_outputs(got)}, and the formula gives {_outputs(expected)}"
    raise RuleError(f"{forward.schema.full_name}: {message}", where, hint)


def _outputs(found: list[tuple[tuple[int, ...], str]]) -> str:
    return ", ".join(f"{list(shape)} of {dtype}" for shape, dtype in found)


def _calls(schema: Schema, loops: Loops) -> Iterator[dict[str, object]]:
    """Yield arguments of calls: all tensors with one shape, and all but one with only the last dimension."""
    forms = {tensor.name: tensor for tensor in loops.tensors}
    plain = {argument.name: _PLAIN.get(str(argument.type), 2) for argument in schema.attributes}
    names = [argument.name for argument in schema.tensor_arguments]
    for rank in range(len(_SIZES), 0, -1):
        whole = _SIZES[-rank:]
        for large in (None, *names):
            shapes = {name: whole if large in (None, name) else whole[-1:] for name in names}
            tensors = {
                name: _Like(
                    _placed(shapes[name], forms[name].form) if name in forms else shapes[name],
                    "bool" if name in forms and forms[name].is_mask else "float32",
                )
                for name in names
            }
            yield {**plain, **tensors}


def _placed(shape: tuple[int, ...], form: Form) -> tuple[int, ...]:
    """Return the shape of a tensor that lacks axes."""
    if form.extent is Extent.GRID or form.axes is None:
        return shape if form.extent is Extent.GRID else ()
    axes = {axis % len(shape) for axis in form.axes}
    kept = form.extent is Extent.KEPT
    return tuple(1 if place in axes else size for place, size in enumerate(shape) if kept or place not in axes)


def _check_derivatives(program: Program, said: Rules, where: Location | None) -> None:
    """Compare derivatives at a few points.

    Derivatives that call operators or functions of whole arrays are left to `opbridge check`.
    """
    schema = program.schema
    if len(schema.returns) != 1:
        return
    result = program.outputs[0]
    grad = made(Tensor, "grad", stored_form(result))
    found = gradients({result: grad})
    follows = {node.name: value for node, value in found.items()}
    for derivative in said.derivatives:
        name = derivative.arguments[0]
        if len(derivative.arguments) != 1 or name not in follows:
            continue
        try:
            node = read_value(str(derivative.formula), schema, {"grad": grad, "result": result})
            wrong = _differs(follows[name], node)
        except (RuleError, NoNumber, ArithmeticError, ValueError):
            continue
        if wrong:
            point, expected, got = wrong
            at = ", ".join(f"{key} = {value:.3g}" for key, value in point.items())
            message = f"the derivative of {name} is said to be `{derivative.formula}`, which for {at} is {got:.6g}"
            hint = "leave the rule out; or, where another gradient is meant, compute it in an operator: backward: NAME"
            text = f"{schema.full_name}: {message}; that of the formula is {expected:.6g}"
            raise RuleError(text, where, hint)


def _differs(follows: Node, said: Node) -> tuple[dict[str, float], float, float] | None:
    """Return the first place of a row at which the two differ, if they differ for every row that is tried."""
    draw = random.Random(0)
    size = 3
    lengths = {
        node.name: 1 if isinstance(node, Scalar) or node.form != GRID else size
        for node in ordered((follows, said))
        if isinstance(node, (Tensor, Scalar))
    }
    shown = None
    for _ in range(_POINTS):
        values: dict[str, Row] = {name: [draw.uniform(0.2, 0.9) for _ in range(n)] for name, n in lengths.items()}
        rows = [row_of(node, values, size) for node in (follows, said)]
        expected, got = ([row[place % len(row)] for place in range(size)] for row in rows)
        wrong = [place for place in range(size) if not math.isclose(expected[place], got[place], rel_tol=1e-6)]
        if not wrong:
            return None
        place = wrong[0]
        shown = shown or ({name: row[place % len(row)] for name, row in values.items()}, expected[place], got[place])
    return shown
