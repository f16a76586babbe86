"""Derive operators from a formula: the operator and its backward, with the rules and kernels of a manifest."""

from __future__ import annotations

from dataclasses import dataclass, replace

from opbridge.base.errors import Location, RuleError
from opbridge.waist.formulas.backward import Backward, backward_of
from opbridge.waist.formulas.generated_kernels import PRINTERS, Generated, output_names, stored_form
from opbridge.waist.formulas.loops import Output, TwoPasses, loops
from opbridge.waist.formulas.nodes import Tensor, ordered
from opbridge.waist.formulas.parser import Program, read_formula
from opbridge.waist.formulas.printer import is_index
from opbridge.waist.formulas.rules import flops_rule, in_order, mapping_rules, out_rule
from opbridge.waist.formulas.summed_lengths import spans
from opbridge.waist.formulas.two_pass_split import two_operators_of
from opbridge.waist.schema import Schema


@dataclass(frozen=True)
class FormulaOperators:
    """The operators that follow from one formula."""

    forward: Generated
    backward: Generated | None
    """The backward operator; None if no tensor has a gradient."""
    gradients: tuple[tuple[str, str], ...]
    """The gradient of each tensor, as text."""
    devices: tuple[str, ...]
    """The requested devices for which there are kernels."""
    refusals: tuple[tuple[str, RuleError], ...]
    """The devices without kernels, with the reason."""

    @property
    def all(self) -> tuple[Generated, ...]:
        """The operator and, if there is one, its backward."""
        return (self.forward,) if self.backward is None else (self.forward, self.backward)


def formula_operators(
    text: str, schema: Schema, where: Location | None = None, has_gradient: bool = True, device: str | None = None
) -> FormulaOperators:
    """Return the operators that follow from a formula.

    Args:
        has_gradient: Whether to derive a gradient from the formula.
        device: The only device for which kernels are needed; by default all.

    Raises:
        RuleError: The formula is invalid, does not fit the schema, or has no kernel for the device.
    """
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
    """Return the devices without kernels; one that cannot compute the gradient gets no operator either."""
    found = {name: [target.refusal(item.loops) for item in operators] for name, target in PRINTERS.items()}
    # The operator's own reason takes precedence over that of its gradient.
    return {name: error for name, errors in found.items() for error in reversed(errors) if error is not None}


def _derivatives(program: Program, found: Backward | None) -> dict[str, str]:
    """Return the derivatives, with zero for tensors on which the outputs depend only through steps."""
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
