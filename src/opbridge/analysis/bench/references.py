"""Find what an operator races: a PyTorch operator, one of its own library, another kernel, or a Python function."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from opbridge.analysis.bench.measurement import OperatorTimings
from opbridge.base.errors import InputError, did_you_mean
from opbridge.frameworks import FRAMEWORKS
from opbridge.verify.check.drivers import Driver, NotHere, driver, listed, packed
from opbridge.verify.check.kernel_declarations import in_numpy
from opbridge.verify.check.operator_under_test import OperatorUnderTest
from opbridge.verify.check.references import function_at, reference_of
from opbridge.verify.check.results import Reference
from opbridge.waist.manifest import DEVICES
from opbridge.waist.manifest.kernel_origins import TWINS

_FORMS = "expected an operator of the manifest, aten::name, a device, module:function or file.py:function"


def resolve(text: str, operators: Mapping[str, object]) -> Reference:
    """Return the reference that a user wrote; `operators` are those of the library by full name.

    Raises:
        InputError: There is no such reference.
    """
    if text.startswith("aten::") or text in DEVICES:
        return reference_of(text)
    full = [name for name in operators if text in (name, name.partition("::")[2])]
    if full:
        return Reference("operator", full[0])
    if ":" in text.replace("::", ""):
        return reference_of(text)
    known: Iterable[str] = (*(name.partition("::")[2] for name in operators), *operators, *DEVICES)
    raise InputError(f"there is no reference '{text}'", hint=did_you_mean(text, known) or _FORMS)


def assigned(
    texts: Iterable[str], names: Sequence[str], operators: Mapping[str, object]
) -> dict[str, tuple[Reference, ...]]:
    """Return the references of each named operator, from texts of the form `reference` and `operator=reference`.

    Raises:
        InputError: A text names an unknown reference or operator, or is ambiguous.
    """
    found: dict[str, tuple[Reference, ...]] = {}
    for text in texts:
        short, equals, rest = text.partition("=")
        of = [name for name in names if not equals or short in (name, name.partition("::")[2])]
        if equals and not of:
            hint = did_you_mean(short, [name.partition("::")[2] for name in names]) or _FORMS
            raise InputError(f"'{text}' is a reference for '{short}', which is not measured", hint=hint)
        if len(of) > 1 and text not in DEVICES:
            hint = f"say whose: --reference {names[0].partition('::')[2]}={text}, or choose the operator: --op NAME"
            raise InputError(f"{text} is a reference for one operator, not for {len(of)}", hint=hint)
        for name in of:
            found[name] = (*found.get(name, ()), resolve(rest or text, operators))
    return found


@dataclass(frozen=True)
class Racer:
    """A function, and the driver of the framework whose tensors it takes."""

    name: str
    driver: Driver
    function: Callable[..., Any]

    def values(self, subject: OperatorUnderTest, given: Mapping[str, object]) -> tuple[list[Any], dict[str, Any]]:
        """Convert the arguments to positional and keyword values of the framework."""
        return packed(subject.schema, self.driver.values(subject.schema, given))

    def outputs(self, subject: OperatorUnderTest, given: Mapping[str, object]) -> list[Any]:
        """Call the function and return its results as arrays."""
        args, kwargs = self.values(subject, given)
        return [self.driver.array(output) for output in listed(self.function(*args, **kwargs))]


def operator(subject: OperatorUnderTest) -> Racer:
    """Return the racer of the operator itself."""
    target = subject.op if subject.schema.tensor_arguments else getattr(subject.op, subject.driver.name)
    return Racer(subject.schema.full_name, subject.driver, target)


def opponent(job: OperatorTimings, subject: OperatorUnderTest) -> Racer | None:
    """Return the first reference that can be called in the framework of `subject`; None if there is none."""
    for reference in job.settings.references.get(job.operator, ()):
        racer = _racer(reference, job, subject)
        if racer is not None:
            return racer
    return None


def _racer(reference: Reference, job: OperatorTimings, subject: OperatorUnderTest) -> Racer | None:
    here, name = subject.driver, reference.name
    if reference.kind == "operator":
        return Racer(name, here, job.others[name])
    if reference.kind == "aten":
        import opbridge as ob

        op = ob.aten(name.removeprefix("aten::"))
        return Racer(name, here, op.torch if here.name == "torch" else op)
    if reference.kind == "python":
        framework = _framework_of(name)
        return Racer(str(reference), here, function_at(name)) if framework in (None, here.name) else None
    if {name, job.settings.device} <= {"cpu", *TWINS}:
        # A process can register each operator name only once; in NumPy alone, a kernel can be called directly.
        return Racer(str(reference), here, in_numpy(subject.op, name)) if here.name == "numpy" else None
    try:
        there = driver(here.name, "cpu" if name in TWINS else name)
    except NotHere:
        return None
    return Racer(str(reference), there, subject.op)


def _framework_of(address: str) -> str | None:
    """Return the framework whose package a function is from; None for user code, which may take tensors of any."""
    package = address.partition(":")[0].partition(".")[0]
    return next((name for name, framework in FRAMEWORKS.items() if package in framework.packages), None)
