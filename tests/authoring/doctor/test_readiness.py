"""The last line of `opbridge doctor`."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from opbridge.authoring.doctor.finding import Finding
from opbridge.authoring.doctor.parts import LATER, READY, parts
from opbridge.authoring.doctor.readiness import readiness
from opbridge.build.toolchains import prebuilt
from opbridge.twins.ascend import toolchain as ascend_twin

HERE = {
    "C++ compiler": "/usr/bin/g++, g++ (Debian 12.2.0-14+deb12u1) 12.2.0",
    "torch": "2.13.0+cpu, new std::string, imported in 1.3 s",
    "numpy": "1.26.4, imported in 0.1 s",
    "PyTorch adapter": READY,
    "CUDA twin": READY,
}


def findings(**changes: str | None) -> Iterable[Finding]:
    found = HERE | {name.replace("_", " "): value for name, value in changes.items()}
    return [Finding(what, value, required=False) for what, value in found.items()]


def test_what_is_ready() -> None:
    assert readiness([*findings()]) == (
        "ready: PyTorch 2.13, NumPy 1.26; no GPU; compiler g++ 12.2; everything prebuilt"
    )


def test_a_gpu_and_clang() -> None:
    clang = {"C++ compiler": "/opt/clang++ --x, Debian clang version 14.0.6"}
    line = readiness([*findings(NVIDIA_driver="NVIDIA H100 PCIe, 550.54", **clang)])
    assert "; GPU NVIDIA H100 PCIe; compiler clang++ --x 14.0; " in line


def test_what_a_first_use_would_compile() -> None:
    line = readiness([*findings(PyTorch_adapter=f"{LATER}, in 41 s last time")])
    assert line.endswith(f"; {LATER}: PyTorch adapter (opbridge demo compiles them now)")


def test_the_first_thing_that_is_missing_and_its_command() -> None:
    missing = Finding("C++ compiler", None, "no C++ compiler\n  install one: sudo apt install g++")
    line = readiness([missing, Finding("numpy", None, "pip install numpy"), *findings()])
    assert line == "not ready: C++ compiler: no C++ compiler install one: sudo apt install g++"


def test_parts_without_a_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """What cannot be compiled is reported with the way out, unless the wheel includes it."""
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CXX", raising=False)
    asked = ascend_twin.runtime_request()
    monkeypatch.setattr(prebuilt, "find", lambda request: request.sources[0] if request == asked else None)
    found = {part.what: part for part in parts()}
    assert found["Ascend C twin"].found == READY
    assert found["CUDA twin"].found is None
    assert "no C++ compiler" in found["CUDA twin"].cure
