"""Profile an operator of a manifest, with arguments from its samples or its rules."""

from __future__ import annotations

from collections.abc import Iterator

from opbridge.analysis.profile.chips import WARP, chip_named
from opbridge.analysis.profile.profile_contents import Profile
from opbridge.analysis.profile.profiled_process import profile, profile_sample
from opbridge.base.errors import InputError, KernelError
from opbridge.verify.check import inputs
from opbridge.verify.check.arrays import arguments
from opbridge.verify.check.drivers import driver, packed
from opbridge.verify.check.kernel_declarations import in_numpy
from opbridge.waist.manifest import OpSpec
from opbridge.waist.op import Op

_ELEMENTS = 65_536
_SEED = 0


def profile_operator(op: Op, chip: str | None = None) -> Profile:
    """Profile an operator by its first sample.

    Without samples, the arguments are tensors of 65536 floats in the first form that the operator accepts.

    Raises:
        InputError: No form gives arguments that the operator accepts.
    """
    refusal = ""
    for case in _cases(op.spec):
        numpy = driver("numpy")
        values, attributes = packed(op.schema, numpy.values(op.schema, arguments(case, _SEED)))
        try:
            return profile(op, *values, chip=chip, **attributes)
        except KernelError as error:
            refusal = refusal or str(error)
    raise InputError(f"no input could be made for {op.name}: {refusal}", hint=inputs.needs_samples(op.spec))


def predicted_seconds(op: Op, case: inputs.Case, chip: str, seed: int) -> float:
    """Return the predicted time of the kernels of one call, on a chip that need not be present."""
    found = chip_named(chip)
    in_numpy(op, found.twin)  # refuses an operator without a kernel before a process is started
    values, attributes = packed(op.schema, driver("numpy").values(op.schema, arguments(case, seed)))
    return profile_sample(op, values, attributes, found).seconds


def _cases(spec: OpSpec) -> Iterator[inputs.Case]:
    samples = inputs.samples_of(spec)
    if samples:
        yield samples[0]
        return
    types = {argument.name: "float32" for argument in spec.schema.tensor_arguments}
    for form in inputs.forms(spec):
        letters = inputs.letters_of(form)
        side = max(WARP, round(_ELEMENTS ** (1 / max(len(letters), 1)) / WARP) * WARP)
        if case := inputs.case(spec, form, "profile", types, sizes=[side] * len(letters)):
            yield case
