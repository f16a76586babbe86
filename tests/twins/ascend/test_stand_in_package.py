"""The package that `opbridge twin run` puts in place of torch_npu is written without PyTorch's import."""

from __future__ import annotations

import subprocess
import sys

CODE = """
import sys
from pathlib import Path
from opbridge.twins.ascend.stand_in_package import environment
variables = environment({"PATH": "/usr/bin"}, Path("/cann"))
print(variables["PATH"], Path(variables["TORCH_NPU_PATH"], "__init__.py").is_file(), "torch" in sys.modules)
"""


def test_the_environment_of_a_program_is_made_without_pytorch() -> None:
    said = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True).stdout
    assert said.split() == ["/cann/bin:/usr/bin", "True", "False"]
