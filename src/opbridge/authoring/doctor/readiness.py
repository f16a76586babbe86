"""One line that says whether this machine is ready, or what to do first."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from opbridge.authoring.doctor.finding import Finding
from opbridge.authoring.doctor.parts import LATER
from opbridge.authoring.doctor.parts import NAMES as PARTS

_NAMES = {"torch": "PyTorch", "jax": "JAX", "numpy": "NumPy", "mindspore": "MindSpore", "paddle": "Paddle"}


def readiness(findings: Sequence[Finding]) -> str:
    """Return what is ready; if something required is missing, the first such part and the command that installs it."""
    if wrong := next((finding for finding in findings if finding.is_wrong), None):
        return f"not ready: {wrong.what}: {' '.join(wrong.cure.split())}"
    found = {finding.what: finding.found for finding in findings if finding.found is not None}
    said = (_frameworks(found), _gpus(found), _compiler(found["C++ compiler"]), _parts(found))
    return f"ready: {'; '.join(said)}"


def _frameworks(found: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {_short(found[key])}" for key, name in _NAMES.items() if key in found)


def _gpus(found: Mapping[str, str]) -> str:
    driver = found.get("NVIDIA driver")
    return f"GPU {driver.splitlines()[0].partition(',')[0]}" if driver else "no GPU"


def _compiler(found: str) -> str:
    command, _, said = found.partition(", ")
    return f"compiler {command.rpartition('/')[2]} {_short(said.rpartition(') ')[2])}"


def _short(version: str) -> str:
    """Return the first two numbers of the first version in a text."""
    numbers = re.search(r"\d+(\.\d+)?", version)
    return numbers.group() if numbers else version


def _parts(found: Mapping[str, str]) -> str:
    missing = [part for part in PARTS if found.get(part, "").startswith(LATER)]
    if missing:
        return f"{LATER}: {', '.join(missing)} (opbridge demo compiles them now)"
    return "everything prebuilt"
