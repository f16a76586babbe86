"""The benchmarks' own arithmetic, and that they run; what they measure is for docs/benchmarks.md to say."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest
from forked_python import PYTHON
from hypothesis import given
from hypothesis import strategies as st

import opbridge as ob

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))

import processes  # noqa: E402
import run  # noqa: E402
import timing  # noqa: E402
from table import Floor, Row, floors_table, results_table  # noqa: E402
from timing import Spread  # noqa: E402

sys.path.remove(str(BENCHMARKS))

times = st.lists(st.floats(1e-9, 1e3), min_size=1, max_size=20)


class TestRace:
    def test_contestants_take_turns_and_each_starts_as_often_as_the_others(self) -> None:
        order: list[str] = []

        def contestant(name: str) -> timing.Contestant:
            return lambda: order.append(name) or 1.0  # type: ignore[func-returns-value]

        timing.race({name: contestant(name) for name in "abc"}, rounds=3)
        assert "".join(order) == "abcbcacab"

    def test_times_are_kept_round_by_round(self) -> None:
        ours, theirs = iter([1.0, 2.0, 3.0]), iter([10.0, 20.0, 30.0])
        assert timing.race({"ours": lambda: next(ours), "theirs": lambda: next(theirs)}, rounds=3) == {
            "ours": [1.0, 2.0, 3.0],
            "theirs": [10.0, 20.0, 30.0],
        }


class TestPairs:
    def test_a_busy_moment_that_hits_both_of_a_pair_changes_no_ratio(self) -> None:
        calm, busy = timing.ratios([1.0, 1.0, 1.0], [2.0, 2.0, 2.0]), timing.ratios([1.0, 50.0, 1.0], [2.0, 100.0, 2.0])
        assert calm == busy == Spread(0.5, 0.5, 0.5)

    def test_differences_are_taken_pair_by_pair(self) -> None:
        assert timing.differences([5.0, 9.0, 7.0], [4.0, 6.0, 5.0]).median == 2.0

    def test_times_of_different_rounds_do_not_make_pairs(self) -> None:
        with pytest.raises(ValueError):
            timing.ratios([1.0, 2.0], [1.0])

    @given(times)
    def test_a_median_lies_between_its_quartiles(self, values: list[float]) -> None:
        spread = Spread.of(values)
        assert min(values) <= spread.low <= spread.median <= spread.high <= max(values)


def test_a_burst_calls_its_statement_and_says_what_one_call_took() -> None:
    calls: list[int] = []
    seconds = timing.burst("f(1)", f=calls.append)()
    assert seconds > 0
    assert calls


class TestTable:
    def test_a_ratio_within_reach_is_met(self) -> None:
        row = Row.relative("call", [2e-6], "peer", [4e-6], "1/2")
        assert row.met
        assert cells(results_table([row], {}), 2) == [
            "call",
            "2.00 µs",
            "peer",
            "4.00 µs",
            *["1/2 (1/2 to 1/2)", "1/2"],
            "yes",
            "",
        ]

    def test_a_ratio_beyond_reach_is_not_and_has_its_note_beside_it(self) -> None:
        row = Row.relative("call", [3e-6], "peer", [2e-6], "1.3")
        assert row.met is False
        assert cells(results_table([row], {("call", "peer"): "why"}), 2)[4:] == [
            *["1.50x (1.50x to 1.50x)", "1.30x"],
            *["**no**", "why"],
        ]

    def test_an_absolute_row_has_a_number_to_stay_below(self) -> None:
        assert Row.absolute("load", Spread(2e-3, 1e-3, 4e-3), "0.003").met
        row = Row.absolute("memory", Spread(24.0, 24.0, 24.0), "20", "MB")
        assert cells(results_table([row], {}), 2)[1:] == ["24.0 MB", "absolute", "", "", "20.0 MB", "**no**", ""]

    def test_a_missing_peer_is_named_with_the_command_that_brings_it(self) -> None:
        row = Row.without_peer("call", [1e-6], "tvm-ffi", "1.2", "pip install apache-tvm-ffi")
        assert row.met is None
        assert "not installed: `pip install apache-tvm-ffi`" in results_table([row], {})

    @pytest.mark.parametrize(
        ("seconds", "text"),
        [(2.5, "2.50 s"), (0.9996, "1000 ms"), (19.3e-3, "19.3 ms"), (7e-10, "0.70 ns"), (0.0, "0.00 ns")],
    )
    def test_times_have_three_digits_and_a_unit_that_fits(self, seconds: float, text: str) -> None:
        floor = Floor("calls", "empty", Spread(seconds, seconds, seconds))
        assert cells(floors_table([floor]), 2) == ["calls", "empty", text, ""]

    @given(times, times)
    def test_every_row_has_as_many_cells_as_the_head(self, ours: list[float], theirs: list[float]) -> None:
        pairs = min(len(ours), len(theirs))
        table = results_table([Row.relative("call", ours[:pairs], "peer", theirs[:pairs], "1/3")], {})
        assert {len(cells(table, line)) for line in range(3)} == {8}


def cells(table: str, line: int) -> list[str]:
    return [cell.strip() for cell in table.splitlines()[line].strip("|").split("|")]


class TestReport:
    def test_it_replaces_what_stands_between_the_targets_marks_and_nothing_else(self) -> None:
        text = "".join(f"<!-- results {of}: begin -->\nold\n<!-- results {of}: end -->\n" for of in ("native", "v3"))
        once = run.between_marks(text, "new", "v3")
        assert once == "new".join(text.rsplit("old", 1))
        assert run.between_marks(once, "new", "v3") == once

    def test_a_file_without_marks_stays_as_it_is(self) -> None:
        with pytest.raises(SystemExit, match="expected the lines"):
            run.between_marks("before", "new", "native")

    @pytest.mark.parametrize("target", ["native", "x86-64-v3"])
    def test_the_documentation_has_the_marks(self, target: str) -> None:
        run.between_marks((BENCHMARKS / "results.md").read_text(), "new", target)


@pytest.mark.matrix("tests/waist/formulas computes rows; these kernels are of a benchmark alone")
def test_the_kernels_of_rows_compute_what_pytorchs_do() -> None:
    import torch
    from torch.nn import functional

    library, random = ob.load(BENCHMARKS / "kernels" / "rows.yaml"), torch.Generator().manual_seed(0)

    def drawn(*shape: int) -> torch.Tensor:
        return torch.randn(shape, generator=random, dtype=torch.float64).requires_grad_()

    x, weight, bias, grad = drawn(37, 100), drawn(100), drawn(100), drawn(37, 100)
    target = torch.randint(0, 100, (37,), generator=random)
    pairs = [
        (
            library.layer_norm(x, weight, bias)[0],
            functional.layer_norm(x, (100,), weight, bias),
            grad,
            (x, weight, bias),
        ),
        (library.softmax(x), functional.softmax(x, -1), grad, (x,)),
        (library.cross_entropy(x, target)[0], functional.cross_entropy(x, target), None, (x,)),
    ]
    for ours, theirs, of_result, inputs in pairs:
        torch.testing.assert_close(ours, theirs)
        for found, expected in zip(
            torch.autograd.grad(ours, inputs, of_result), torch.autograd.grad(theirs, inputs, of_result), strict=True
        ):
            torch.testing.assert_close(found, expected)


def test_the_library_has_a_thousand_operators_and_is_rewritten_only_where_it_differs(tmp_path: Path) -> None:
    processes.write_library(tmp_path)
    written = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    assert len(re.findall("- func: ", (tmp_path / "ops.yaml").read_text())) == 1000
    assert sum(path.read_text().count("OB_KERNEL(") for path in tmp_path.glob("*.cpp")) == 1000

    spoiled = tmp_path / "kernels_07.cpp"
    spoiled.write_text("")
    processes.write_library(tmp_path)
    assert {path for path in written if path.stat().st_mtime_ns != written[path]} == {spoiled}


def test_a_quick_run_prints_its_table_and_writes_its_numbers_and_the_report(tmp_path: Path) -> None:
    numbers, report = tmp_path / "numbers.json", tmp_path / "report.md"
    report.write_text("# Title\n<!-- results native: begin -->\n<!-- results native: end -->\n")
    command = [
        PYTHON,
        BENCHMARKS / "run.py",
        "--quick",
        "--only",
        "import",
        "--json",
        numbers,
        "--write",
        report,
    ]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout

    (row,) = json.loads(numbers.read_text())["rows"]
    assert row["ours"]["median"] > 0
    assert Fraction(row["reach"]) == Fraction("0.05")
    assert printed in report.read_text()
    assert "| import opbridge, over bare Python |" in printed
