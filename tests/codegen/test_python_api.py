"""The Python module of a backend and its stub."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from forked_python import PYTHON

from opbridge.codegen.generator import sources
from opbridge.codegen.inputs import Inputs, Wish

DATA = Path(__file__).parent / "data"
PLUGIN = [DATA / "op_plugin.yaml", DATA / "backend.yaml", DATA / "deprecated.yaml"]


@pytest.fixture(scope="module")
def plugin_sources() -> Mapping[str, str]:
    return sources(Inputs.read(PLUGIN, Wish()).backend())


def test_names_stand_for_entries_of_torch_ops(sample_sources: Mapping[str, str]) -> None:
    text = sample_sources["python/sample_ops/__init__.py"]
    assert "\nscaled_add = torch.ops.sample.scaled_add\n" in text
    assert "mul" not in text


def test_only_what_is_exposed_is_offered(plugin_sources: Mapping[str, str]) -> None:
    text = plugin_sources["python/sample_ops/__init__.py"]
    assert "soft_shift = " in text
    assert "gather_rows_backward" not in text


def test_a_stub_says_every_signature(sample_sources: Mapping[str, str]) -> None:
    lines = sample_sources["python/sample_ops/__init__.pyi"].splitlines()
    assert "def clip_(x: Tensor, low: float, high: float | None = None) -> Tensor: ..." in lines
    assert "def first_rows(x: Tensor, n: int | SymInt) -> Tensor: ..." in lines
    assert "def pieces(x: Tensor, sizes: Sequence[int]) -> list[Tensor]: ..." in lines
    assert "def describe(x: Tensor, prefix: str = 'tensor') -> str: ..." in lines
    assert "def increment_all_(xs: Sequence[Tensor], by: Number = 1) -> None: ..." in lines
    first = lines.index("def minmax(x: Tensor) -> tuple[Tensor, Tensor]: ...")
    assert lines[first - 1] == "@overload"


def test_a_type_checker_takes_the_stub(sample_sources: Mapping[str, str], tmp_path: Path) -> None:
    (tmp_path / "sample_ops.pyi").write_text(sample_sources["python/sample_ops/__init__.pyi"])
    (tmp_path / "user.py").write_text(
        "import torch\nimport sample_ops\n"
        "x: torch.Tensor = sample_ops.scaled_add(torch.ones(1), torch.ones(1), alpha=2.0)\n"
        "sample_ops.pieces(x, [1.5])\n"
    )
    command = [sys.executable, "-m", "mypy", "--follow-imports=skip", "--cache-dir=/dev/null", "user.py"]
    said = subprocess.run(
        [*command, "sample_ops.pyi"], cwd=tmp_path, capture_output=True, text=True, check=False
    ).stdout
    assert "user.py:4" in said, said
    assert "Found 1 error" in said, said


USE = """
import sys, warnings
import torch
library = torch.library.Library("sample", "DEF")
library.define("soft_shift(Tensor x, *, float by=0.5, bool flip=False) -> Tensor")
library.define("device_format(Tensor self) -> int")
library.impl("soft_shift", lambda x, by=0.5, flip=False: x + by, "CPU")
sys.path.insert(0, sys.argv[1])
import sample_ops
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    print(sample_ops.soft_shift(torch.zeros(1)).item())
print(caught[0].category.__name__, caught[0].message, caught[0].filename)
print(sample_ops.soft_shift.__doc__)
print(sample_ops.__all__)
"""


def test_a_deprecated_operator_warns_where_it_is_called(plugin_sources: Mapping[str, str], tmp_path: Path) -> None:
    (tmp_path / "sample_ops.py").write_text(plugin_sources["python/sample_ops/__init__.py"])
    (tmp_path / "use.py").write_text(USE)
    command = [PYTHON, "use.py", tmp_path]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    said = run.stdout.splitlines()
    assert said[:1] == ["0.5"], run.stderr
    assert said[1].startswith("FutureWarning sample.soft_shift is deprecated and will be removed; call torch.nn")
    assert said[1].endswith("use.py")
    assert said[2] == "sample::soft_shift(Tensor x, *, float by=0.5, bool flip=False) -> Tensor"
    assert "soft_shift" in said[3]
