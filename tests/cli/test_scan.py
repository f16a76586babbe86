"""`opbridge scan` on scripts and models, against the installed PyTorch and MindSpore."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import yaml
from forked_python import PYTHON
from subprocesses import python

from opbridge.build.cache import Cache
from opbridge.cli import main
from opbridge.models.scan.mindspore_names import calls, candidates
from opbridge.models.scan.trials import OperatorProbe, work_off
from opbridge.models.scan.verdict_cache import verdicts_on
from opbridge.models.scan.verdicts import CallSite, ScannedOperator, State, Verdict
from opbridge.models.scan.written_package import functions, package

Opbridge = Callable[..., subprocess.CompletedProcess[str]]

NETS = """\
import torch
import torch.nn.functional as F


class Net(torch.nn.Module):
    def __init__(self, width=4):
        super().__init__()
        self.convolution = torch.nn.Conv2d(3, width, 3)
        self.normalisation = torch.nn.BatchNorm2d(width)

    def forward(self, x):
        x = F.relu(self.normalisation(self.convolution(x)), inplace=True)
        x = x.mul(0.5).add_(1)
        return torch.special.i1(F.instance_norm(x)).mean((2, 3))


def make():
    return Net(2)


def failing():
    return lambda x: x @ x
"""
TRAIN = """\
import sys

import torch
from nets import Net

net = torch.compile(Net())
optimizer = torch.optim.Adam(net.parameters())
for _ in range(int(sys.argv[1])):
    loss = torch.nn.functional.mse_loss(net(torch.randn(2, 3, 6, 6)), torch.ones(2, 4))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss of {sys.argv[1:]}: {loss}")
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    (folder / "nets.py").write_text(NETS)
    (folder / "train.py").write_text(TRAIN)
    return folder


