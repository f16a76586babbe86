"""`opbridge.check.check(op)`: verify in every framework that an operator works as declared, as `opbridge check` does.

The frameworks are imported by the processes that run the checks, never by the calling process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Event
from typing import TYPE_CHECKING, Any

from opbridge.base.errors import InputError, did_you_mean
from opbridge.frameworks import FRAMEWORKS, installed
from opbridge.verify.check.results import (
    CHECKS,
    INPUTS,
    OF_MEMORY,
    SANITIZERS,
    Curve,
    OperatorChecks,
    Reference,
    Row,
    Settings,
    Status,
)
from opbridge.waist.manifest.kernel_origins import DEVICES

if TYPE_CHECKING:
    from opbridge.waist.op import Op

__all__ = ["CHECKS", "SANITIZERS", "Curve", "Reference", "Row", "Settings", "Status", "check"]

Said = str | Callable[..., Any]
"""A reference as the user writes it."""


def check(
    op: Op | Iterable[Op],
    *,
    frameworks: Sequence[str] | None = None,
    reference: Said | Mapping[str, Said] | None = None,
    checks: Sequence[str] | None = None,
    sanitize: Sequence[str] = (),
    device: str = "cpu",
    seed: int = 0,
    timeout: float = 60.0,
    on_row: Callable[[Row], None] = lambda row: None,
) -> list[Row]:
    """Check an operator, or all operators of a library.

    Args:
        op: An operator or a library.
        frameworks: The frameworks to check in; all installed ones by default.
        reference: What to compare values with: a device with a kernel, "aten::name", or a function of NumPy arrays.
            For a library, a map from operator names to references.
        checks: Names from `CHECKS`; all of them by default.
        sanitize: Names from `SANITIZERS`; the kernels are also built and run with each of them.
        device: The device whose kernels are checked. For "cuda-twin", load the operators with `device="cuda-twin"` too.
        seed: The seed of the inputs.
        timeout: The limit for one input, in seconds.
        on_row: Called with each row as soon as it is known.

    Returns:
        One Row for each check in each framework.

    Raises:
        InputError: A name is unknown, a framework is not installed, or a reference cannot be found.

    Example:
        rows = check(ob.load("ops.yaml"), frameworks=["numpy"], reference="aten::softplus")
        print([row for row in rows if row.failed])
    """
    from opbridge.verify.check.references import reference_of
    from opbridge.waist.op import Op

    operators = [op] if isinstance(op, Op) else list(op)
    said = _said(reference, operators)
    references = {name: reference_of(one) for name, one in said.items()}
    chosen = _known("check", CHECKS, CHECKS if checks is None else checks)
    settings = Settings(
        seed=seed,
        checks=chosen,
        sanitizers=_known("sanitizer", SANITIZERS, sanitize),
        device=device,
        patience=timeout,
    )
    if not operators:
        return []
    rows = _Rows(on_row)
    _run(operators, references, chosen_frameworks(frameworks, settings), settings, rows.add)
    return rows.ordered([item.name for item in operators])


class _Rows:
    """The rows of a check, each reported as it arrives."""

    def __init__(self, on_row: Callable[[Row], None]) -> None:
        self._all: list[Row] = []
        self._on_row = on_row
        self._first_framework: dict[tuple[str, str], str] = {}
        """The first framework with a message about an operator's inputs."""
        self._hurt: dict[str, str] = {}
        """The check of memory that an operator has failed."""

    def add(self, row: Row) -> None:
        """Report a row, with what earlier rows say about it."""
        row = self._with_cause(row)
        self._all.append(row)
        self._on_row(row)

    def ordered(self, operators: Sequence[str]) -> list[Row]:
        """Return the rows in the order of the operators, the frameworks and the checks."""
        checks = {name: place for place, name in enumerate((INPUTS, *CHECKS, *SANITIZERS))}

        def place_of(row: Row) -> tuple[int, int, int]:
            return operators.index(row.operator), [*FRAMEWORKS].index(row.framework), checks[row.check]

        return sorted(self._all, key=place_of)

    def _with_cause(self, row: Row) -> Row:
        if row.check == INPUTS:
            # All frameworks try the same inputs, so report only once what is missing.
            first = self._first_framework.setdefault((row.operator, row.message), row.framework)
            return row if first == row.framework else replace(row, message=f"as in {first}")
        if row.failed and row.check in OF_MEMORY:
            self._hurt.setdefault(row.operator, row.check)
        elif row.failed and row.operator in self._hurt and row.check not in SANITIZERS:
            cause = f"fix what `{self._hurt[row.operator]}` reports first: it may be the cause"
            return replace(row, message=f"{row.message}; {cause}")
        return row


