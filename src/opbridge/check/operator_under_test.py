"""One operator in one framework, with the inputs that its checks share."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from opbridge.check import inputs
from opbridge.check.arrays import Argument, Array, arguments, mismatch
from opbridge.check.drivers import Driver, NotHere
from opbridge.check.inputs import Case, Form
from opbridge.check.kernels import KernelFacts, device_of, facts_of, is_finding
from opbridge.check.model import Reference, Settings, Status
from opbridge.check.references import Oracle
from opbridge.check.surroundings import Surroundings
from opbridge.errors import OpbridgeError, UnsupportedError
from opbridge.manifest import OpSpec
from opbridge.manifest.kernels import TWINS
from opbridge.rules import FromKernel, evaluate_out
from opbridge.schema import Schema


class Failure(Exception):
    """The operator is wrong; the text says how, and what to do."""


class Skip(Exception):
    """There is nothing to check, and why."""


class OperatorUnderTest:
    preferred: tuple[str, ...] = ("float64", "float32", "complex128", "complex64")
    """The element types that one is taken from; a check wants the finest."""

    def __init__(self, op: Any, driver: Driver, settings: Settings, announce: Callable[[str], None]) -> None:
        self.op = op
        self.driver = driver
        self.settings = settings
        self.spec: OpSpec = op.spec
        self.schema: Schema = op.schema
        self.announce = announce
        self.oracle = Oracle(op, self.schema, settings.reference or _twin(op, settings.device))
        self.dtypes_seen: dict[str, Status] = {}
        """What the row `dtypes` found of each element type so far."""
        self.surroundings = Surroundings.now()
        """As they were before the first call."""
        self._process = os.getpid()

    def require_kernel(self) -> None:
        device = device_of(self.op, self.settings.tensors)
        # A twin is what runs where there is nothing else for tensors on the CPU, or where it simulates the device.
        of = ("cpu", TWINS[device].of) if device in TWINS else ()
        if self.settings.device not in (device, *of):
            have = ", ".join(kernel.device for kernel in self.spec.kernels)
            raise Skip(f"no kernel for {self.settings.device} to check; it has {have}")

    @cached_property
    def facts(self) -> KernelFacts:
        return facts_of(self.op, self.schema, self.settings.tensors)

    @cached_property
    def dtype(self) -> str:
        """The type that is taken where one is enough."""
        if not self.facts.dtypes:
            return next(iter(self.facts.fixed.values()), "float32")
        return next((name for name in self.preferred if name in self.facts.dtypes), self.facts.dtypes[0])

    @cached_property
    def cases(self) -> list[Case]:
        """The ordinary inputs, in the finest type."""
        samples = inputs.samples_of(self.spec)
        if samples:
            return [self.typed(sample, self.dtype) for sample in samples]
        found = [self.varied("plain")]
        if inputs.has_optional_tensors(self.spec):
            found.append(self.varied("plain", absent=True))
        return [case for case in found if case is not None]

    @property
    def case(self) -> Case:
        return self.cases[0]

    @cached_property
    def form(self) -> Form | None:
        """The dimensions of its tensors; None: its samples alone say how they are."""
        return self._found[0]

    @cached_property
    def _found(self) -> tuple[Form | None, tuple[float, float] | None]:
        """A form that the operator takes, and a range of values for which its results are finite."""
        if not self.schema.tensor_arguments:
            if inputs.case(self.spec, {}, "plain", {}) is None:
                raise Skip(f"no inputs could be made; {inputs.needs_samples(self.spec)}")
            return {}, None
        if self.spec.samples and not inputs.says_how_sizes_vary(self.spec):
            return None, None
        taken: tuple[Form, None] | None = None
        refused = ""
        for form in inputs.forms(self.spec):
            case = inputs.case(self.spec, form, "plain", self._dtypes())
            if case is None:
                continue
            for low_high in inputs.RANGES:
                try:
                    outputs = self.call(case.with_range(low_high))
                except (OpbridgeError, TypeError, ValueError, RuntimeError) as error:
                    if is_finding(error):
                        raise
                    refused = str(error).strip()
                    break
                taken = taken or (form, None)
                if all(np.isfinite(output.values).all() for output in outputs if output.is_float):
                    return form, low_high
        if taken is None and not self.spec.samples:
            needed = inputs.needs_samples(self.spec)
            if refused:
                raise Failure(f"refuses all inputs that were tried ({refused}); correct its declaration, or {needed}")
            raise Skip(f"no inputs could be made; {needed}")
        return taken or (None, None)

    def _dtypes(self) -> Mapping[str, str]:
        return {item.name: self.facts.fixed.get(item.name, self.dtype) for item in self.schema.tensor_arguments}

    def varied(self, variation: str, *, absent: bool = False, sizes: Iterable[int] | None = None) -> Case | None:
        """The form in another size, of `SIZES` or as given; None where the operator has no such call."""
        form, low_high = self._found
        if (
            form is None
            or (not form and variation != "plain")
            or (variation == "no dimensions" and not inputs.is_elementwise(form))
        ):
            return None
        case = inputs.case(self.spec, form, variation, self._dtypes(), absent=absent, sizes=sizes)
        return case and case.with_range(low_high)

    def with_elements(self, count: int) -> Case | None:
        """About so many; None where its samples alone say how it is called."""
        if not self.form:
            return None
        return self.varied(f"some {count:,} elements", sizes=inputs.sizes_for(self.form, count))

    def sized(self, variations: Iterable[str]) -> Iterator[Case]:
        """Its form in several sizes; its samples where it has none."""
        if self.form is None:
            yield from self.cases
            return
        for variation in variations:
            if case := self.varied(variation):
                yield case

    def typed(self, case: Case, dtype: str) -> Case:
        """The case with another type for the tensors whose type the call chooses."""
        return case.with_dtype(dtype, self.facts.chooses) if self.facts.dtypes else case

    def in_precision(self, given: Mapping[str, Argument], dtype: str) -> dict[str, Argument]:
        """The same values in another type."""

        def typed(name: str, value: Argument) -> Argument:
            if isinstance(value, Array):
                return Array.of(value.values, dtype) if self.facts.chooses(name, value.dtype) else value
            return tuple(typed(name, item) for item in value) if isinstance(value, tuple) else value

        return {name: typed(name, value) for name, value in given.items()}

    def arguments(self, case: Case) -> dict[str, Argument]:
        self.announce(str(case))
        return arguments(case, self.settings.seed)

    def call(self, case: Case) -> list[Array]:
        return self.run(self.arguments(case))

    def run(self, given: Mapping[str, Argument]) -> list[Array]:
        """The outputs, which are as `out` says."""
        made = self.called(self.driver.values(self.schema, given))
        self._hold_against_rule(made, given)
        return made

    def called(self, values: Mapping[str, Any]) -> list[Array]:
        """The outputs for the framework's own tensors."""
        outputs = self.driver.call(self.op, self.schema, values)
        if os.getpid() != self._process:
            os._exit(0)  # a copy of this process, in which a kernel came back a second time
        return [self.driver.array(output) for output in outputs]

    def _hold_against_rule(self, made: list[Array], given: Mapping[str, Argument]) -> None:
        rules = self.spec.rules.out
        if not rules or any(isinstance(rule, FromKernel) for rule in rules) or len(rules) != len(made):
            return
        declared = evaluate_out(rules, self.schema, self.with_defaults(given))
        for (shape, dtype), output in zip(declared, made, strict=True):
            if (shape, dtype) != (output.shape, output.dtype):
                raise Failure(f"gives {output.dtype}{list(output.shape)} where `out` says {dtype}{list(shape)}")

    def with_defaults(self, given: Mapping[str, Argument]) -> dict[str, Any]:
        defaults = {item.name: item.default.value for item in self.schema.arguments if item.default is not None}
        return {**defaults, **given}

    @property
    def has_reference(self) -> bool:
        return self.settings.reference is not None or self.driver.name != "numpy"

    def expected(self, given: Mapping[str, Argument]) -> list[Array] | None:
        """What the reference gives; None where there is none for these arguments."""
        if not self.has_reference:
            return None
        try:
            return self.oracle.outputs(given)
        except (NotHere, UnsupportedError):
            return None
        except Exception as error:
            raise Failure(f"the reference {self.oracle.name} fails: {first_line(error)}") from error

    def compare(self, case: Case) -> str:
        """How a call differs from the reference; empty where it does not."""
        given = self.arguments(case)
        made = self.run(given)
        expected = self.expected(given)
        return "" if expected is None else mismatch(made, expected)

    def plain_tensors(self, case: Case) -> list[str]:
        """The arguments that are one tensor and there."""
        return [name for name, value in self.arguments(case).items() if isinstance(value, Array)]

    def rerun(self, given: Mapping[str, Argument], times: int) -> Iterator[list[Array]]:
        for _ in range(times):
            yield self.run(given)


def _twin(op: Any, device: str) -> Reference | None:
    """What runs the same kernel on the CPU, for an operator without one for it."""
    twins = [name for name, twin in TWINS.items() if twin.of == device]
    return Reference("device", twins[0]) if twins and device_of(op, "cpu") is None else None


def counted(count: int, what: str) -> str:
    return f"{count} {what}" + ("" if count == 1 else "s")


def first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
