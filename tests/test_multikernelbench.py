"""examples/multikernelbench: an answer is built, run and judged behind the interface that MultiKernelBench has."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from ascend_answer import REFERENCE, answer
from forked_python import PYTHON

ROOT = Path(__file__).parents[1]

BENCHMARK = {
    "backends/backend_registry.py": "class Backend: ...\ndef register_backend(name):\n    return lambda one: one\n",
    "utils/cheating_detection.py": "def detect_python_kernel_cheating(code):\n    return False, None\n",
    "utils/correctness.py": (
        "def execute_template(synchronize, device, context):\n"
        "    given = [x.to(device) for x in context['get_inputs']()]\n"
        "    ours, theirs = context['ModelNew']()(*given), context['Model']()(*given)\n"
        "    synchronize()\n"
        "    return bool((ours == theirs).all()), ''\n"
    ),
}
JUDGE = """
import sys
from backends.ascendc_twin_backend import AscendTwinBackend
backend = AscendTwinBackend()
print(backend.compile(open("answer.py").read(), "scaled_sum"))
print(backend.correctness_execution(open("reference.py").read()))
print(AscendTwinBackend().compile("kernel_src =", "scaled_sum")[0])
"""


@pytest.mark.matrix("tests/analysis/judge/answer/test_ascend_models.py judges such answers")
def test_an_answer_is_judged(tmp_path: Path) -> None:
    files = {
        **BENCHMARK,
        "judge.py": JUDGE,
        "reference.py": REFERENCE,
        "answer.py": answer(),
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    shutil.copy(ROOT / "examples" / "multikernelbench" / "ascendc_twin_backend.py", tmp_path / "backends")
    command = [PYTHON, "-m", "opbridge", "twin", "run", PYTHON, "judge.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=None)
    assert done.stdout.splitlines() == ["(True, None)", "(True, '')", "False"], done.stdout + done.stderr
