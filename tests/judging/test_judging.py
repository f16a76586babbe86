"""What is right, what is not, and what pretends to be."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import attacks
import pytest
from tests.helpers.confinement import needs_confinement

import opbridge as ob
from opbridge.errors import InputError
from opbridge.judging import Judgement, Verdict

ALL = {**attacks.FEW, **(attacks.MANY if "OPBRIDGE_ALL_ATTACKS" in os.environ else {})}


@pytest.fixture(scope="session")
def task(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With the extension of most answers in the cache, where no answer could leave it for the next."""
    needs_confinement()
    folder = tmp_path_factory.mktemp("task")
    (folder / "reference.py").write_text(attacks.TASK)
    (folder / "extension.py").write_text("import opbridge.cuda_twin\n" + attacks.EXTENSION)
    subprocess.run([sys.executable, "extension.py"], cwd=folder, check=True)
    return folder / "reference.py"


def judged(task: Path, folder: Path, source: str) -> Judgement:
    answer = folder / "answer.py"
    answer.write_text(source.replace("{reference!r}", repr(str(task))))
    return ob.judge(task, answer, timeout=300)


def test_what_is_right_is_right(task: Path, tmp_path: Path) -> None:
    found = judged(task, tmp_path, attacks.RIGHT)
    assert found.verdict is Verdict.RIGHT, found
    assert found.holds_for == "all shapes"
    assert "float32[16, 2048]" in found.shapes
    assert Judgement.parse(found.to_json()) == found


def test_what_a_task_makes_zero_stays_so(task: Path, tmp_path: Path) -> None:
    triangular = tmp_path / "reference.py"
    triangular.write_text(
        attacks.TASK.replace("torch.relu(x)", "torch.relu(torch.tril(x))")
        .replace("[torch.rand", "[torch.tril(torch.rand")
        .replace("dim)]", "dim))]")
    )
    assert judged(triangular, tmp_path, attacks.RIGHT).verdict is Verdict.RIGHT


@pytest.mark.parametrize(
    ("bug", "check"),
    [
        (("y[i] =", "y[i + 1] ="), "out-of-bounds"),
        (("fmaxf(x[i], 0.0f)", "fabsf(x[i])"), "values"),
        (("float s, int n", "float s, int n, int m"), "build"),
    ],
)
def test_what_is_wrong_is_named(task: Path, tmp_path: Path, bug: tuple[str, str], check: str) -> None:
    found = judged(task, tmp_path, attacks.RIGHT.replace(*bug))
    assert found.verdict is (Verdict.BROKEN if check == "build" else Verdict.WRONG), found
    assert found.reasons[0].check == check, found
    if check != "values":
        assert found.reasons[0].place.startswith("cuda.cu:")


@pytest.mark.parametrize(("gradient", "verdict"), [("g * s * (x > 0)", "right"), ("g * (x > 0)", "wrong")])
def test_gradients_of_its_own_are_held(task: Path, tmp_path: Path, gradient: str, verdict: str) -> None:
    found = judged(task, tmp_path, attacks.DIFFERENTIABLE.replace("GRADIENT", gradient))
    assert found.verdict.value == verdict, found
    assert [reason.check for reason in found.reasons] == ["gradients"] * (verdict == "wrong")


@pytest.mark.parametrize("name", attacks.SEEN_IN_THE_TEXT)
def test_who_looks_at_callers_is_told(tmp_path: Path, name: str) -> None:
    task = tmp_path / "reference.py"
    task.write_text(attacks.TASK)
    found = judged(task, tmp_path, attacks.SEEN_IN_THE_TEXT[name])
    assert found.verdict is Verdict.CHEATING
    assert found.reasons[0].place.startswith("answer.py:")


@pytest.mark.parametrize("name", ALL)
def test_an_attack_is_not_believed(task: Path, tmp_path: Path, name: str) -> None:
    source, verdict, check = ALL[name]
    found = judged(task, tmp_path, source)
    assert found.verdict.value == verdict, found
    assert check in [reason.check for reason in found.reasons]


def test_variables_of_compilers_are_no_secret(tmp_path: Path) -> None:
    from opbridge.judging.tampering import written

    assert not written('import os\nos.environ["TORCH_CUDA_ARCH_LIST"] = "8.0"\nos.environ.get("CUDA_HOME")\n', "a.py")


def test_a_bad_task_is_not_the_answers_fault(tmp_path: Path) -> None:
    (tmp_path / "task.py").write_text("class Model: pass\n")
    with pytest.raises(InputError, match="get_inputs is not there"):
        judged(tmp_path / "task.py", tmp_path, attacks.RIGHT)


def test_a_task_may_harm_nobody_either(tmp_path: Path) -> None:
    needs_confinement()
    target = tmp_path / "written"
    task = tmp_path / "task.py"
    task.write_text(
        attacks.TASK.replace("def get_inputs():", f"def get_inputs():\n    open({str(target)!r}, 'w').close()")
    )
    with pytest.raises(InputError, match="is a bad task: PermissionError"):
        judged(task, tmp_path, "class ModelNew: pass\n")
    assert not target.exists()
