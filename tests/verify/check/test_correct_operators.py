"""Correct operators are green on a cold cache, each with the operators derived from it; a dozen bugs are red."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import opbridge as ob
from opbridge.verify.check import Status, check
from opbridge.waist.manifest import Manifest

ROOT = Path(__file__).parents[3]
FOLDER = Path(__file__).parent / "correct"
pytestmark = pytest.mark.usefixtures("forked")
EXAMPLES = ("examples/rms_norm/ops.yaml", "examples/transformer/ops.yaml", "examples/lltm/ops.yaml")
REPRESENTATIVE = ("rope", "rope_backward", "softmax")
"""A formula that refuses odd sizes, the operator derived from it, and one with a sum over an axis."""

BUGS = {
    "writes_out_of_bounds": ("bounds", "writes behind its output"),
    "races": ("threads", "called from 8 threads at once it gives"),
    "forgets_the_batch": ("bounds", "leaves 8 elements of its output unwritten"),
    "ignores_strides": ("strides", "when x is transposed"),
    "writes_its_input": ("aliasing", "changes its input x"),
    "leaks_a_file": ("manners", "leaves 1 file open at every call"),
    "reads_uninitialised_memory": ("determinism", "initialise what the kernel reads"),
    "wrong_dtype": ("inputs", "output 1 (params[1]) is int64 but 'x' is float64"),
    "wrong_shape_rule": ("bounds", "leaves 9 elements of its output unwritten"),
    "swallows_nan": ("specials", "gives 0 instead of nan"),
    "wrong_at_odd_sizes": ("values", "for odd: x=float64[7, 13]; numpy:square is the reference"),
}
REFERENCES = (f"swallows_nan={FOLDER / 'relu.py'}:relu", "wrong_at_odd_sizes=numpy:square")


def checked(cache: Path, manifest: Path | str, *options: str) -> tuple[int, str, list[dict[str, Any]]]:
    """Run `opbridge check` as CI does; return its exit code, what it prints and its rows."""
    cache.mkdir(exist_ok=True)
    rows, said = (cache / f"{Path(manifest).parent.name}-{Path(manifest).stem}.{kind}" for kind in ("json", "txt"))
    command = [sys.executable, "-m", "opbridge", "check", str(ROOT / manifest), *options, "--json", str(rows)]
    env = {**os.environ, "OPBRIDGE_CACHE_DIR": str(cache)}
    with said.open("w") as file:
        done = subprocess.run(command, env=env, stdout=file, stderr=subprocess.STDOUT, check=False)
    assert rows.exists(), f"exit code {done.returncode}: {said.read_text()[-2000:]}"
    return done.returncode, said.read_text(), json.loads(rows.read_text())["rows"]


def failed(rows: list[dict[str, Any]]) -> dict[tuple[str, str], str]:
    """The messages of failed rows, by operator and check."""
    found = (row for row in rows if row["status"] == "failed")
    return {
        (row["operator"].partition("::")[2], row["check"]): f"{row['message']} ({row['framework']})" for row in found
    }


def choice(*names: str) -> list[str]:
    return [word for name in names for word in ("--op", name)]


def declared(manifest: Path) -> list[str]:
    return [op.schema.full_name.partition("::")[2] for op in Manifest.load(manifest).ops if not op.is_derived]


def test_formulas_and_what_is_derived_from_them_are_green_on_a_cold_cache(tmp_path: Path) -> None:
    code, printed, rows = checked(
        tmp_path / "cold", FOLDER / "formulas.yaml", *choice(*REPRESENTATIVE), "--framework", "numpy"
    )
    assert (code, failed(rows)) == (0, {})
    assert {row["operator"].partition("::")[2] for row in rows if row["status"] == "passed"} == {*REPRESENTATIVE}
    # Without a reference there is nothing to hold values against, which is no pass.
    assert {row["status"] for row in rows if row["check"] == "values"} == {"unchecked"}
    assert "3 unchecked" in printed


@pytest.mark.matrix("test_rows.py::test_a_broken_operator_fails_its_row, and test_planted.py")
def test_bugs_are_red_on_a_cold_cache(tmp_path: Path) -> None:
    references = [word for each in REFERENCES for word in ("--reference", each)]
    code, _, rows = checked(
        tmp_path / "cold", FOLDER / "bugs.yaml", *choice(*BUGS), *references, "--framework", "numpy"
    )
    found = failed(rows)
    assert code == 1
    assert [name for name, (check, words) in BUGS.items() if words not in found.get((name, check), "")] == []


def test_wrong_gradients_are_red() -> None:
    bugs = ob.load(FOLDER / "bugs.yaml")
    rows = check([bugs.wrong_gradient, bugs.forgets_an_output], frameworks=["torch"], checks=["gradients"])
    assert [row.message.partition(":")[0] for row in rows if row.failed] == ["the formula is wrong"] * 2
    assert rows[1].message.endswith("; no formula takes the gradient of output doubles")


def test_a_kernel_that_reads_out_of_bounds_passes_no_row_that_compared_nothing(tmp_path: Path) -> None:
    operator = ob.load(FOLDER / "bugs.yaml").reads_out_of_bounds
    reads, values = check(operator, frameworks=["numpy"], checks=["reads", "values"])
    assert (reads.status, values.status) == (Status.FAILED, Status.UNCHECKED)
    assert "at bugs.cpp:" in reads.message


@pytest.mark.matrix("test_formulas_and_what_is_derived_from_them_are_green_on_a_cold_cache")
def test_a_hundred_correct_operators_are_green_on_a_cold_cache(tmp_path: Path) -> None:
    kernels = declared(FOLDER.parent / "planted" / "right.yaml")[:22]
    libraries: list[tuple[Path | str, list[str]]] = [
        *((example, []) for example in EXAMPLES),
        (FOLDER / "aten.yaml", []),
        (FOLDER.parent / "planted" / "right.yaml", choice(*kernels)),
        (FOLDER / "formulas.yaml", []),
    ]
    red: dict[tuple[str, str], str] = {}
    green: set[str] = set()
    for manifest, options in libraries:
        code, printed, rows = checked(
            tmp_path / "cold", manifest, *options, "--framework", "numpy", "--framework", "torch"
        )
        print(manifest, *(line for line in printed.splitlines() if " passed, " in line))
        red |= failed(rows)
        assert (code == 0) is (not failed(rows))
        written = set(declared(ROOT / manifest))
        passed = {row["operator"] for row in rows if row["status"] == "passed"}
        assert passed == {row["operator"] for row in rows}  # those that are derived, too
        green |= {name for name in passed if name.partition("::")[2] in written}
    assert red == {}
    assert len(green) == 100
