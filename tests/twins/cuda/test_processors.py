"""What a compiler makes of a kernel for one processor or another is judged alike.

How a structure is copied is up to the processor that a kernel is compiled for: by a few instructions, which the checks
see as one access, or by a call of memcpy, which they see as another.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from subprocesses import python

from opbridge.build.toolchains import BuildRequest, build

SOURCE = Path(__file__).parent / "kernels" / "by_value.cu"
TEXTURES = SOURCE.with_name("textures.cu")
# Any processor of the architecture runs what is only tuned for another.
BASE, PROCESSORS = {
    "x86_64": ("-march=x86-64", ("generic", "skylake-avx512", "znver1", "znver3")),
    "aarch64": ("-mcpu=generic", ("generic", "cortex-a53", "neoverse-n1", "neoverse-v1")),
}[os.uname().machine]

CALLS = """
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
print(library.structures(), file=sys.stderr, flush=True)
for size in ("little", "large"):
    for function in ("copies", "assignments"):
        print(size, function, file=sys.stderr)
        for threads in (1, 2, 3):
            print(getattr(library, f"{size}_{function}")(threads), file=sys.stderr, flush=True)
"""


TURNS = """
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
values, to = (ctypes.c_int * 4)(0, 1, 2, 3), ctypes.c_void_p()
library.allocate(ctypes.byref(to), ctypes.c_size_t(16))
print(library.turned(values, to, 2, 2, 4), *(ctypes.c_int * 4).from_address(to.value), file=sys.stderr)
"""


def told(calls: str, source: Path, processor: str) -> str:
    flags = (BASE, f"-mtune={processor}")
    defines = (("OPBRIDGE_TWIN_CHECKS", "1"),)
    library = build(BuildRequest((source,), "kernels.so", language="cuda-twin", defines=defines, flags=flags))
    environment = os.environ | {"OPBRIDGE_NUM_THREADS": "1"}
    return python(calls, str(library.path), env=environment, timeout=60).stderr


@pytest.fixture(scope="module", params=PROCESSORS)
def said(request: pytest.FixtureRequest) -> str:
    """What the process says that calls everything: results, and reports."""
    return told(CALLS, SOURCE, request.param)


@pytest.mark.parametrize("processor", PROCESSORS)
def test_surfaces_are_described_to_their_threads(processor: str) -> None:
    assert told(TURNS, TEXTURES, processor).splitlines()[0] == "0 0 4 2 6"


def part(said: str, title: str) -> list[str]:
    """Of the lines behind a title, the results and what was found where."""
    lines = said.partition(f"{title}\n")[2].splitlines()
    end = next((i for i, line in enumerate(lines) if line.startswith(("little", "large"))), len(lines))
    of_interest = re.compile(
        r"^\d+$|^cuda-twin: .*(\[[a-z-]+\])$|^  (?:where|one|other) .*(by_value.cu:\d+, thread \(\d)"
    )
    found = (of_interest.match(line) for line in lines[:end])
    return [match[1] or match[2] or match[0] for match in found if match]


def test_structures_of_any_size_go_through_every_memory(said: str) -> None:
    assert said.splitlines()[0] == "0"


@pytest.mark.parametrize("size", ["little", "large"])
def test_one_element_too_many_is_found(said: str, size: str) -> None:
    line = 1 + SOURCE.read_text().splitlines().index("  to[threadIdx.x] = from[threadIdx.x];")
    assert part(said, f"{size} copies") == ["0", "0", "[out-of-bounds]", f"by_value.cu:{line}, thread (2", "700"]


@pytest.mark.parametrize("size", ["little", "large"])
def test_two_threads_that_assign_one_structure_race(said: str, size: str) -> None:
    line = 1 + SOURCE.read_text().splitlines().index("  to[threadIdx.x / 2] = given;")
    places = [f"by_value.cu:{line}, thread ({thread}" for thread in (0, 1)]
    report = ["[global-race]", *places, "719"]
    assert part(said, f"{size} assignments")[:5] == ["0", *report]
