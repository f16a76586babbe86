"""The counters against kernels whose costs were counted by hand: each line of kernels.cu says what it costs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.analysis.profile.counting import counted_run

from opbridge.analysis.profile import Profile, chip_named
from opbridge.analysis.profile.counter_files import read
from opbridge.analysis.profile.kernel_costs import analysed
from opbridge.analysis.profile.profile_contents import KernelCost

SOURCE = Path(__file__).parent / "kernels.cu"
_KERNEL = re.compile(r"KERNEL\((\w+)\)")
_NUMBERS = re.compile(r"(\d+) (request|sector|pass|turn|queued|joined)")
SPACE_OF = {"sector": "global", "pass": "shared", "turn": "constant"}
LINES = SOURCE.read_text().splitlines()


def kernels() -> dict[str, range]:
    """The lines of each kernel, and of what it calls."""
    begins = [(number, found[1]) for number, line in enumerate(LINES, 1) if (found := _KERNEL.match(line))]
    ends = [number for number, _ in begins[1:]] + [len(LINES)]
    return {name: range(begin, end) for (begin, name), end in zip(begins, ends, strict=True)}


Line = tuple[str, str, str, int, int, int, int]


def by_hand(lines: range) -> tuple[set[Line], int]:
    """What lines ask of memory and of one another, and how often lanes part in all of them."""
    found: set[Line] = set()
    parts = 0
    for number in lines:
        for part in LINES[number - 1].partition("// ")[2].split("; "):
            kind, colon, counts = part.partition(": ")
            place = f"{SOURCE.name}:{number}"
            if kind == "part":
                parts += int(counts)
            elif kind in ("barrier", "meeting"):
                found.add((place, kind, "", int(counts), 0, 0, 0))
            elif colon and (numbers := {name: int(value) for value, name in _NUMBERS.findall(counts)}):
                unit, space = next(item for item in SPACE_OF.items() if item[0] in numbers)
                joined = numbers.get("joined", numbers[unit]) if space == "shared" else 0
                found.add((place, kind, space, numbers["request"], numbers[unit], joined, numbers.get("queued", 0)))
    return found, parts


def by_twin(kernel: KernelCost) -> tuple[set[Line], int]:
    found = {
        (
            Path(line.place).name,
            line.kind,
            line.space,
            line.requests,
            line.parts,
            line.joined,
            line.queued if line.kind == "atomic" else 0,
        )
        for line in kernel.lines
        if line.kind != "branch"
    }
    return found, kernel.divergent_branches


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> Profile:
    folder = tmp_path_factory.mktemp("counts")
    counted_run(SOURCE, "run_all", folder)
    chip = chip_named("a100")
    return Profile(chip, analysed(read(folder), chip))


@pytest.mark.parametrize("name", kernels())
def test_a_kernel_costs_what_was_counted_by_hand(profile: Profile, name: str) -> None:
    (kernel,) = (kernel for kernel in profile.kernels if kernel.name == name)
    assert by_hand(kernels()[name])[0]
    assert by_twin(kernel) == by_hand(kernels()[name])


@pytest.mark.parametrize("name", ["guarded", "odd_lanes", "early_return"])
def test_a_branch_is_named_by_its_line(profile: Profile, name: str) -> None:
    (kernel,) = (kernel for kernel in profile.kernels if kernel.name == name)
    (branch,) = (line for line in kernel.lines if line.kind == "branch")
    (expected,) = (number for number in kernels()[name] if "// part" in LINES[number - 1])
    assert Path(branch.place).name == f"{SOURCE.name}:{expected}"


def test_more_than_40_kernels_are_counted() -> None:
    assert len(kernels()) >= 40
