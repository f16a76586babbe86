"""Predict how long the kernels of a measured call would take on another chip."""

from __future__ import annotations

from dataclasses import replace

from opbridge.analysis.bench.measurement import Measurement, OperatorTimings
from opbridge.base.errors import OpbridgeError
from opbridge.verify.check.inputs import Case


def with_prediction(job: OperatorTimings, case: Case, measured: Measurement) -> Measurement:
    """Return the measurement with the prediction for the chip of the settings, or with a note why there is none."""
    chip = job.settings.chip
    if not chip:
        return measured
    try:
        return replace(measured, chip=chip, predicted=_seconds(job, case, measured.input))
    except OpbridgeError as error:
        why = f"not predicted for {chip}: {str(error).splitlines()[0]}"
        return replace(measured, note="; ".join(filter(None, (measured.note, why))))


def _seconds(job: OperatorTimings, case: Case, shown: str) -> float:
    from opbridge.analysis.profile.manifest_operator import predicted_seconds

    if shown in job.predicted:
        return job.predicted[shown]
    return predicted_seconds(job.op, case, job.settings.chip, job.settings.seed)
