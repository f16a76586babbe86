"""The demo's scenarios: the sources that users have, their build times, and marks for the results of their checks."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from opbridge.build.sources.store import source_request
from opbridge.build.toolchains import build_many
from opbridge.cli.terminal import green, red
from opbridge.verify.check import Row, Status

NO_TORCH = "needs PyTorch: pip install torch"


@dataclass(frozen=True)
class Scenario:
    """One kind of source that users have, and the operator it becomes."""

    source: str
    operator: str
    file: str
    device: str = "cpu"

    @property
    def is_built(self) -> bool:
        """Whether a compiler is needed: not for operators that PyTorch provides."""
        return not self.file.startswith("aten::")


SCENARIOS = (
    Scenario("a C++ kernel", "swiglu", "swiglu.cpp"),
    Scenario("PyTorch's operator, by name", "softshrink", "aten::softshrink"),
    Scenario("a CUDA kernel, on the CPU", "row_norm", "row_norm.cu", "cuda-twin"),
    Scenario("an Ascend C kernel, on the CPU", "squared_relu", "squared_relu.cpp", "ascend-twin"),
)
EXTENSION = Scenario("a PyTorch extension", "cell", "cell.cpp")


def seconds_to_build(folder: Path) -> dict[str, float]:
    """Build all sources at the same time, and return the compile time of each operator in seconds."""
    built = [one for one in SCENARIOS if one.is_built]
    libraries = build_many([source_request(folder, one.file, one.device) for one in built])
    return {one.operator: library.seconds for one, library in zip(built, libraries, strict=True)}


def mark(rows: list[Row], operator: str, framework: str) -> str:
    """Return the marks for an operator's values and gradients in a framework, padded to the column's width."""
    of = {row.check: row for row in rows if (row.operator, row.framework) == (f"demo::{operator}", framework)}
    shown = ""
    for name, sign in (("values", "✓"), ("gradients", "∂")):
        row = of.get(name)
        if row is not None and row.status is not Status.SKIPPED:
            shown += red("✗") if row.failed else green(sign)
        else:
            shown += " "
    return shown + " " * 8
