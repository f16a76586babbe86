"""What is right, what is not, and what pretends to be."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import attacks
import pytest
from forked_python import PYTHON
from tests.helpers.confinement import needs_confinement

import opbridge as ob
from opbridge.analysis.judge import Judgement, Verdict
from opbridge.base.errors import InputError

Judged = Callable[[Path, str], Judgement]
ALL = {**attacks.FEW, **(attacks.MANY if "OPBRIDGE_ALL_ATTACKS" in os.environ else {})}


@pytest.fixture(scope="session")
def task(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With the extension of most answers in the cache, where no answer could leave it for the next."""
    needs_confinement()
    folder = tmp_path_factory.mktemp("task")
    (folder / "reference.py").write_text(attacks.TASK)
    (folder / "extension.py").write_text("import opbridge.cuda_twin\n" + attacks.EXTENSION)
    subprocess.run([PYTHON, "extension.py"], cwd=folder, check=True)
    return folder / "reference.py"


def test_what_is_right_is_right(judged: Judged, task: Path) -> None:
    found = judged(task, attacks.RIGHT)
    assert found.verdict is Verdict.RIGHT, found
    assert found.holds_for == "all shapes"
    assert "float32[16, 2048]" in found.shapes
    assert found.seed not in (None, judged(task, attacks.RIGHT.replace("y[i] =", "y[i + 1] =")).seed)
    assert Judgement.parse(found.to_json()) == found


@pytest.mark.matrix("test_parts.py::test_lists_of_sizes")
def test_sizes_may_stand_in_lists(judged: Judged, task: Path, tmp_path: Path) -> None:
    listed = tmp_path / "reference.py"
    listed.write_text(
        attacks.TASK.replace("batch = 16\ndim = 2048", "sizes = [16, 2048]").replace("batch, dim", "*sizes")
    )
    found = judged(listed, attacks.RIGHT)
    assert (found.verdict, found.holds_for) == (Verdict.RIGHT, "all shapes"), found
    assert "float32[16, 64]" in found.shapes


def test_a_library_of_cudas_computes_as_kernels_do(judged: Judged, task: Path, tmp_path: Path) -> None:
    by_cublas = attacks.RIGHT.replace(
        "__global__ void kernel", "#include <cublas_v2.h>\n__global__ void kernel"
    ).replace(
        "const int n = x.numel();\n  kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), s, n);",
        """
  cublasHandle_t handle;
  cublasCreate(&handle);
  const float one = 1, zero = 0;
  cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_T, x.size(0), x.size(0), x.size(1), &one, x.data_ptr<float>(), x.size(0),
              x.data_ptr<float>(), x.size(0), &zero, y.data_ptr<float>(), x.size(0));
  cublasDestroy(handle);""",
    )
    assert "cublasSgemm" in by_cublas
    product = tmp_path / "reference.py"
    product.write_text(
        attacks.TASK.replace("torch.relu(x) * self.scale", "x.T @ x").replace("rand(batch, dim)", "rand(batch, batch)")
    )
    found = judged(product, by_cublas)
    assert found.verdict is Verdict.RIGHT, found


@pytest.mark.matrix(
    "verdict/test_verdict_from_runs.py::test_a_task_that_gives_the_same_for_all_inputs_is_said_to_be_one"
)
def test_a_task_that_gives_the_same_for_all_inputs(judged: Judged, task: Path, tmp_path: Path) -> None:
    constant = tmp_path / "reference.py"
    constant.write_text(attacks.TASK.replace("[2.0]", "[0.0]"))
    found = judged(constant, attacks.RIGHT)
    assert (found.verdict, found.holds_for) == (Verdict.RIGHT, "published shapes")
    assert [reason.check for reason in found.reasons] == ["constant"]
    assert judged(constant, attacks.RIGHT.replace("self.scale)", "2)")).verdict is Verdict.WRONG
    constant.write_text(constant.read_text().replace("batch = 16", "batch = 65536"))
    found = judged(constant, attacks.RIGHT.replace("self.scale)", "2)"))
    assert found.verdict is Verdict.WRONG, f"it is so at smaller sizes too: {found}"


def test_what_a_task_makes_zero_stays_so(judged: Judged, task: Path, tmp_path: Path) -> None:
    triangular = tmp_path / "reference.py"
    triangular.write_text(
        attacks.TASK.replace("torch.relu(x)", "torch.relu(torch.tril(x))")
        .replace("[torch.rand", "[torch.tril(torch.rand")
        .replace("dim)]", "dim))]")
    )
    assert judged(triangular, attacks.RIGHT).verdict is Verdict.RIGHT


