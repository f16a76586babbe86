"""PyTorch's `cuda` by the twin: the tests themselves stand in `inside`, and run in a process of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

INSIDE = Path(__file__).parent / "inside"


def test_the_device_and_an_extension() -> None:
    """One process and one build for all of it.  60 s where nothing is cached."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "0"]
    files = [str(INSIDE / name) for name in ("device.py", "extension.py")]
    done = subprocess.run([*command, *files], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_program_needs_not_know(tmp_path: Path) -> None:
    """By `twin run` the device is there as soon as PyTorch is, and in processes that the program starts."""
    (tmp_path / "script.py").write_text(
        "import subprocess, sys, torch\n"
        "x = torch.ones(3).cuda()\n"
        "print(torch.cuda.is_available(), x.sum().item())\n"
        "if len(sys.argv) == 1: subprocess.run([sys.executable, __file__, 'again'])\n"
    )
    command = [sys.executable, "-m", "opbridge", "twin", "run", "script.py"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=os.environ)
    assert run.stdout == "True 3.0\n" * 2, run.stderr


def test_what_nobody_asked_for_is_said_at_the_end(tmp_path: Path) -> None:
    program = "import opbridge.cuda_twin, torch\nfrom opbridge.cuda_twin import native\n"
    told = subprocess.run(
        [sys.executable, "-c", program + "torch.cuda.set_device(0)\nprint(torch.cuda.device_count())"],
        capture_output=True,
        text=True,
        env=os.environ | {"CUDA_VISIBLE_DEVICES": ""},
    )
    assert told.stdout == "0\n", told.stderr
