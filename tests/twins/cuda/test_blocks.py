"""Shared memory, barriers and groups of threads, against what they are to compute; with checks on and off."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from subprocesses import succeed
from tests.twins.cuda.conftest import twin_only


@pytest.fixture(scope="module", params=[False, True], ids=["fast", "checked"])
def blocks(request: pytest.FixtureRequest, twin: Any) -> Any:
    return twin("blocks.cu", checks=request.param)


@pytest.fixture
def device(blocks: Any, on_device: Any) -> Any:
    return on_device(blocks)


@pytest.mark.parametrize("n", [1, 16, 45])
def test_a_tiled_matrix_product(blocks: Any, n: int) -> None:
    rng = np.random.default_rng(n)
    a, b = (rng.integers(-5, 5, (n, n)).astype(np.float32) for _ in range(2))
    c = np.zeros((n, n), np.float32)
    blocks.run("run_multiply", a, b, c, n)
    np.testing.assert_array_equal(c, a @ b)


def test_kinds_of_shared_memory(blocks: Any, device: Any) -> None:
    out = device(np.zeros(32, np.int32))
    blocks.run("run_kinds_of_shared", out)
    np.testing.assert_array_equal(out, (np.arange(32) + 1) % 32 * 4 + 1000)


@pytest.mark.parametrize("n", [1, 33, 1000, 1024])
def test_shared_memory_of_a_device_function_and_of_a_header(blocks: Any, device: Any, n: int) -> None:
    x = device(np.arange(n, dtype=np.int32))
    blocks.run("run_reverse", x, n)
    np.testing.assert_array_equal(x, np.arange(n)[::-1])


@twin_only
@pytest.mark.parametrize(("bytes_", "error"), [(1, 0), (48 * 1024, 0), (163 * 1024, 0), (163 * 1024 + 1, 1)])
def test_how_much_shared_memory_there_is(blocks: Any, device: Any, bytes_: int, error: int) -> None:
    out = device(np.zeros(1, np.int32))
    assert blocks.call("run_last_byte", out, bytes_) == error
    assert out[0] == (0 if error else 3)


@pytest.mark.parametrize("n", [1, 32, 100])
def test_barriers_that_vote(blocks: Any, device: Any, n: int) -> None:
    out = device(np.zeros((3, n), np.int32))
    blocks.run("run_votes", out, n)
    np.testing.assert_array_equal(out, np.repeat([[(n + 2) // 3], [10], [10]], n, axis=1))


def test_warps_that_hand_values_over_by_arriving_and_waiting(blocks: Any, device: Any) -> None:
    out = device(np.zeros((5, 32), np.int32))
    assert blocks.call("run_handed_over", out, 5) == 0
    np.testing.assert_array_equal(out, 100 * np.arange(5)[:, None] + np.arange(32)[::-1])


@pytest.mark.parametrize("n", [1, 31, 256, 1024])
def test_a_barrier_in_a_loop_in_a_function(blocks: Any, device: Any, n: int) -> None:
    before = np.arange(1, n + 1, dtype=np.int32)
    x = device(before)
    blocks.run("run_rotate", x, n, 9)
    signed = np.where(np.arange(n) % 2 == 0, before, -before)
    np.testing.assert_array_equal(x, np.roll(signed, -sum(range(9))))


def test_a_barrier_does_not_wait_for_threads_that_have_left(twin: Any, on_device: Any) -> None:
    fast = twin("blocks.cu")
    x = on_device(fast)(np.zeros(64, np.int32))
    fast.run("run_leave_early", x, 64)
    np.testing.assert_array_equal(x, [1] * 32 + [0] * 31 + [1])


def test_threads_that_spin_let_others_run(blocks: Any, device: Any) -> None:
    counter, flag = device(np.zeros(1, np.int32)), device(np.zeros(1, np.int32))
    blocks.run("run_take_turns", counter, flag, 1, 64)
    assert (counter[0], flag[0]) == (64, 2)


def test_the_last_block_adds_up_what_all_have_made(blocks: Any, device: Any) -> None:
    x = device(np.arange(64 * 50, dtype=np.int32))
    partial, total = device(np.zeros(50, np.int32)), device(np.zeros(1, np.int32))
    blocks.run("run_sum_in_last_block", x, partial, total, 50)
    assert total[0] == x.sum()


def test_groups(blocks: Any, device: Any) -> None:
    out = device(np.zeros((9, 64), np.int32))
    blocks.run("run_groups", out)
    t = np.arange(64)
    rank, first = t % 8, t // 8 * 8
    down = np.where(rank + 3 < 8, t + 3, t)
    np.testing.assert_array_equal(out[0], down + 1000 * (t // 8 % 4) + 10000 * 4)
    np.testing.assert_array_equal(out[1], 0xAA + 1000 * (first == 8) + 10000 * (first < 8))
    inclusive = np.concatenate([np.cumsum(part) for part in t.reshape(8, 8)])
    np.testing.assert_array_equal(out[2], inclusive + 1000 * rank)
    np.testing.assert_array_equal(out[3], (t ^ 1) + 1000 * 2 * (first + 7))
    some = t % 5 == 1
    expected = np.zeros(64, int)
    for warp in (t < 32, t >= 32):
        members = t[warp & some]
        expected[members] = np.arange(len(members)) + 100 * len(members) + 1000 * members.max()
    np.testing.assert_array_equal(out[4], expected)
    yes = t % 4 == 0
    order = np.where(yes, rank // 4, rank - rank // 4 - 1)
    np.testing.assert_array_equal(out[5], np.where(yes, 2, 6) + 10 * order)
    assert out[6][0] == t.sum()
    np.testing.assert_array_equal(out[7][::16], t.reshape(4, 16).sum(1))
    np.testing.assert_array_equal(out[8], out[0][::-1])


def test_groups_of_several_warps(blocks: Any, device: Any) -> None:
    out = device(np.zeros((3, 128), np.int32))
    blocks.run("run_groups_of_warps", out)
    t = np.arange(128)
    np.testing.assert_array_equal(out[0], t % 64 + 1000 * (t // 64) + 10000 * 2)
    sums = t.reshape(2, 64).sum(1)[t // 64]
    np.testing.assert_array_equal(out[1], sums + np.where(t < 64, 100000, 10000))
    rounds = np.where(t < 64, 3, 7)
    np.testing.assert_array_equal(out[2], t // 64 * 64 + (t + 33 * rounds) % 64)


@pytest.mark.parametrize(("grid", "threads"), [(1, 1), (4, 32), (8, 96)])
def test_a_grid_that_waits_for_all_its_blocks(blocks: Any, device: Any, grid: int, threads: int) -> None:
    n = grid * threads
    x = device(np.arange(n, dtype=np.int32))
    blocks.run("run_whole_grid", x, grid, threads, 5)
    np.testing.assert_array_equal(x, np.roll(np.arange(n), -5 * threads) + 5)


@twin_only
def test_a_grid_too_large_to_wait_for_itself(blocks: Any, device: Any) -> None:
    x = device(np.zeros(17 * 1024, np.int32))
    assert blocks.call("run_whole_grid", x, 17, 1024, 1) == 720


def test_full_grids_of_several_threads_wait_at_a_time(blocks: Any, device: Any) -> None:
    """Of 16,384 threads each, whose stacks are kept."""
    n = 16 * 1024
    arrays = [device(np.arange(n, dtype=np.int32)) for _ in range(3)]
    with ThreadPoolExecutor(3) as threads:
        list(threads.map(lambda x: blocks.run("run_whole_grid", x, 16, 1024, 1), arrays))
    for x in arrays:
        np.testing.assert_array_equal(x, np.roll(np.arange(n), -1024) + 1)


@twin_only
def test_a_grid_without_memory_for_its_stacks_leaves_nothing_behind(blocks: Any) -> None:
    program = f"""
import ctypes, resource
library = ctypes.CDLL({blocks.library._name!r})
library.ob_twin_attach_host()
x = ctypes.c_void_p()
assert library.allocate(ctypes.byref(x), ctypes.c_size_t(4 * 16 * 1024)) == 0
assert library.run_whole_grid(x, 1, 32, 1) == 0
held = int(open("/proc/self/status").read().split("VmData:")[1].split()[0]) << 10
limit = resource.getrlimit(resource.RLIMIT_DATA)
for room in range(0, 96, 4):
    resource.setrlimit(resource.RLIMIT_DATA, (held + (room << 20), limit[1]))
    error = library.run_whole_grid(x, 16, 1024, 1)
    resource.setrlimit(resource.RLIMIT_DATA, limit)
    assert error == 2, error
    library.ob_twin_clear_errors()
    assert library.run_whole_grid(x, 2, 32, 1) == 0
    assert library.run_votes(x, 32) == 0
"""
    succeed(program)
