"""One operator in one framework, as it is called."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from opbridge.verify.check.arrays import Argument, Array
from opbridge.verify.check.drivers import Driver
from opbridge.verify.check.inputs import Case
from opbridge.verify.check.kernel_declarations import KernelFacts, build_kernel, facts_of
from opbridge.verify.check.outcomes import Failure
from opbridge.verify.check.results import Settings
from opbridge.waist.manifest import OpSpec
from opbridge.waist.rules import FromKernel, evaluate_out
from opbridge.waist.schema import Schema

if TYPE_CHECKING:
    from opbridge.waist.op import Op


class CalledOperator:
    """One operator in one framework, as the checks call it."""

    preferred: tuple[str, ...] = ("float64", "float32", "complex128", "complex64")
    """The element types that one is taken from; a check wants the finest."""

    def __init__(self, op: Op, driver: Driver, settings: Settings, announce: Callable[[str], None]) -> None:
        """Build the kernel: compiling is not part of a call."""
        self.op = op
        self.driver = driver
        self.settings = settings
        self.spec: OpSpec = op.spec
        self.schema: Schema = op.schema
        self.announce = announce
        self._process = os.getpid()
        build_kernel(op, settings.tensors)

    @cached_property
    def facts(self) -> KernelFacts:
        """Facts about the operator's kernels."""
        return facts_of(self.op, self.schema, self.settings.tensors)

    @cached_property
    def dtype(self) -> str:
        """The type that is taken where one is enough."""
        if not self.facts.dtypes:
            return next(iter(self.facts.fixed.values()), "float32")
        return next((name for name in self.preferred if name in self.facts.dtypes), self.facts.dtypes[0])

    def typed(self, case: Case, dtype: str) -> Case:
        """Return the case with another type for the tensors whose type the call chooses."""
        return case.with_dtype(dtype, self.facts.chooses) if self.facts.dtypes else case

    def in_precision(self, given: Mapping[str, Argument], dtype: str) -> dict[str, Argument]:
        """Return the same values in another type."""

        def typed(name: str, value: Argument) -> Argument:
            if isinstance(value, Array):
                return Array.of(value.values, dtype) if self.facts.chooses(name, value.dtype) else value
            return tuple(typed(name, item) for item in value) if isinstance(value, tuple) else value

        return {name: typed(name, value) for name, value in given.items()}

    def run(self, given: Mapping[str, Argument]) -> list[Array]:
        """Run the operator and return its outputs, which must fit the `out` rule."""
        made = self.called(self.driver.values(self.schema, given))
        self._hold_against_rule(made, given)
        return made

    def called(self, values: Mapping[str, object]) -> list[Array]:
        """Call the operator with the framework's own tensors and return its outputs."""
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

    def with_defaults(self, given: Mapping[str, Argument]) -> dict[str, object]:
        """Return the given arguments and the schema's defaults for the others."""
        defaults = {item.name: item.default.value for item in self.schema.arguments if item.default is not None}
        return {**defaults, **given}
