"""A line below the demo's table: a PyTorch extension with a gradient, compiled and imported in its own process."""

from __future__ import annotations

import json
from pathlib import Path

from opbridge.build.cache import Cache
from opbridge.cli.demo.programs import ended, program
from opbridge.cli.demo.scenarios import EXTENSION, NO_TORCH
from opbridge.cli.terminal import green, red
from opbridge.verify.check.child_process import Child

_PROGRAM = "opbridge.cli.demo.cell"


def start_extension(folder: Path, frameworks: list[str]) -> Child | None:
    """Start to build, call and check the extension; return None without PyTorch."""
    return program(folder, _PROGRAM, EXTENSION.file) if "torch" in frameworks else None


def show_extension(running: Child | None, width: int, frameworks: list[str]) -> bool:
    """Wait for the extension, print its line, and return whether it is wrong."""
    line = f"\n  {EXTENSION.source:{width}}  {EXTENSION.operator:13} "
    if running is None:
        print(f"{line}{'':9} {NO_TORCH}")
        return False
    with Cache().step("compiling a PyTorch extension"):
        code, printed = ended(running)
    if code:
        print(f"{line}\n{printed}")
        return True
    seconds, right = json.loads(printed.splitlines()[-1])
    marks = " ".join(
        (green("✓∂") if right else red("✗✗")) + " " * 8 if name == "torch" else " " * 10 for name in frameworks
    )
    print(f"{line}{f'{seconds:.2f} s':9} {marks}")
    return not right
