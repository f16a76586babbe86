"""Call one of the two kernels with NumPy arrays."""

from __future__ import annotations

import math
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from operator import mul
from pathlib import Path
from typing import Any

import numpy as np

from opbridge._core import NumpyOp
from opbridge.analysis.port.trial import SIDES, of_side
from opbridge.analysis.port.writing_blocks import writers_noted
from opbridge.build.cache import Cache
from opbridge.build.sources import KernelStore
from opbridge.native.catalog import Catalog
from opbridge.verify.check.arrays import Argument, Array
from opbridge.verify.check.drivers import driver, packed
from opbridge.verify.check.kernel_declarations import KernelFacts, facts_of_kernel
from opbridge.waist.manifest import OpSpec
from opbridge.waist.rules import FromKernel, evaluate_out


@dataclass(frozen=True)
class Fill:
    """The values that output memory holds before a call."""

    number: float = math.nan
    integer: int = 0x5A

    def of(self, dtype: str) -> float:
        """Return the value for memory of an element type."""
        return self.number if "float" in dtype or "complex" in dtype else self.integer


class Twinned:
    """The kernel of one side, run by its twin."""

    def __init__(self, spec: OpSpec, side: str) -> None:
        self._spec = spec
        self.schema = spec.schema
        self._driver = driver("numpy")
        catalog = Catalog.of(spec.schema.namespace or "", [of_side(spec, side)])
        self._kernels = KernelStore(catalog, spec.root or Path(), Cache(), allow_outside=True, twin=SIDES[side])
        self._call = NumpyOp(catalog.plan, 0, lambda: self._kernels.kernel(0, "cpu"))

    def build(self) -> None:
        """Build the kernel; other methods build it on first use."""
        self._kernels.build("cpu")

    @cached_property
    def facts(self) -> KernelFacts:
        """The element types and parameters that the built kernel declares."""
        return facts_of_kernel(self._kernels.kernel(0, "cpu"), self.schema)

    def outputs(self, given: Mapping[str, Argument], fill: Fill) -> list[Array]:
        """Return the results, or the tensors that a call without results writes.

        Elements that the kernel does not write keep the values of `fill`.
        """
        return [self._driver.array(output) for output in self._made(given, fill)]

    def writer(self, given: Mapping[str, Argument], output: int, index: tuple[int, ...]) -> str | None:
        """Call the kernel again; return the block and instruction that write an element, None if nothing writes it.

        This works for Ascend C kernels only.
        """
        with writers_noted() as writer_of:
            made = self._made(given, Fill())[output]
            return writer_of(made.ctypes.data + sum(map(mul, index, made.strides)))

    def _made(self, given: Mapping[str, Argument], fill: Fill) -> list[Any]:
        values = self._driver.values(self.schema, given)
        args, kwargs = packed(self.schema, values)
        expected = self._expected(given)
        if not expected:
            return self._driver.call(self._call, self.schema, values)
        made = [np.full(shape, fill.of(dtype), self._driver.dtype(dtype)) for shape, dtype in expected]
        kwargs["out"] = made[0] if len(made) == 1 else tuple(made)
        self._call(*args, **kwargs)
        return made

    def _expected(self, given: Mapping[str, Argument]) -> list[tuple[tuple[int, ...], str]]:
        rules = self._spec.rules.out
        if len(rules) != len(self.schema.returns) or any(isinstance(rule, FromKernel) for rule in rules):
            return []
        defaults = {item.name: item.default.value for item in self.schema.arguments if item.default is not None}
        return evaluate_out(rules, self.schema, {**defaults, **given})


def opened(spec: OpSpec) -> dict[str, Twinned]:
    """Build the kernels of both sides in parallel and return them by side."""
    twins = {side: Twinned(spec, side) for side in SIDES}
    with ThreadPoolExecutor(len(SIDES)) as threads:
        list(threads.map(Twinned.build, twins.values()))
    return twins
