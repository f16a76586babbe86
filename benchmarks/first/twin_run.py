"""A program for torch_npu by opbridge twin run."""

import subprocess
import sys
from pathlib import Path

PROGRAM = """
import torch
import torch_npu
assert (torch.ones(4).npu() + 1).tolist() == [2] * 4
"""

Path("program.py").write_text(PROGRAM)
subprocess.run([sys.executable, "-m", "opbridge", "twin", "run", "program.py"], check=True)