def _said(reference: Said | Mapping[str, Said] | None, operators: list[Op]) -> dict[str, Said]:
    """Return the reference of each operator, by its full name."""
    names = {name: item.name for item in operators for name in (item.name.partition("::")[2], item.name)}
    if isinstance(reference, Mapping):
        return {names[name]: one for name, one in reference.items() if _known("operator", names, [name])}
    if reference is not None and reference not in DEVICES and len(operators) > 1:
        message = f"{reference} is a reference for one operator, not for {len(operators)}"
        raise InputError(message, hint="say whose: --reference NAME=..., or choose the operator: --op NAME")
    return {} if reference is None else {item.name: reference for item in operators}


def _run(
    operators: list[Op],
    references: Mapping[str, Reference],
    frameworks: Sequence[str],
    settings: Settings,
    on_row: Callable[[Row], None],
) -> None:
    from opbridge.build.toolchains.compiler_processes import processors
    from opbridge.verify.check.check_processes import build, run

    def jobs(framework: str, checks: tuple[str, ...]) -> list[OperatorChecks]:
        return [
            OperatorChecks(op, op.name, framework, checks, replace(settings, reference=references.get(op.name)))
            for op in operators
        ]

    stop = Event()
    with ThreadPoolExecutor(processors()) as threads:
        chosen = [jobs(name, settings.checks) for name in frameworks if settings.checks]
        try:
            for done in [threads.submit(run, one, on_row, stop) for one in chosen]:
                done.result()
        except BaseException:
            stop.set()  # the processes have their own groups, so Ctrl-C does not reach them
            raise
    for sanitizer in settings.sanitizers:
        # Run one operator per process, because a sanitizer's report does not name the operator.
        build(jobs("numpy", ()), sanitizer)
        for job in jobs("numpy", (sanitizer,)):
            run([job], on_row, stop, sanitizer)


def chosen_frameworks(names: Sequence[str] | None, settings: Settings) -> tuple[str, ...]:
    """Return the frameworks with these names, or all installed ones if no names are given.

    Raises:
        InputError: A framework is unknown, not installed, or has no tensors on the device.
    """
    on_cpu = settings.tensors == "cpu"
    if not on_cpu and settings.sanitizers:
        raise InputError(
            f"sanitizers watch code of the CPU, not of {settings.device}", hint="--device cuda-twin has them"
        )
    if names is None:
        return tuple(row.name for row in FRAMEWORKS.values() if (installed(row) if on_cpu else row.on_devices))
    for name in _known("framework", FRAMEWORKS, names):
        if not on_cpu and not FRAMEWORKS[name].on_devices:
            there = next(row.name for row in FRAMEWORKS.values() if row.on_devices)
            raise InputError(
                f"operators run on {settings.device} in {there}, not in {name}", hint=f"--framework {there}"
            )
        if not installed(FRAMEWORKS[name]):
            raise InputError(f"{name} is not installed", hint=FRAMEWORKS[name].install)
    return tuple(names)


def _known(what: str, known: Iterable[str], given: Iterable[str]) -> tuple[str, ...]:
    choices = list(known)
    for name in given:
        if name not in choices:
            raise InputError(
                f"no {what} '{name}'", hint=did_you_mean(name, choices) or f"there are {', '.join(choices)}"
            )
    return tuple(dict.fromkeys(given))
