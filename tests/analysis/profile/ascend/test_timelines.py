"""Kernels of tiles.cpp, whose times were counted by hand, and what is advised about them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import opbridge as ob
from opbridge.analysis.profile.ascend.durations import COPY_HEAD, SCALAR, VECTOR_HEAD, Rates
from opbridge.analysis.profile.ascend.timeline import KernelTimeline
from opbridge.analysis.profile.chips import chip_named
from opbridge.analysis.profile.trace import trace
from opbridge.base.errors import InputError
from opbridge.cli import main
from opbridge.waist.op import OpLibrary

SOURCE = Path(__file__).parent / "tiles.cpp"
MANIFEST = """
namespace: timelines
ops:
  - func: scaled(Tensor x, *, int tile, int buffers) -> Tensor
    out: x
    kernels: {npu: tiles.cpp}
    launch: {blockDim: 2, n: x.numel}
    samples: [{x: {shape: [8192]}, tile: 1024, buffers: 2}]
  - func: by_flags(Tensor x, *, int each, int scalar=0) -> Tensor
    out: x
    kernels: {npu: tiles.cpp}
    launch: {blockDim: 1, n: x.numel}
  - func: rows(Tensor x) -> Tensor
    out: {shape: [1024], dtype: x.dtype}
    kernels: {npu: tiles.cpp}
    launch: {blockDim: 1, n: x.numel}
"""
Profiled = Callable[..., KernelTimeline]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("timelines")
    made.joinpath("tiles.cpp").write_text(SOURCE.read_text())
    made.joinpath("ops.yaml").write_text(MANIFEST)
    return made


@pytest.fixture(scope="module")
def library(folder: Path) -> OpLibrary:
    loaded: OpLibrary = ob.load(folder / "ops.yaml", device="ascend-twin")
    return loaded


@pytest.fixture(scope="module")
def profiled(library: OpLibrary) -> Profiled:
    def run(name: str, elements: int, **attributes: int) -> KernelTimeline:
        (kernel,) = ob.profile(library[name], np.ones(elements, np.float32), **attributes).timelines
        return kernel

    return run


def copy(bytes_moved: int, cores: int) -> float:
    return COPY_HEAD + bytes_moved / Rates.of(chip_named("910b"), cores).bytes_a_cycle


def test_one_buffer_lets_the_pipes_wait_for_one_another(profiled: Profiled) -> None:
    kernel = profiled("scaled", 8192, tile=1024, buffers=1)
    there, work = copy(4096, 2), VECTOR_HEAD + 16
    # Each of two blocks has four tiles; copies out go on while the next tile comes in.
    assert kernel.core.cycles == pytest.approx(4 * (there + work) + there)
    assert kernel.core.waits("MTE2") == {"V": pytest.approx(3 * work)}
    assert kernel.core.overlap == 0
    assert kernel.local_bytes == {"unified buffer": (2 * 4096, 192 << 10)}
    assert [sentence for sentence in kernel.advice if "tiles.cpp:13, tiles.cpp:14" in sentence]


def test_two_buffers_keep_the_copies_going(profiled: Profiled) -> None:
    kernel = profiled("scaled", 8192, tile=1024, buffers=2)
    there, work = copy(4096, 2), VECTOR_HEAD + 16
    assert kernel.core.cycles == pytest.approx(4 * there + work + there)
    assert kernel.core.waits("MTE2") == {}
    assert kernel.core.overlap == pytest.approx(1)
    assert not [sentence for sentence in kernel.advice if "two buffers" in sentence]


def test_small_tiles_in_an_empty_buffer_should_be_larger(profiled: Profiled) -> None:
    kernel = profiled("scaled", 65536, tile=256, buffers=2)
    (sentence,) = (sentence for sentence in kernel.advice if "larger tiles" in sentence)
    assert sentence.startswith("a copy moves 1024 bytes, and the unified buffer is 2% full")


def test_a_loop_of_single_repeats(profiled: Profiled) -> None:
    one_by_one, at_once = profiled("by_flags", 2048, each=64), profiled("by_flags", 2048, each=2048)
    assert one_by_one.core.busy("V") == pytest.approx(32 * (VECTOR_HEAD + 1))
    assert at_once.core.busy("V") == pytest.approx(VECTOR_HEAD + 32)
    (line,) = (line for line in one_by_one.lines if line.site.pipe == "V")
    assert (line.runs, line.advice.partition(":")[0]) == (32, "32 instructions of 256 bytes")
    assert not any(line.advice for line in at_once.lines)


def test_values_by_the_scalar_unit_are_named(profiled: Profiled) -> None:
    kernel = profiled("by_flags", 2048, each=2048, scalar=8)
    scalar = [line for line in kernel.lines if line.site.pipe == "S"]
    assert sum(line.runs for line in scalar) == 16
    assert kernel.core.busy("S") == pytest.approx(16 * SCALAR)
    assert any("issues nothing meanwhile" in line.advice for line in scalar)
    assert kernel.core.cycles == pytest.approx(2 * copy(8192, 1) + VECTOR_HEAD + 32 + 16 * SCALAR)


def test_rows_between_the_banks_are_named(profiled: Profiled) -> None:
    kernel = profiled("rows", 16 * 72)
    line = kernel.lines[0]
    # Rows of 288 bytes: the first begins at a multiple of 512.
    assert (line.runs, line.pieces, line.misaligned) == (16, 16, 15)
    assert "multiples of 512 bytes" in line.advice


def test_a_manifest_is_profiled_for_the_chip_that_its_kernels_are_for(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    assert main(["profile", "--trace", "trace.json", "ops.yaml:scaled"]) == 0
    shown = capsys.readouterr().out
    assert "scaled  1 launch of 2 blocks on 2 cores" in shown
    assert "copies and computing overlap by 100%" in shown
    events = json.loads(folder.joinpath("trace.json").read_text())["traceEvents"]
    rows = {event["args"]["name"] for event in events if event["name"] == "thread_name" and event["pid"] == 1}
    assert rows == {"MTE2", "V", "MTE3"}
    assert sum(event["name"] == "DataCopy" for event in events) == 2 * 4


def test_a_trace_shows_which_pipe_waited_for_which(library: OpLibrary) -> None:
    profile = ob.profile(library.scaled, np.ones(8192, np.float32), tile=1024, buffers=1)
    (kernel,), events = profile.timelines, trace(profile)["traceEvents"]
    pipes = {event["tid"]: event["args"]["name"] for event in events if event["name"] == "thread_name" and event["pid"]}
    waits = [event for event in events if event["name"] == "wait for V" and pipes[event["tid"]] == "MTE2"]
    assert sum(wait["args"]["cycles"] for wait in waits) == pytest.approx(kernel.core.waits("MTE2")["V"])
    ends = {round(event["ts"] + event["dur"], 6) for event in events if event["name"] == "Muls"}
    assert {round(wait["ts"] + wait["dur"], 6) for wait in waits} <= ends


def test_a_chip_of_the_other_kind_is_refused(library: OpLibrary) -> None:
    with pytest.raises(InputError, match="runs kernels of Ascend C, and a chip called a100 runs none of them"):
        ob.profile(library.rows, np.ones(16 * 72, np.float32), chip="a100")
