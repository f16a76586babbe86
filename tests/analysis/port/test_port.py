"""CUDA kernels beside ports that are right, wrong, unordered, unfinished or deadly."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from opbridge import cli
from opbridge.analysis.port import Outcome, Settings, Status, compare, pairs_of
from opbridge.analysis.port.kernel_pairs import Said
from opbridge.base.errors import InputError

KERNELS = Path(__file__).parent / "kernels"
pytestmark = pytest.mark.usefixtures("forked")
ORIGINAL, PORT, BARE = KERNELS / "original.cu", KERNELS / "port.cpp", KERNELS / "bare.cu"


def held(original: str, port: str | None = None, **said: str) -> list[Outcome]:
    (pair,) = pairs_of(f"{ORIGINAL}:{original}", f"{PORT}:{port or original}", Said(**said))  # type: ignore[arg-type]
    return compare(pair, Settings())


def test_a_right_port_is_the_same_in_every_size_and_the_type_that_both_have() -> None:
    outcomes = held("scale")
    assert {outcome.status for outcome in outcomes} == {Status.SAME}
    assert {outcome.dtype for outcome in outcomes} == {"float32"}  # the original has float64 too
    assert {0, 1} < {size for outcome in outcomes for size in outcome.shapes["x"]}


def test_where_a_wrong_one_parts_is_told() -> None:
    wrong = [outcome for outcome in held("scale", "later_tiles_wrong") if not outcome.is_good]
    odd = next(outcome.difference for outcome in wrong if outcome.shapes["x"] == (7, 13))
    assert odd is not None
    assert (odd.index, odd.differing, odd.elements) == ((4, 12), 91 - 64, 91)
    assert float(odd.port) - float(odd.original) == pytest.approx(0.25, rel=1e-4)
    assert odd.largest == pytest.approx(0.25, rel=1e-4)
    assert odd.writer is not None
    assert re.fullmatch(r"block \d at .*port\.cpp:\d+, DataCopy\w* on PIPE_MTE3", odd.writer)


def test_what_a_twin_finds_is_told_with_the_kernel_that_it_is_of() -> None:
    outcomes = held("scale", "unordered", shapes="3 20 -> 3 20")
    assert {(outcome.status, outcome.side) for outcome in outcomes} == {(Status.BROKEN, "port")}
    assert "missing-sync" in outcomes[0].message
    assert "port.cpp:" in outcomes[0].message


def test_what_a_port_leaves_unwritten_is_not_taken_for_what_the_original_left_in_memory() -> None:
    (outcome,) = held("scale", "unordered", shapes="64 64 -> 64 64")
    assert outcome.status is Status.DIFFERS
    assert outcome.difference is not None
    assert outcome.difference.writer is None


def test_dimensions_are_found_by_what_the_original_takes() -> None:
    outcomes = held("add_row")
    assert all(outcome.shapes["row"] == outcome.shapes["x"][1:] for outcome in outcomes)
    assert {(outcome.status, outcome.side) for outcome in outcomes} == {(Status.BROKEN, "port")}
    assert "refuses inputs that the other accepts" in outcomes[0].message


def test_the_originals_own_mistakes_are_told_where_its_dimensions_are_known() -> None:
    outcomes = held("overrun", shapes="5 -> 5")
    assert {(outcome.status, outcome.side) for outcome in outcomes} == {(Status.BROKEN, "original")}
    with pytest.raises(InputError, match=r"takes none of .* forms[\s\S]*out of bounds[\s\S]*--shapes"):
        held("overrun")


def test_a_port_that_ends_its_process_is_an_outcome() -> None:
    outcomes = held("stops")
    assert {(outcome.status, outcome.side) for outcome in outcomes} == {(Status.BROKEN, "port")}
    assert "SIGABRT" in outcomes[0].message


def test_kernels_without_a_common_type_are_refused() -> None:
    with pytest.raises(InputError, match="no element type in common: float32, float64 and x of int32"):
        held("scale", "of_integers")


@pytest.mark.matrix("test_a_kernel_of_cuda_that_no_function_starts_is_started_as_its_parameters_and_launch_say")
def test_a_bare_kernel_is_started_as_launch_says() -> None:
    launch = {"n": "x.numel", "error": "0", "factor": "1"}
    (pair,) = pairs_of(f"{ORIGINAL}:copy", f"{PORT}:scale_kernel", Said(launch=launch))
    assert {outcome.status for outcome in compare(pair, Settings())} == {Status.SAME}


def test_a_kernel_of_cuda_that_no_function_starts_is_started_as_its_parameters_and_launch_say() -> None:
    numbers = {"n": "x.numel", "error": "0"}
    (pair,) = pairs_of(f"{BARE}:scale_kernel", f"{PORT}:scale_kernel", Said(launch=numbers))
    assert str(pair.schema) == "port_check::scale_kernel(Tensor x, float factor) -> Tensor"
    assert {outcome.status for outcome in compare(pair, Settings())} == {Status.SAME}
    (pair,) = pairs_of(f"{BARE}:scale_kernel", f"{PORT}:scale_kernel", Said(launch={**numbers, "error": "0.25"}))
    assert Status.DIFFERS in {outcome.status for outcome in compare(pair, Settings())}


def test_the_grid_of_such_a_kernel_is_said_by_launch() -> None:
    sizes = {"columns": "x.shape[1]", "rows": "x.shape[0]", "n": "x.numel", "error": "0", "factor": "1"}
    grid = {"grid": "ceil_div(x.shape[1], 64)", "grid_y": "x.shape[0]", "block": "64"}
    said = Said(shapes="rows columns -> rows columns", launch={**sizes, **grid})
    (pair,) = pairs_of(f"{BARE}:of_rows", f"{PORT}:scale_kernel", said)
    assert {outcome.status for outcome in compare(pair, Settings())} == {Status.SAME}


@pytest.mark.parametrize(
    ("kernel", "launch", "message"),
    [
        ("scale_kernel", {}, "takes 'const int n', which can be anything"),
        ("scale_kernel", {"n": "x.numel", "eror": "0"}, "--launch eror: neither kernel takes it"),
        ("of_types", {"n": "x.numel"}, "of_types is a template, or in a namespace"),
        ("", {"n": "x.numel"}, "bare.cu has several kernels: scale_kernel, of_rows"),
    ],
)
def test_what_of_such_a_kernel_cannot_be_known(kernel: str, launch: dict[str, str], message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        pairs_of(f"{BARE}:{kernel}" if kernel else str(BARE), f"{PORT}:scale", Said(launch=launch))


def test_the_command_prints_json_and_says_by_its_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    files = [str(ORIGINAL), f"{PORT}:later_tiles_wrong"]
    assert cli.main(["port", "check", f"{ORIGINAL}:scale", f"{PORT}:scale", "--shapes", "m -> m"]) == 0
    assert "the same on" in capsys.readouterr().out
    assert cli.main(["port", "check", f"{ORIGINAL}:scale", *files[1:], "--json", "--seed", "7"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert (document["verdict"], document["seed"]) == ("parts", 7)
    assert {"same", "differs"} == {one["status"] for one in document["operators"][0]["inputs"]}
    assert cli.main(["port", "check", *files]) == 2  # which of the original's kernels?
    assert "say which" in capsys.readouterr().err


def test_a_manifest_beside_the_original_says_what_they_are(tmp_path: Path) -> None:
    for source in (ORIGINAL, PORT):
        (tmp_path / source.name).write_text(source.read_text())
    (tmp_path / "ops.yaml").write_text(
        "namespace: mine\nops:\n  - func: scale(Tensor x, float factor=3) -> Tensor\n    out: x\n"
        "    kernels: {cuda: original.cu, npu: port.cpp}\n"
    )
    (pair,) = pairs_of(str(tmp_path / "original.cu"), str(tmp_path / "port.cpp"))
    assert str(pair.schema) == "mine::scale(Tensor x, float factor=3) -> Tensor"
    with pytest.raises(InputError, match=r"has no operator with original.cu"):
        pairs_of(str(ORIGINAL), str(PORT), Said(manifest=tmp_path / "ops.yaml"))
