"""Choose the inputs to run both kernels on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from opbridge.analysis.port import element_types, shapes
from opbridge.analysis.port.element_types import Types
from opbridge.analysis.port.processes import first_taken
from opbridge.analysis.port.trial import ORIGINAL, PORT, Pair, Run, Settings, Trial
from opbridge.analysis.port.twins import opened
from opbridge.base.errors import InputError
from opbridge.verify.check import inputs
from opbridge.verify.check.inputs import Case, Form
from opbridge.waist.manifest import OpSpec

_LARGE = 65_536
_VARIATIONS = {
    "plain": inputs.SIZES["plain"],
    "odd": inputs.SIZES["odd"],
    "multiples of 64": (128, 64, 192, 64, 64),
    "one element": inputs.SIZES["one element"],
    "no elements": inputs.SIZES["no elements"],
}
"""Sizes in the order in which dimensions appear; a port that handles whole tiles only is right at multiples of 64."""


def planned(pair: Pair, settings: Settings) -> list[Run]:
    """Build both kernels and return the inputs to run them on.

    Raises:
        InputError: The schema has no tensors, or no inputs could be made.
    """
    twins = opened(pair.specs[0])
    types = dict(element_types.common(pair.schema, twins[ORIGINAL].facts, twins[PORT].facts, settings.dtypes))
    if not pair.schema.tensor_arguments:
        raise InputError(f"{pair.schema} takes no tensors, and nothing could be compared")
    found = _found(pair, next(iter(types.values())), settings)
    cases = [(dtype, case) for dtype, those in types.items() for case in _cases(found, those)]
    return [Run(found.spec, case, dtype, settings) for dtype, case in cases]


def _found(pair: Pair, types: Types, settings: Settings) -> Trial:
    """Return a declaration and form of inputs that the original accepts, in a range where its results are finite."""
    trials = list(_trials(pair, types, settings))
    if not trials:
        raise InputError(f"no inputs could be made for {pair.schema}", hint=inputs.needs_samples(pair.specs[0]))
    is_known = len(pair.specs) == 1 and (pair.shapes or pair.specs[0].samples or len(trials) == 1)
    taken, refusal = first_taken(trials)
    if taken is not None:
        return taken
    if is_known:
        return trials[0]  # a failing original is a result then, not a wrong guess
    raise InputError(
        f"the original takes none of {len(trials)} forms that inputs and outputs usually have; the first one's "
        f"error:\n{refusal}",
        hint=f"say their dimensions, as in --shapes '{_example(pair)}'",
    )


def _example(pair: Pair) -> str:
    groups = (["m n"] * len(those) for those in (pair.schema.tensor_arguments, pair.schema.new_outputs))
    return " -> ".join(map(", ".join, groups))


def _trials(pair: Pair, types: Types, settings: Settings) -> Iterator[Trial]:
    for form in [shapes.input_form(pair.shapes, pair.schema)] if pair.shapes else inputs.forms(pair.specs[0]):
        for spec in pair.specs:
            samples = inputs.samples_of(spec)
            case = samples[0] if samples else _case(spec, form, "plain", types)
            if case is not None:
                yield Trial(spec, case, {} if samples and not inputs.says_how_sizes_vary(spec) else form, settings)


def _cases(trial: Trial, types: Types) -> Iterator[Case]:
    for sample in inputs.samples_of(trial.spec):
        yield sample.mapped(lambda name, one: replace(one, dtype=types[name]) if "float" in one.dtype else one)
    if not trial.form:
        return
    seen: set[str] = set()
    for variation in (*_VARIATIONS, "large"):
        case = _case(trial.spec, trial.form, variation, types)
        if case and str(replace(case, what="")) not in seen:
            seen.add(str(replace(case, what="")))
            yield case.with_range(trial.low_high)


def _case(spec: OpSpec, form: Form, variation: str, types: Types) -> Case | None:
    wanted = _VARIATIONS.get(variation) or inputs.sizes_for(form, _LARGE)
    return inputs.case(spec, form, variation, types, sizes=shapes.sizes(form, wanted))