def scan(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([PYTHON, "-m", "opbridge", "scan", *arguments], cwd=folder, capture_output=True, text=True)


def rows(text: str) -> dict[str, tuple[int, str]]:
    """Calls, and the rest of the line, by operator."""
    found = {}
    for line in text.splitlines():
        if line.startswith("aten::"):
            name, calls, rest = line.split(maxsplit=2)
            found[name] = (int(calls), " ".join(rest.split()))
    return found


@pytest.fixture(scope="module")
def scanned(project: Path) -> str:
    result = scan(project, "train.py", "--", "2", "--fast")
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    return result.stdout


def test_a_script_runs_with_its_arguments(scanned: str) -> None:
    assert "loss of ['2', '--fast']: " in scanned


def test_operators_are_those_of_the_forward_pass_as_the_model_calls_them(scanned: str) -> None:
    # No fills of parameters, no convolution_backward, no optimizer's addcdiv; relu and not relu_.
    assert {name: count for name, (count, _) in rows(scanned).items()} == {
        "aten::add.Tensor": 4,  # one of the two a step is batch normalisation counting its batches
        "aten::batch_norm": 2,
        "aten::broadcast_tensors": 2,
        "aten::conv2d": 2,
        "aten::instance_norm": 2,
        "aten::item": 1,
        "aten::mean.dim": 2,
        "aten::mse_loss": 2,
        "aten::mul.Tensor": 2,
        "aten::ones": 2,
        "aten::randn": 2,
        "aten::relu": 2,
        "aten::special_i1": 2,
    }


def test_each_has_its_place_in_the_model(scanned: str) -> None:
    found = rows(scanned)
    assert found["aten::conv2d"][1].endswith("Net.convolution nets.py:12")
    assert found["aten::special_i1"][1].endswith("Net nets.py:14")
    assert found["aten::mse_loss"][1].endswith("train.py:9")


def test_what_mindspore_makes_of_each_is_found_by_trying(scanned: str) -> None:
    found = rows(scanned)
    assert found["aten::relu"][1].startswith("mint.nn.functional.relu ")
    assert found["aten::special_i1"][1].startswith("missing ")
    # mindspore.mint.conv2d is there, and has no kernel for a CPU; mindspore.ops.conv2d has.
    assert found["aten::conv2d"][1].startswith("ops.conv2d ")
    assert list(found)[:3] == ["aten::instance_norm", "aten::special_i1", "aten::broadcast_tensors"], (
        "what is missing comes first"
    )
    assert "MindSpore has 10 of 13 operators, 3 missing" in scanned


def test_the_rest_is_written_as_a_package(scanned: str, project: Path) -> None:
    assert "from train_ops import instance_norm, special_i1, broadcast_tensors" in scanned
    manifest = yaml.safe_load((project / "train_ops" / "ops.yaml").read_text())
    assert manifest["namespace"] == "train_ops"
    assert manifest["ops"][1] == {
        "func": "special_i1(Tensor self) -> Tensor",
        "kernels": {"cpu": "aten::special_i1"},
    }
    for check in (["check", "--select", "E,F,W,I,B,UP,SIM,RUF,C4,PIE,RET,N"], ["format", "--check"]):
        linted = subprocess.run(
            [sys.executable, "-m", "ruff", *check, "--isolated", "train_ops"],
            cwd=project,
            capture_output=True,
            text=True,
        )
        assert linted.returncode == 0, linted.stdout


def test_a_model_runs_on_inputs_of_the_given_shapes(project: Path) -> None:
    result = scan(project, "nets:make()", "--input", "1,3,5,5", "--namespace", "mine", "-o", "out/mine_ops")
    assert result.returncode == 0, result.stderr
    assert rows(result.stdout)["aten::conv2d"] == (1, "ops.conv2d Net.convolution nets.py:12")
    assert yaml.safe_load((project / "out/mine_ops/ops.yaml").read_text())["namespace"] == "mine"


def scan_without_mindspore(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    code = (
        "import importlib.util, sys, torch\n"
        "found = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda name, *more: None if name.startswith('minds') else found(name, *more)\n"
        "from opbridge.cli import main; sys.exit(main(['scan', *sys.argv[1:]]))"
    )
    return python(code, *arguments, cwd=folder)


@pytest.mark.real_process  # in which nothing of the tests calls the model
def test_without_mindspore_the_operators_are_listed_all_the_same(project: Path) -> None:
    result = scan_without_mindspore(project, "torch.nn:Softplus", "--input", "2,3")
    assert result.returncode == 0, result.stderr
    assert rows(result.stdout)["aten::softplus"][1].startswith("float32 Softplus torch/nn/modules/activation.py:")
    assert "pip install mindspore" in result.stdout


TRANSFORMS = """\
import torch
from torch.utils.checkpoint import checkpoint

x = torch.randn(4, 3, requires_grad=True)
torch.vmap(torch.func.grad(lambda a: a.sin().sum()))(x)
torch.func.jvp(torch.exp, (x,), (x,))
checkpoint(lambda a: a.cos(), x, use_reentrant=False).sum().backward()
torch.nn.LSTM(3, 5)(x)[0].sum().backward()
torch.sparse.mm(torch.eye(3).to_sparse(), x.T)
with torch.autocast("cpu", dtype=torch.bfloat16):
    assert torch.nn.Linear(3, 2)(x).dtype is torch.bfloat16
with torch.inference_mode():
    torch.nn.functional.gelu(x)
torch.fx.symbolic_trace(torch.nn.ELU())(x)
"""


def test_scripts_run_as_they_do_alone(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(TRANSFORMS)
    result = scan_without_mindspore(tmp_path, "script.py")
    assert (result.returncode, result.stderr) == (0, "")
    wanted = {"sin", "exp", "cos", "lstm.input", "to_sparse", "linear", "gelu", "elu"}
    assert {f"aten::{name}" for name in wanted} <= rows(result.stdout).keys()


def test_programs_have_stdout_for_themselves(tmp_path: Path) -> None:
    script = "import torch\nnet = torch.nn.ReLU()\nprint(net(torch.ones(2)))\n"
    (tmp_path / "script.py").write_text(script)
    result = scan_without_mindspore(tmp_path, "script.py", "--json")
    assert "tensor([1., 1.])" in result.stderr
    found = {one["operator"]: one for one in json.loads(result.stdout)}["aten::relu"]
    schema = "aten::relu(Tensor self) -> Tensor"
    place = {"module": "ReLU", "line": "script.py:3"}
    told = {"operator": "aten::relu", "schema": schema, "calls": 1, "dtypes": ["float32"], **place}
    assert found == {**told, "mindspore": None}


def test_what_cannot_be_watched_is_said(tmp_path: Path) -> None:
    mode = "from torch.utils.flop_counter import FlopCounterMode\nwith FlopCounterMode(display=False): torch.ones(2)"
    (tmp_path / "script.py").write_text(f"import torch\n{mode}\n")
    result = scan_without_mindspore(tmp_path, "script.py")
    assert result.returncode == 2
    assert "it uses a TorchDispatchMode" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nets:Net"], 'opbridge scan nets:Net --input "2,3,224,224"'),
        (["nets:Net", "--input", "2,x"], "--input 2,x: not a shape"),
        (["nets:Net", "--input", "2:flot32"], "did you mean 'float32'?"),
        (["nets:Nett", "--input", "2"], "nets has no 'Nett'\n  did you mean 'Net'?"),
        (["nots:Net", "--input", "2"], "there is no module 'nots'"),
        (["trian.py"], "did you mean 'train.py'?"),
        (["train.py", "--input", "2"], "--input is for a model"),
        (["train.py", "--namespace", "My-Ops", "--", "1"], "'My-Ops' cannot be a namespace"),
    ],
)
def test_what_is_wrong_is_said_with_2(
    project: Path,
    arguments: list[str],
    words: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(project)
    # Puts sys.path back after the command has changed it.
    monkeypatch.setattr(sys, "path", list(sys.path))
    assert main(["scan", *arguments]) == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["train.py"], "train.py failed: IndexError: list index out of range\n  at train.py:8: "),
        (["nets:failing()", "--input", "2,3"], "at nets.py:22: return lambda x: x @ x"),
    ],
)
def test_where_the_users_code_fails_is_said(project: Path, arguments: list[str], words: str) -> None:
    result = scan(project, *arguments)
    assert result.returncode == 2
    assert words in result.stderr


