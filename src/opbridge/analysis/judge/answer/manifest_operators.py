"""Judge the operators of a manifest: turn the findings of `opbridge check`, including its twins, into a verdict."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from opbridge.analysis.judge.judgement import TRIED_SHAPES, Judgement, Reason, Verdict
from opbridge.analysis.judge.task.gpu_mode import TASK
from opbridge.authoring.loading import MANIFEST_SUFFIXES, load
from opbridge.base.errors import BuildError, InputError
from opbridge.frameworks import FRAMEWORKS, installed
from opbridge.verify.check import Row, Status, check
from opbridge.waist.manifest.kernel_origins import DEVICES, TWINS
from opbridge.waist.op import Op, OpLibrary

_PLACE = re.compile(r"([\w./-]+\.(?:cpp|cc|cu|cuh|h|yaml):\d+)")
_FRAMEWORKS = ("numpy", "torch")
"""NumPy checks values and memory, PyTorch checks gradients; others would only judge the adapters."""


def is_manifest(path: str | os.PathLike[str]) -> bool:
    """Return whether the path is a manifest; a task of GPU MODE is not."""
    return Path(path).suffix in MANIFEST_SUFFIXES and Path(path).name != TASK


def judge_operators(
    manifest: str | os.PathLike[str], reference: str | None = None, *, seed: int = 0, timeout: float = 60.0
) -> Judgement:
    """Judge all operators of a manifest on every device that it has kernels for.

    `reference` is what `opbridge check --reference` accepts; without one, twin kernels are compared with CPU
    kernels.

    Raises:
        InputError: The manifest has no operators, or several for one reference.
    """
    started = time.perf_counter()
    try:
        found = verdict_of(_of_all_devices(manifest, reference, seed, timeout), seed)
    except BuildError as error:
        said = f"it does not compile: {str(error).splitlines()[0]}"
        found = Judgement(Verdict.BROKEN, (Reason("build", said, "correct it", _place(str(error))),))
    return replace(found, seconds=round(time.perf_counter() - started, 1))


def _of_all_devices(manifest: str | os.PathLike[str], reference: str | None, seed: int, timeout: float) -> list[Row]:
    library: OpLibrary = load(manifest)
    if not len(library):
        raise InputError(f"{os.fspath(manifest)} declares no operators")
    if reference is not None and reference not in DEVICES and len(library) > 1:
        raise InputError(
            f"{reference} is the reference of one operator, and {os.fspath(manifest)} declares {len(library)}",
            hint="put each into a separate manifest, or name the operator: opbridge check --reference NAME=...",
        )
    return [row for device in _devices(library) for row in _rows(manifest, device, reference, seed, timeout)]


def _devices(operators: Iterable[Op]) -> list[str]:
    of_kernels = {kernel.device for op in operators for kernel in op.spec.kernels}
    twins = [name for name, twin in TWINS.items() if twin.of in of_kernels]
    return [*(["cpu"] if "cpu" in of_kernels else []), *twins]


def _rows(manifest: str | os.PathLike[str], device: str, reference: str | None, seed: int, timeout: float) -> list[Row]:
    own = TWINS[device].of if device in TWINS else device
    library: OpLibrary = load(manifest, device=device)
    operators = [op for op in library if op.spec.kernel(own) is not None]
    frameworks = [name for name in _FRAMEWORKS if installed(FRAMEWORKS[name])]
    if reference is None and device in TWINS and all(op.spec.kernel("cpu") is not None for op in operators):
        reference = "cpu"
    return check(operators, frameworks=frameworks, reference=reference, device=device, seed=seed, timeout=timeout)


def verdict_of(rows: list[Row], seed: int) -> Judgement:
    """Return the verdict of the rows of a check.

    Failed rows make it wrong. It is right only if all checks of values in NumPy passed.
    """
    bad = tuple(
        Reason(
            row.check,
            f"{row.operator}, {row.framework} on {row.device}: {row.message}",
            "",
            _place(row.message),
            "",
            seed,
        )
        for row in rows
        if row.failed
    )
    if bad:
        return Judgement(Verdict.WRONG, bad)
    held = [row for row in rows if row.check == "values" and row.framework == "numpy"]
    if not held or any(row.status is not Status.PASSED for row in held):
        message = "no error was found, but there is no reference for the values"
        reason = Reason("values", message, "name a reference: opbridge judge ops.yaml aten::NAME or module:function")
        return Judgement(Verdict.UNDECIDED, (reason,))
    return Judgement(
        Verdict.RIGHT, holds_for=TRIED_SHAPES, shapes=tuple(f"{row.operator} on {row.device}" for row in held)
    )


def _place(message: str) -> str:
    found = _PLACE.search(message)
    return os.path.basename(found[1]) if found else ""