@pytest.mark.cases(2)
@pytest.mark.parametrize(
    ("bug", "check"),
    [
        (("y[i] =", "y[i + 1] ="), "out-of-bounds"),
        # What the task draws is from 0 to 1.
        (("y[i] =", "y[x[i] >= 3 ? i / 2 : i] ="), "global-race"),
        (("float s, int n", "float s, int n, int m"), "build"),
        (("fmaxf(x[i], 0.0f)", "fabsf(x[i])"), "values"),
    ],
)
def test_what_is_wrong_is_named(judged: Judged, task: Path, bug: tuple[str, str], check: str) -> None:
    found = judged(task, attacks.RIGHT.replace(*bug))
    assert found.verdict is (Verdict.BROKEN if check == "build" else Verdict.WRONG), found
    assert found.reasons[0].check == check, found
    if check != "values":
        assert found.reasons[0].place.startswith("cuda.cu:")


@pytest.mark.matrix("verdict/test_verdict_from_runs.py::test_an_answer_may_rely_on_numbers_as_its_task_draws_them")
def test_an_answer_may_be_right_for_numbers_as_the_task_draws_them(judged: Judged, task: Path) -> None:
    found = judged(task, attacks.RIGHT.replace("x[i]", "(x[i] < 3 ? x[i] : 3)"))
    assert (found.verdict, found.holds_for) == (Verdict.RIGHT, "published numbers"), found
    assert (found.reasons[0].check, found.reasons[0].shape) == ("values", "float32[16, 64] up to 16")


_WIDE = (("const int n =", "const int64_t n ="), ("float s, int n", "float s, int64_t n"))
_LONG_INDEX = ("const int i = blockIdx.x", "const int64_t i = int64_t{blockIdx.x}")
# They read what a block wrote that is left out at such sizes.
_FEW_BLOCKS = (
    "  return y;",
    "  float* some = y.data_ptr<float>() + 768;\n  kernel<<<1, 1>>>(some, some, 1, 1);\n  return y;",
)
_ROWS = (
    ("const int i = blockIdx.x * blockDim.x", "const int64_t i = (blockIdx.y * int64_t{gridDim.x} + blockIdx.x) * 256"),
    ("<<<(n + 255) / 256, 256>>>", "<<<dim3((x.size(1) + 255) / 256, x.size(0)), 256>>>"),
)


@pytest.mark.matrix("verdict/test_verdict_from_runs.py::test_what_takes_long_need_not_be_endless")
@pytest.mark.parametrize(("while_", "verdict"), [("n > 600", Verdict.RIGHT), ("n > 0", Verdict.WRONG)])
def test_a_kernel_is_endless_that_is_so_at_the_smallest_sizes_too(
    task: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, while_: str, verdict: Verdict
) -> None:
    """In processes of its own, which start with the variable."""
    monkeypatch.setenv("OPBRIDGE_TWIN_TIMEOUT", "3")
    waits = f"for (long turn = 0; {while_} && x[turn % n] < 1e30f; ++turn) {{}}\n  "
    (tmp_path / "answer.py").write_text(attacks.RIGHT.replace("const int i =", waits + "const int i ="))
    found = ob.judge(task, tmp_path / "answer.py", timeout=300)
    assert found.verdict is verdict, found
    assert [reason.check for reason in found.reasons] == (["endless"] if verdict is Verdict.WRONG else [])


