"""Measure how long an operator takes in every framework: `opbridge.bench.bench(op)`, which `opbridge bench` runs.

The measuring processes import the frameworks; the calling process never does.
"""

from __future__ import annotations

import datetime
import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from opbridge._version import __version__
from opbridge.analysis.bench.measurement import (
    LARGE,
    ROUNDS,
    SMALL,
    Measurement,
    OperatorTimings,
    Problem,
    Run,
    Settings,
)
from opbridge.analysis.bench.paired_timing import Spread
from opbridge.base.errors import InputError
from opbridge.frameworks import FRAMEWORKS

if TYPE_CHECKING:
    from opbridge.waist.op import Op

__all__ = ["LARGE", "ROUNDS", "SMALL", "Measurement", "Problem", "Run", "Spread", "bench"]


def bench(
    op: Op | Iterable[Op],
    *,
    frameworks: Sequence[str] | None = None,
    references: Sequence[str] = (),
    device: str = "cpu",
    rounds: int = ROUNDS,
    extents: tuple[str, ...] = (SMALL, LARGE),
    seed: int = 0,
    sizes: Mapping[tuple[str, str], int] | None = None,
    chip: str = "",
    others: Iterable[Op] = (),
    on_result: Callable[[Measurement | Problem], None] = lambda result: None,
) -> Run:
    """Measure one operator, or all operators of a library, in each framework.

    Args:
        op: An operator or a library.
        frameworks: The frameworks to measure in; all installed ones by default.
        references: What to compare with: an ATen operator ("aten::name"), an operator of `op` or `others`, a device
            with another kernel, or a function ("module:function", "file.py:function") of the framework's tensors. Each
            framework uses the first that it can call. "name=reference" applies to one operator.
        device: The device whose kernels are measured.
        rounds: The number of rounds.
        extents: The inputs: small, large, or both.
        seed: The seed of the inputs.
        sizes: The input sizes of another run, by operator and framework.
        chip: Also predict the time of the kernels on this chip.
        others: Further operators that may be references.
        on_result: Called with each result as it arrives.

    Returns:
        Everything that was measured.

    Raises:
        InputError: `rounds`, a reference or `chip` is invalid.

    Example:
        run = bench(ob.load("ops.yaml"), frameworks=["numpy"], references=["expected.py:softsign"])
    """
    from opbridge.analysis.bench.processes import run
    from opbridge.analysis.bench.references import assigned
    from opbridge.verify.check import chosen_frameworks
    from opbridge.verify.check import results as check_model
    from opbridge.waist.op import Op

    operators = [op] if isinstance(op, Op) else list(op)
    _check_arguments(rounds, chip)
    known = {item.name: item for item in (*operators, *others)}
    names = [item.name for item in operators]
    references_of = assigned(references, names, known)
    racing = {one.name: known[one.name] for found in references_of.values() for one in found if one.kind == "operator"}
    settings = Settings(references_of, device, rounds, seed, extents, sizes or {}, chip)
    chosen = chosen_frameworks(frameworks, check_model.Settings(device=device))
    timings = [[OperatorTimings(op, op.name, name, settings, racing) for op in operators] for name in chosen]
    results = _Results(on_result)
    run(timings, results.add, results.predicted)
    return results.run(names)


def _check_arguments(rounds: int, chip: str) -> None:
    from opbridge.analysis.profile.chips import chip_named

    if rounds < 1:
        raise InputError(f"expected at least one round, got {rounds}")
    if chip:
        chip_named(chip)


class _Results:
    """The results of a run, each reported as it arrives."""

    def __init__(self, on_result: Callable[[Measurement | Problem], None]) -> None:
        self.predicted: defaultdict[str, dict[str, float]] = defaultdict(dict)
        """The predicted times, by operator and input."""
        self._all: list[Measurement | Problem] = []
        self._on_result = on_result

    def add(self, result: Measurement | Problem) -> None:
        """Keep and report a result."""
        self._all.append(result)
        if isinstance(result, Measurement) and result.predicted is not None:
            self.predicted[result.operator][result.input] = result.predicted
        self._on_result(result)

    def run(self, operators: Sequence[str]) -> Run:
        """Return everything that was measured, in the order of the operators and the frameworks."""
        ordered = sorted(self._all, key=lambda one: (operators.index(one.operator), [*FRAMEWORKS].index(one.framework)))
        return Run(
            __version__,
            datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
            machine(),
            tuple(result for result in ordered if isinstance(result, Measurement)),
            tuple(result for result in ordered if isinstance(result, Problem)),
        )


def machine() -> dict[str, str]:
    """Return the facts about this machine that must be equal for two runs to be comparable."""
    from opbridge.authoring.doctor.processor import model_name

    return {"processor": model_name(), "cores": str(os.cpu_count())}