# --- trying


@pytest.mark.usefixtures("forked_trials")
def test_an_attempt_that_ends_the_process_is_an_answer_and_the_rest_goes_on(tmp_path: Path) -> None:
    example = tmp_path / "0.pt"
    torch.save({"operator": "aten::scalar_tensor", "arguments": {"s": 7}}, example)
    # MindSpore's logging module has Python's os module in it: a place where a call ends the process.
    deadly = OperatorProbe("aten::scalar_tensor", ("log.os._exit",), (str(example),))
    found = work_off([deadly, OperatorProbe("aten::relu", ("mint.nn.functional.relu",), ())])
    assert found.verdicts["aten::scalar_tensor"].state is State.FAILS
    assert found.verdicts["aten::scalar_tensor"].reason.startswith("it ends with exit code 7")
    assert found.verdicts["aten::relu"].state is State.UNTRIED


@pytest.mark.usefixtures("forked_trials")
def test_what_was_tried_once_is_known_for_such_calls(tmp_path: Path) -> None:
    example, cache = tmp_path / "relu.pt", Cache(tmp_path / "cache")
    torch.save({"operator": "aten::relu", "arguments": {"self": torch.ones(2)}}, example)

    def tried(rank: int) -> Verdict:
        called = (("self", (torch.float32, rank, False)),)
        relu = ScannedOperator("aten::relu", "", CallSite("", ""), signatures={called}, examples=[example])
        return verdicts_on([relu], "mindspore", "CPU", cache)["aten::relu"]

    first = tried(1)
    assert first.state is State.HAS
    example.unlink()
    assert tried(1) == first
    assert tried(2).state is State.FAILS


def test_what_was_recorded_is_printed_where_mindspore_cannot_be_tried(project: Path, tmp_path: Path) -> None:
    broken = tmp_path / "mindspore"
    broken.mkdir()
    (broken / "__init__.py").write_text("raise RuntimeError('no library')\n")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    command = [PYTHON, "-m", "opbridge", "scan", "nets:Net", "--input", "2,3,6,6"]
    result = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True)
    assert result.returncode == 3
    assert "no library" in result.stderr
    assert rows(result.stdout)["aten::conv2d"][0] == 1


def test_an_operator_is_looked_for_near_pytorch_first() -> None:
    assert candidates("aten::relu")[:2] == ("mint.relu", "mint.nn.functional.relu")
    assert candidates("aten::linalg_qr")[-1] == "mint.linalg.qr"
    assert candidates("aten::rsub.Scalar")[0] == "mint.sub"


def test_a_verdict_is_told_in_words() -> None:
    differs = Verdict(State.DIFFERS, "mint.nn.functional.gelu", "its values")
    assert differs.fields() == {"state": "differs", "path": "mint.nn.functional.gelu", "reason": "its values"}


def test_arguments_at_their_defaults_are_left_out_first() -> None:
    ways = calls("aten::sum.dim", "mint.sum", {"self": "x", "dim": (1,), "keepdim": False}, {"keepdim": False})
    assert next(iter(ways)) == (("x",), {"dim": (1,)})


# --- writing


def written(*schemas: str) -> str:
    operators = [(ScannedOperator(text.partition("(")[0], text, CallSite("", "a.py:1")), MISSING) for text in schemas]
    made, refused = functions(operators, "lib")
    assert refused == []
    return package(made, "lib", "a.py", "MindSpore")["__init__.py"]


MISSING = Verdict(State.MISSING)


def test_overloads_of_one_operator_are_told_apart() -> None:
    text = written(
        "aten::pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor",
        "aten::pow.Scalar(Scalar self, Tensor exponent) -> Tensor",
        "aten::__and__.Tensor(Tensor self, Tensor other) -> Tensor",
    )
    assert "def pow_tensor_scalar(input, exponent):" in text
    assert "def pow_scalar(input, exponent):" in text
    assert "def and_(input, other):" in text


def test_what_only_pytorch_needs_to_know_is_not_asked_for() -> None:
    text = written("aten::f(Tensor self, *, Device? device=None, bool pin_memory=False, float p=0.5) -> Tensor")
    assert "def f(input, *, p=0.5):" in text
    assert "return _f(input, p=p)" in text


def test_a_switch_of_pytorchs_that_has_no_default_is_off() -> None:
    text = written("aten::f(Tensor input, bool cudnn_enabled, bool non_blocking=False, bool copy=False) -> Tensor")
    assert "def f(input, copy=False):" in text
    assert "return _f(input, False, copy)" in text
