"""The checks `gradients` and `opcheck`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from opbridge.verify.check.arrays import Argument, Array
from opbridge.verify.check.drivers import NotHere
from opbridge.verify.check.numeric_derivatives import COMPLEX_STEP, Function, Loss, Tensors, Verdict, study
from opbridge.verify.check.operator_under_test import OperatorUnderTest
from opbridge.verify.check.outcomes import Failure, Skip

_PRECISIONS = ("float64", "float32")
_NEAR = 1e-4


def gradients(subject: OperatorUnderTest) -> Verdict:
    """Compare the analytic derivatives with numeric ones in each available precision."""
    case = subject.case
    precisions = [name for name in _PRECISIONS if name in (subject.facts.dtypes or {subject.dtype})]
    if not precisions:
        raise Skip(f"the kernel has no float64 or float32; it has {', '.join(subject.facts.dtypes) or subject.dtype}")
    # Use a point that all precisions represent exactly.
    given = subject.arguments(subject.typed(case, precisions[-1]))
    names = _differentiable(subject, given)
    if not names:
        raise Skip("no derivatives are declared; `derivatives: {x: grad * ...}` would give it a gradient")
    point = [given[name].values for name in names]
    weights = _weights(subject, given)
    if not any(weight is not None for weight in weights):
        raise Skip("its outputs are not floats")
    functions = [_function(subject, given, names, weights, precision) for precision in precisions]
    verdict = study(functions, point, names, _complex_loss(subject, given, names, weights), subject.settings.seed)
    return verdict if verdict.passed else replace(verdict, sentence=verdict.sentence + _forgotten(subject, weights))


def _forgotten(subject: OperatorUnderTest, weights: list[object]) -> str:
    """Name the outputs whose gradients no formula takes, which count as zero."""
    taken = {place for rule in subject.spec.rules.gradients for place in rule.formula.grads}
    outputs = enumerate(zip(subject.schema.returns, weights, strict=True))
    left = [
        output.name or str(place) for place, (output, weight) in outputs if weight is not None and place not in taken
    ]
    return f"; no formula takes the gradient of output {', '.join(left)}" if taken and left else ""


def can_differentiate(subject: OperatorUnderTest) -> bool:
    """Return whether the framework computes gradients."""
    return subject.driver.has_gradients


def opcheck(subject: OperatorUnderTest) -> str:
    """Run torch.library.opcheck, and return the names of the tests."""
    from opbridge.verify.check.drivers.torch import TorchDriver

    assert isinstance(subject.driver, TorchDriver)
    given = subject.arguments(subject.case)
    values, names = subject.driver.values(subject.schema, given), _differentiable(subject, given)
    try:
        return ", ".join(subject.driver.opcheck(subject.op, subject.schema, values, names))
    except ModuleNotFoundError as error:
        raise Skip(f"PyTorch's checks need {error.name}: pip install {error.name}") from None
    except Exception as error:  # opcheck raises whatever its tests raise
        said = [line.strip() for line in str(error).strip().splitlines() if line.strip()]
        raise Failure(f"torch.library.opcheck: {' '.join(said[:3])[:400]}, for {subject.case}") from error


def is_torch(subject: OperatorUnderTest) -> bool:
    """Return whether the framework is PyTorch and the operator takes tensors."""
    return subject.driver.name == "torch" and bool(subject.schema.tensor_arguments)


def _differentiable(subject: OperatorUnderTest, given: Mapping[str, Argument]) -> list[str]:
    by_framework = any(kernel.operator for kernel in subject.spec.kernels)
    declared = {name for rule in subject.spec.rules.gradients for name in rule.arguments}
    return [
        name
        for name, array in given.items()
        if isinstance(array, Array) and array.dtype in _PRECISIONS and (by_framework or name in declared)
    ]


def _weights(subject: OperatorUnderTest, given: Mapping[str, Argument]) -> list[object]:
    """Return a random factor for each element of each output that is a real float, and None for other outputs."""
    generator = np.random.default_rng(subject.settings.seed)
    return [
        generator.uniform(0.5, 1.5, output.shape) if output.dtype in ("float64", "float32") else None
        for output in subject.run(given)
    ]


def _function(
    subject: OperatorUnderTest, given: Mapping[str, Argument], names: list[str], weights: list[object], precision: str
) -> Function:
    driver, schema = subject.driver, subject.schema
    typed = subject.in_precision(given, precision)

    def loss(tensors: Tensors) -> float:
        moved = {name: Array.of(tensor, precision) for name, tensor in zip(names, tensors, strict=True)}
        # Make new tensors for each call, because an operator may write to them.
        outputs = driver.call(subject.op, schema, driver.values(schema, {**typed, **moved}))
        pairs = zip(weights, outputs, strict=True)
        return float(
            sum((weight * driver.array(output).values).sum() for weight, output in pairs if weight is not None)
        )

    outputs = [driver.array(output) for output in driver.call(subject.op, schema, driver.values(schema, typed))]
    factors = [
        None if weight is None else driver.tensor(Array.of(weight, output.dtype))
        for weight, output in zip(weights, outputs, strict=True)
    ]
    try:
        found = driver.gradients(subject.op, schema, driver.values(schema, typed), names, factors)
    except NotHere:
        raise Skip(f"{driver.name} does not differentiate an operator that writes to its arguments") from None
    return Function(precision, loss, [driver.array(gradient).values for gradient in found])


def _complex_loss(
    subject: OperatorUnderTest, given: Mapping[str, Argument], names: list[str], weights: Tensors
) -> Loss | None:
    """Return the loss of the reference for complex tensors, if that is a function that is analytic at these inputs."""
    if not subject.oracle.is_python:
        return None
    fixed = {name: value.values if isinstance(value, Array) else value for name, value in given.items()}
    if any(isinstance(value, tuple) and any(isinstance(item, Array) for item in value) for value in given.values()):
        return None

    def evaluated(tensors: Tensors) -> complex:
        outputs = subject.oracle.complex_outputs({**fixed, **dict(zip(names, tensors, strict=True))})
        pairs = zip(weights, outputs, strict=True)
        return complex(sum((weight * output).sum() for weight, output in pairs if weight is not None))

    def loss(tensors: Tensors) -> float:
        return evaluated(tensors).imag

    point = [given[name].values for name in names]
    try:
        exact = loss([tensor + 1j * COMPLEX_STEP for tensor in point]) / COMPLEX_STEP
        slope = (
            evaluated([tensor + 1e-6 for tensor in point]) - evaluated([tensor - 1e-6 for tensor in point])
        ).real / 2e-6
    except Exception:  # a function that rejects complex numbers may raise anything
        return None
    return loss if math.isclose(exact, slope, rel_tol=_NEAR, abs_tol=_NEAR) else None
