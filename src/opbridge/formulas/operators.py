"""From a formula to operators: itself and its backward, with rules and kernels, as a manifest would declare them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from opbridge.errors import Location, RuleError
from opbridge.formulas.backward import Backward, backward_of
from opbridge.formulas.kernels import PRINTERS, Generated, output_names, stored_form
from opbridge.formulas.loops import Output, TwoPasses, loops
from opbridge.formulas.nodes import Tensor, ordered
from opbridge.formulas.offer import two_operators_of
from opbridge.formulas.printing import is_index
from opbridge.formulas.reading import Program, read_formula
from opbridge.formulas.rules import flops_rule, in_order, mapping_rules, out_rule
from opbridge.formulas.spans import spans
from opbridge.schema import Schema


@dataclass(frozen=True)
class FormulaOperators:
    forward: Generated
    backward: Generated | None
    """None where nothing has a gradient."""
    gradients: tuple[tuple[str, str], ...]
    """The gradient of each tensor, as text."""
    devices: tuple[str, ...]
    """Those that kernels were asked for, and can be had."""
    refusals: tuple[tuple[str, RuleError], ...]
    """Why others have none."""

    @property
    def all(self) -> tuple[Generated, ...]:
        return (self.forward,) if self.backward is None else (self.forward, self.backward)


def formula_operators(
    text: str, schema: Schema, where: Location | None = None, has_gradient: bool = True, device: str | None = None
) -> FormulaOperators:
    """`has_gradient` is whether one is wanted that follows from the formula; kernels are for one device, or all."""
    program = read_formula(text, schema, where)
    if device is not None and device not in PRINTERS:
        raise RuleError(f"no formula becomes a kernel for '{device}'", where, f"devices: {', '.join(PRINTERS)}")
    try:
        found = backward_of(program) if has_gradient else None
        forward = _forward(program, _derivatives(program, found) if has_gradient else {})
    except TwoPasses as error:
        raise RuleError(error.message, where, two_operators_of(program, error.first) or error.hint) from None
    except RuleError as error:
        raise error if error.where else RuleError(error.message, where, error.hint) from None
    backward = found.generated if found else None
    refusals = _refusals((forward, backward) if backward else (forward,))
    if device in refusals:
        raise RuleError(refusals[device].message, where, refusals[device].hint)
    devices = (device,) if device else tuple(name for name in PRINTERS if name not in refusals)
    return FormulaOperators(forward, backward, found.gradients if found else (), devices, tuple(refusals.items()))


def _refusals(operators: tuple[Generated, ...]) -> dict[str, RuleError]:
    """A device without the gradient has not got the operator."""
    found = {name: [target.refusal(item.loops) for item in operators] for name, target in PRINTERS.items()}
    # The operator's own reason before that of its gradient.
    return {name: error for name, errors in found.items() for error in reversed(errors) if error is not None}


def _derivatives(program: Program, found: Backward | None) -> dict[str, str]:
    """Zero is a gradient too: that of a tensor on which nothing depends but through steps."""
    if all(node.is_truth or is_index(node) for node in program.outputs):
        return {}
    derivatives = {", ".join(found.targets): found.call} if found else {}
    tensors = [node for node in ordered(program.outputs) if isinstance(node, Tensor) and not node.is_mask]
    steps = in_order({node.name for node in tensors} - {*(found.targets if found else ())}, program.schema)
    return {**derivatives, **{name: f"zeros_like({name})" for name in steps}}


def _forward(program: Program, derivatives: dict[str, str]) -> Generated:
    names = output_names(program.schema)
    outputs = tuple(Output(name, node, stored_form(node)) for name, node in zip(names, program.outputs, strict=True))
    forward = loops(program.schema, program.text, outputs, program.names)
    forward = replace(forward, spans=spans(program.outputs))
    rules: dict[str, object] = {"out": [out_rule(node, program.schema) for node in program.outputs]}
    rules |= {**mapping_rules(forward), "flops": flops_rule(program.outputs)}
    return Generated(program.schema, {**rules, "derivatives": derivatives} if derivatives else rules, forward)