@pytest.mark.cases(2)
@pytest.mark.parametrize(
    ("changes", "check", "message"),
    [
        ((), "bad-launch", "the grid is (0, 1, 1)"),
        (_WIDE, "out-of-bounds", "read of 4 bytes"),
        ((*_WIDE, *_ROWS), "bad-launch", "the most are (2147483647, 65535, 65535) blocks"),
        (
            (*_WIDE, *_ROWS, ("  return y;", "  TORCH_CHECK(cudaGetLastError() == 0);\n  return y;")),
            "bad-launch",
            "most are",
        ),
        (
            (*_WIDE, _LONG_INDEX, _FEW_BLOCKS, ("empty_like(x)", "empty_like(x.size(0) > 65536 ? x.t() : x)")),
            "shape",
            "the output is float32[16384, 262144] instead of float32[262144, 16384]",
        ),
        ((*_WIDE, _LONG_INDEX), "", ""),
    ],
    ids=[
        "no number of elements",
        "an index that overflows",
        "rows of blocks",
        "told in its own words",
        "shape",
        "right",
    ],
)
def test_what_begins_at_sizes_that_are_too_large_to_run_is_seen(
    judged: Judged, task: Path, tmp_path: Path, changes: tuple[tuple[str, str], ...], check: str, message: str
) -> None:
    vast = tmp_path / "reference.py"
    vast.write_text(attacks.TASK.replace("batch = 16", "batch = 65536 * 4").replace("dim = 2048", "dim = 16384"))
    answer = attacks.RIGHT
    for change in changes:
        assert change[0] in answer
        answer = answer.replace(*change)
    found = judged(vast, answer)
    assert found.verdict is (Verdict.WRONG if check else Verdict.RIGHT), found
    assert [reason.check for reason in found.reasons] == [check] * bool(check)
    assert all(message in reason.message and reason.shape == "float32[262144, 16384]" for reason in found.reasons)


@pytest.mark.parametrize(("gradient", "verdict"), [("g * s * (x > 0)", "right"), ("g * (x > 0)", "wrong")])
def test_gradients_of_its_own_are_held(judged: Judged, task: Path, gradient: str, verdict: str) -> None:
    found = judged(task, attacks.DIFFERENTIABLE.replace("GRADIENT", gradient))
    assert found.verdict.value == verdict, found
    assert [reason.check for reason in found.reasons] == ["gradients"] * (verdict == "wrong")


@pytest.mark.parametrize("name", attacks.SEEN_IN_THE_TEXT)
def test_who_looks_at_callers_is_told(tmp_path: Path, name: str) -> None:
    task, answer = tmp_path / "reference.py", tmp_path / "answer.py"
    task.write_text(attacks.TASK)
    answer.write_text(attacks.SEEN_IN_THE_TEXT[name])
    found = ob.judge(task, answer)
    assert found.verdict is Verdict.CHEATING
    assert found.reasons[0].place.startswith("answer.py:")


@pytest.mark.parametrize("name", ALL)
def test_an_attack_is_not_believed(judged: Judged, task: Path, name: str) -> None:
    source, verdict, check = ALL[name]
    found = judged(task, source)
    assert found.verdict.value == verdict, found
    assert check in [reason.check for reason in found.reasons]


def test_variables_of_compilers_are_no_secret(tmp_path: Path) -> None:
    from opbridge.analysis.judge.answer.suspicious_text import written

    assert not written('import os\nos.environ["TORCH_CUDA_ARCH_LIST"] = "8.0"\nos.environ.get("CUDA_HOME")\n', "a.py")


def test_a_bad_task_is_not_the_answers_fault(judged: Judged, tmp_path: Path) -> None:
    (tmp_path / "task.py").write_text("class Model: pass\n")
    with pytest.raises(InputError, match="get_inputs is not there"):
        judged(tmp_path / "task.py", attacks.RIGHT)


def test_a_task_imports_what_is_installed(judged: Judged, task: Path, tmp_path: Path) -> None:
    bringing, lacking = tmp_path / "reference.py", tmp_path / "lacking.py"
    bringing.write_text(
        "from einops import rearrange\n" + attacks.TASK.replace("torch.relu(x)", "rearrange(x.relu(), 'a b -> a b')")
    )
    assert judged(bringing, attacks.RIGHT).verdict is Verdict.RIGHT
    lacking.write_text("import nowhere_to_be_found\n" + attacks.TASK)
    with pytest.raises(InputError, match="No module named 'nowhere_to_be_found'; pip install nowhere_to_be_found"):
        judged(lacking, attacks.RIGHT)


def test_a_task_may_harm_nobody_either(judged: Judged, tmp_path: Path) -> None:
    needs_confinement()
    target = tmp_path / "written"
    task = tmp_path / "task.py"
    task.write_text(
        attacks.TASK.replace("def get_inputs():", f"def get_inputs():\n    open({str(target)!r}, 'w').close()")
    )
    with pytest.raises(InputError, match=r"is a bad task: \w*Error: .*(Read-only|No such file|Permission)"):
        judged(task, "class ModelNew: pass\n")
    assert not target.exists()
