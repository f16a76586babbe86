"""Get the registers and spills of a thread of each kernel on a GPU, from ptxas by nvcc."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from opbridge.analysis.profile.chips import Multiprocessor
from opbridge.base.errors import ToolchainError
from opbridge.build.toolchains import nvcc

_ENTRY = re.compile(
    r"Compiling entry function '(?P<name>\w+)'.*?"
    r"(?P<stack>\d+) bytes stack frame, "
    r"(?P<stores>\d+) bytes spill stores, (?P<loads>\d+) bytes spill loads.*?"
    r"Used (?P<registers>\d+) registers",
    re.DOTALL,
)
_ARGUMENTS = re.compile(r"[<(].*")


@dataclass(frozen=True)
class Registers:
    """The registers of a thread."""

    used: int
    spilled: int
    """Bytes that are stored and loaded for lack of registers."""
    local: int = 0
    """Bytes of local memory: spilled ones, and arrays whose indices are known only at run time."""

    def fields(self) -> dict[str, int]:
        """Return the registers as fields for JSON."""
        return {"registers": self.used, "spilled_bytes": self.spilled, "local_bytes": self.local}


def registers_of(source: Path, core: Multiprocessor) -> Mapping[str, Registers]:
    """Return the registers of kernels by name, without namespaces.

    Of the instances of a template, it is the one that needs most. The result is empty if there is no nvcc, or if the
    source does not compile with it.
    """
    try:
        compiler = nvcc.find()
    except ToolchainError:
        return {}
    with tempfile.TemporaryDirectory(prefix="opbridge-ptxas-") as folder:
        output = ["-cubin", "-Xptxas", "-v", "-o", f"{folder}/kernels.cubin"]
        architecture = f"-arch=sm_{core.capability.replace('.', '')}"
        done = subprocess.run([*compiler, architecture, *output, str(source)], capture_output=True, text=True)
    return said(done.stderr) if done.returncode == 0 else {}


def said(text: str) -> Mapping[str, Registers]:
    """Parse the output of `ptxas -v`."""
    entries = list(_ENTRY.finditer(text))
    found: dict[str, Registers] = {}
    for entry, name in zip(entries, _names([entry["name"] for entry in entries]), strict=True):
        registers = Registers(int(entry["registers"]), int(entry["stores"]) + int(entry["loads"]), int(entry["stack"]))
        found[name] = max(registers, found.get(name, registers), key=lambda one: one.used)
    return found


def base_name(kernel: str) -> str:
    """Return the name of a kernel without return type, namespaces, template arguments and parameters."""
    return _ARGUMENTS.sub("", kernel.removeprefix("void ")).rpartition("::")[2]


def _names(mangled: list[str]) -> list[str]:
    done = subprocess.run(["c++filt"], input="\n".join(mangled), capture_output=True, text=True, check=True)
    return [base_name(name) for name in done.stdout.splitlines()]
