"""The inputs that one operator accepts in one framework: its samples, its parent's calls, or forms that are tried.

A derived operator computes the gradients of another, its parent.  Nothing but a call of the parent says which shapes
and values belong together there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from opbridge.base.errors import UnsupportedError
from opbridge.verify.check import inputs
from opbridge.verify.check.arrays import Argument, Array, arguments
from opbridge.verify.check.called_operator import CalledOperator
from opbridge.verify.check.derived_inputs import arguments_of_call, described, in_types_of, origin_of
from opbridge.verify.check.drivers import Driver, NotHere
from opbridge.verify.check.inputs import Case, Form
from opbridge.verify.check.kernel_declarations import is_finding
from opbridge.verify.check.outcomes import REFUSALS, Failure, Skip
from opbridge.verify.check.results import Settings
from opbridge.waist.manifest.samples import TensorSample

if TYPE_CHECKING:
    from opbridge.waist.op import Op

_WITHOUT_OTHER_SIZES = ("plain", "one element", "no elements", "no dimensions")


@dataclass(frozen=True)
class _Found:
    """A form that an operator takes."""

    form: Form | None
    low_high: tuple[float, float] | None = None
    sizes: tuple[int, ...] = inputs.SIZES["plain"]


class OperatorWithInputs(CalledOperator):
    """An operator under test together with inputs that it accepts."""

    def __init__(
        self,
        op: Op,
        driver: Driver,
        settings: Settings,
        announce: Callable[[str], None],
        children: frozenset[str] = frozenset(),
    ) -> None:
        """Build the kernels that checks call; `children` are the operators that take their inputs from this one."""
        super().__init__(op, driver, settings, announce)
        self._accepted: dict[tuple[str, tuple[int, ...] | None], Case | None] = {}
        self._origin = None if self.spec.samples else origin_of(op, children | {op.name})
        self.parent = self._parent(children | {op.name})
        """The operator whose gradients this one computes, and whose calls say what it takes."""

    def _parent(self, children: frozenset[str]) -> OperatorWithInputs | None:
        if self._origin is None:
            return None
        parent, settings = self._origin.op, replace(self.settings, reference=None)

        def announce(text: str) -> None:
            self.announce(f"{parent.name}, whose gradients it computes: {text}")

        return type(self)(parent, self.driver, settings, announce, children)

    @cached_property
    def cases(self) -> list[Case]:
        """The ordinary inputs, in the finest type."""
        samples = inputs.samples_of(self.spec)
        if samples:
            return [self.typed(sample, self.dtype) for sample in samples]
        if self._inherited:
            return self._inherited
        found = [self.varied("plain")]
        if inputs.has_optional_tensors(self.spec):
            found.append(self.varied("plain", absent=True))
        return [case for case in found if case is not None]

    @cached_property
    def _inherited(self) -> list[Case]:
        """The inputs from the ordinary calls of its parent that it accepts."""
        found = []
        for case in self._parents_cases():
            try:
                derived = self._derived(case)
                self.call(derived)
            except REFUSALS as error:
                if is_finding(error):
                    raise
                continue
            found.append(derived)
        return found

    def _parents_cases(self) -> list[Case]:
        try:
            return self.parent.cases if self.parent else []
        except (Failure, Skip, NotHere):
            return []  # rows of its own say what the parent lacks

    def _derived(self, case: Case) -> Case:
        """Return the arguments that a call of the parent operator passes to this derived one."""
        given = self._given_by(case, self.settings.seed)
        derived = Case({name: described(value) for name, value in given.items()}, case.what, case)
        return self.typed(derived.mapped(self._as_fixed), self.dtype)

    def _as_fixed(self, name: str, tensor: TensorSample) -> TensorSample:
        """Return the argument in the only element type that the kernel has for it, if that is a float."""
        fixed = self.facts.fixed.get(name, "")
        return replace(tensor, dtype=fixed) if "float" in fixed and "float" in tensor.dtype else tensor

    def _given_by(self, case: Case, seed: int) -> dict[str, Argument]:
        assert self.parent is not None
        assert self._origin is not None
        given = self.parent.filled(case, seed)
        self.parent.announce(str(case))
        try:
            results = self.parent.run(given)
        except Failure as failure:  # which its own rows report
            raise UnsupportedError(f"{self.parent.op.name}, whose gradients it computes, {failure}") from failure
        return arguments_of_call(self._origin, self.schema, self.parent.with_defaults(given), results, seed)

    @property
    def case(self) -> Case:
        """Return the first accepted inputs."""
        return self.cases[0]

    @cached_property
    def form(self) -> Form | None:
        """The dimensions of its tensors, or of its parent's; None: samples alone say how they are."""
        return self.parent.form if self.parent and self._inherited else self._found.form

    @cached_property
    def _found(self) -> _Found:
        """A form that the operator takes, and a range of values for which its results are finite."""
        if not self.schema.tensor_arguments:
            if inputs.case(self.spec, {}, "plain", {}) is None:
                raise Skip(f"no inputs could be made; {inputs.needs_samples(self.spec)}")
            return _Found({})
        if self.spec.samples and not inputs.says_how_sizes_vary(self.spec):
            return _Found(None)
        refused = ""
        for sizes in inputs.PLAIN:
            for form in inputs.forms(self.spec):
                found, why = self._tried(form, sizes)
                if found:
                    return found
                refused = refused or why
        if self.spec.samples:
            return _Found(None)
        needed = inputs.needs_samples(self.spec)
        if refused:
            raise Failure(f"refuses all inputs that were tried ({refused}); correct its declaration, or {needed}")
        raise Skip(f"no inputs could be made; {needed}")

    def _tried(self, form: Form, sizes: tuple[int, ...]) -> tuple[_Found | None, str]:
        """Return the form with the first value range that gives finite results, or why the operator refuses it."""
        case = inputs.case(self.spec, form, "plain", self._dtypes(), sizes=sizes)
        if case is None:
            return None, ""
        taken = None
        for low_high in inputs.RANGES:
            try:
                outputs = self.call(case.with_range(low_high))
            except REFUSALS as error:
                if is_finding(error):
                    raise
                return taken, str(error).strip()
            taken = taken or _Found(form, None, sizes)
            if all(np.isfinite(output.values).all() for output in outputs if output.is_float):
                return _Found(form, low_high, sizes), ""
        return taken, ""

    def _dtypes(self) -> Mapping[str, str]:
        return {item.name: self.facts.fixed.get(item.name, self.dtype) for item in self.schema.tensor_arguments}

    def varied(self, variation: str, *, absent: bool = False, sizes: Iterable[int] | None = None) -> Case | None:
        """Return the form in another size, of `SIZES` or as given, or None if the operator has no such call.

        A derived operator raises the parent's error for a size that the parent refuses.
        """
        if self.parent and self._inherited:
            given = self.parent.varied(variation, absent=absent, sizes=sizes)
            return given and self._derived(given)
        form = self._found.form
        if (
            form is None
            or (not form and variation != "plain")
            or (variation == "no dimensions" and not inputs.is_elementwise(form))
        ):
            return None
        sizes = self._found.sizes if variation == "plain" and sizes is None else sizes
        case = inputs.case(self.spec, form, variation, self._dtypes(), absent=absent, sizes=sizes)
        return case and case.with_range(self._found.low_high)

    def accepted(self, variation: str, sizes: Sequence[int] | None = None) -> Case | None:
        """Return the variation in the first sizes that the operator takes, or None if it refuses all.

        The row `shapes` reports a refusal.
        """
        key = (variation, None if sizes is None else tuple(sizes))
        if key not in self._accepted:
            self._accepted[key] = self._searched(variation, sizes)
        return self._accepted[key]

    def _searched(self, variation: str, sizes: Sequence[int] | None) -> Case | None:
        if self.form is None:
            return None
        if sizes is None and variation in _WITHOUT_OTHER_SIZES:
            return self._taken(variation, None)
        usual = inputs.SIZES[variation] if sizes is None else sizes
        tried = inputs.near(usual[: len(inputs.letters_of(self.form))])
        return next((case for near in tried if (case := self._taken(variation, near))), None)

    def _taken(self, variation: str, sizes: tuple[int, ...] | None) -> Case | None:
        """Return the case, or None if a call with it is refused."""
        case = None
        try:
            case = self.varied(variation, sizes=sizes)
            if case is not None:
                self.call(case)
        except REFUSALS as error:
            return case if is_finding(error) else None
        return case

    def with_elements(self, count: int) -> Case | None:
        """Return inputs with about this many elements, or None if only samples say how to call the operator."""
        if not self.form:
            return None
        return self.accepted(f"some {count:,} elements", inputs.sizes_for(self.form, count))

    def sized(self, variations: Iterable[str]) -> Iterator[Case]:
        """Return the form in several sizes, or the samples if there is no form."""
        if self.form is None:
            yield from self.cases
            return
        for variation in variations:
            if case := self.accepted(variation):
                yield case

    def arguments(self, case: Case) -> dict[str, Argument]:
        """Return the arguments of a case as the framework's own values."""
        given = self.filled(case, self.settings.seed)
        self.announce(str(case))
        return given

    def filled(self, case: Case, seed: int) -> dict[str, Argument]:
        """Return the arguments with their elements; the same seed gives the same elements."""
        if case.origin is None:
            return arguments(case, seed)
        given = self._given_by(case.origin, seed)
        return {name: in_types_of(value, case.arguments[name]) for name, value in given.items()}

    def call(self, case: Case) -> list[Array]:
        """Call the operator with the inputs of a case."""
        return self.run(self.arguments(case))

    def plain_tensors(self, case: Case) -> list[str]:
        """Return the arguments that are a single tensor and present."""
        return [name for name, value in self.arguments(case).items() if isinstance(value, Array)]
