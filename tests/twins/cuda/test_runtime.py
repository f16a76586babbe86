"""The runtime API: memory, streams, events, the device, and errors as they are documented."""

from __future__ import annotations

import ctypes
import subprocess
from ctypes import byref, c_float, c_int, c_size_t, c_void_p
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from subprocesses import python, succeed

from opbridge.build.toolchains import BuildRequest, build
from opbridge.twins.cuda.toolchain import runtime

TO_HOST, TO_DEVICE, DEVICE_TO_DEVICE, DEFAULT = 2, 1, 3, 4
KERNELS = Path(__file__).parent / "kernels"


@pytest.fixture(scope="module")
def library() -> Any:
    loaded = ctypes.CDLL(str(runtime()))
    for name in ("cudaGetErrorName", "cudaGetErrorString"):
        getattr(loaded, name).restype = ctypes.c_char_p
    return loaded


@pytest.fixture
def cuda(library: Any) -> Any:
    library.ob_twin_clear_errors()
    yield library
    library.ob_twin_clear_errors()


@pytest.fixture
def memory(cuda: Any) -> Any:
    """1000 bytes of the device."""
    made = c_void_p()
    assert cuda.cudaMalloc(byref(made), c_size_t(1000)) == 0
    yield made
    cuda.cudaFree(made)


def address(array: np.ndarray[Any, Any]) -> c_void_p:
    return array.ctypes.data_as(c_void_p)


class TestErrors:
    def test_have_names_and_sentences(self, cuda: Any) -> None:
        assert cuda.cudaGetErrorName(700) == b"cudaErrorIllegalAddress"
        assert cuda.cudaGetErrorString(2) == b"out of memory"
        assert cuda.cudaGetErrorName(12345) == b"unrecognized error code"

    def test_are_told_until_somebody_takes_them(self, cuda: Any) -> None:
        assert cuda.cudaSetDevice(7) == 101
        assert [cuda.cudaPeekAtLastError(), cuda.cudaPeekAtLastError(), cuda.cudaGetLastError()] == [101] * 3
        assert cuda.cudaGetLastError() == 0

    def test_are_each_thread_s_own(self, cuda: Any) -> None:
        from concurrent.futures import ThreadPoolExecutor

        assert cuda.cudaSetDevice(7) == 101
        with ThreadPoolExecutor(1) as thread:
            assert thread.submit(cuda.cudaGetLastError).result() == 0
        assert cuda.cudaGetLastError() == 101


class TestMemory:
    def test_goes_there_and_back(self, cuda: Any, memory: c_void_p) -> None:
        given, got = np.arange(250, dtype=np.int32), np.zeros(250, np.int32)
        assert cuda.cudaMemcpy(memory, address(given), c_size_t(1000), TO_DEVICE) == 0
        assert cuda.cudaMemset(memory, 0xFF, c_size_t(8)) == 0
        assert cuda.cudaMemcpyAsync(address(got), memory, c_size_t(1000), DEFAULT, None) == 0
        np.testing.assert_array_equal(got[2:], given[2:])
        assert list(got[:2]) == [-1, -1]

    def test_is_aligned_and_counted(self, cuda: Any) -> None:
        free, total, less = c_size_t(), c_size_t(), c_size_t()
        cuda.cudaMemGetInfo(byref(free), byref(total))
        made = [c_void_p() for _ in range(5)]
        for i, one in enumerate(made):
            assert cuda.cudaMallocAsync(byref(one), c_size_t(1000 * 17**i), None) == 0
            assert (one.value or 1) % 256 == 0
        cuda.cudaMemGetInfo(byref(less), byref(total))
        assert free.value - less.value >= sum(1000 * 17**i for i in range(5))
        for one in made:
            assert cuda.cudaFree(one) == 0
        cuda.cudaMemGetInfo(byref(less), byref(total))
        assert less.value == free.value <= total.value

    def test_of_no_bytes_is_nothing_and_too_much_is_an_error(self, cuda: Any) -> None:
        made = c_void_p(1)
        assert (cuda.cudaMalloc(byref(made), c_size_t(0)), made.value) == (0, None)
        assert cuda.cudaMalloc(byref(made), c_size_t(1 << 60)) == 2
        assert cuda.cudaFree(None) == 0

    @pytest.mark.parametrize(
        ("kind", "error"), [(TO_HOST, 1), (TO_DEVICE, 0), (DEVICE_TO_DEVICE, 0), (DEFAULT, 0), (5, 21), (-1, 21)]
    )
    def test_copies_know_their_direction(self, cuda: Any, memory: c_void_p, kind: int, error: int) -> None:
        assert cuda.cudaMemcpy(memory, address(np.zeros(4)), c_size_t(4), kind) == error

    def test_what_is_known_of_it_is_little_beside_it(self, library: Any) -> None:
        """A process may be limited in memory: here in 3 GiB, for 1 GiB of the device, freed again each time."""
        succeed(
            "import ctypes, resource, sys\n"
            "cuda, got = ctypes.CDLL(sys.argv[1]), ctypes.c_void_p()\n"
            "resource.setrlimit(resource.RLIMIT_DATA, (3 << 30, 3 << 30))\n"
            "for _ in range(16):\n"
            "    assert cuda.cudaMalloc(ctypes.byref(got), ctypes.c_size_t(64 << 20)) == 0\n"
            "    assert cuda.cudaFree(got) == 0\n"
            "    assert cuda.cudaMalloc(ctypes.byref(got), ctypes.c_size_t(4)) == 0\n",
            str(runtime()),
        )

    def test_is_as_many_allocations_as_a_program_likes(self, library: Any) -> None:
        """And not as many as the system lets a process have mappings; all those are given back."""
        succeed(
            "import ctypes, sys\n"
            "from pathlib import Path\n"
            "cuda = ctypes.CDLL(sys.argv[1])\n"
            "limit = int(Path('/proc/sys/vm/max_map_count').read_text())\n"
            "all = [ctypes.c_void_p() for _ in range(min(limit, 65530))]\n"
            "for one in all: assert cuda.cudaMalloc(ctypes.byref(one), ctypes.c_size_t(512)) == 0\n"
            "for one in all[::2] + all[1::2]:\n"
            "    assert cuda.cudaMemset(one, 1, ctypes.c_size_t(512)) == 0\n"
            "    assert cuda.cudaFree(one) == 0\n"
            "assert len(Path('/proc/self/maps').read_text().splitlines()) < 1000\n",
            str(runtime()),
        )

    def test_of_rows_with_a_pitch(self, cuda: Any) -> None:
        made, pitch = c_void_p(), c_size_t()
        assert cuda.cudaMallocPitch(byref(made), byref(pitch), c_size_t(12), c_size_t(4)) == 0
        assert pitch.value >= 12
        given, got = np.arange(12, dtype=np.int32).reshape(4, 3), np.zeros((4, 5), np.int32)
        sizes = c_size_t(12), c_size_t(4)
        assert cuda.cudaMemcpy2D(made, pitch, address(given), c_size_t(12), *sizes, TO_DEVICE) == 0
        assert cuda.cudaMemset2D(made, pitch, 0, c_size_t(4), c_size_t(4)) == 0
        assert cuda.cudaMemcpy2D(address(got), c_size_t(20), made, pitch, *sizes, TO_HOST) == 0
        np.testing.assert_array_equal(got[:, :3], np.where(np.arange(3) == 0, 0, given))
        assert cuda.cudaMemcpy2D(made, c_size_t(8), address(given), c_size_t(12), *sizes, TO_DEVICE) == 12
        cuda.cudaFree(made)

    def test_tells_whose_it_is(self, cuda: Any, memory: c_void_p) -> None:
        class Attributes(ctypes.Structure):
            _fields_ = (("type", c_int), ("device", c_int), ("on_device", c_void_p), ("on_host", c_void_p))

        def kind(of: c_void_p) -> tuple[int, bool, bool]:
            found = Attributes()
            assert cuda.cudaPointerGetAttributes(byref(found), of) == 0
            return found.type, bool(found.on_device), bool(found.on_host)

        managed, pinned = c_void_p(), c_void_p()
        assert cuda.cudaMallocManaged(byref(managed), c_size_t(8), 1) == 0
        assert cuda.cudaHostAlloc(byref(pinned), c_size_t(8), 0) == 0
        assert memory.value
        assert kind(c_void_p(memory.value + 999)) == (2, True, False)
        assert kind(managed) == (3, True, True)
        assert kind(pinned) == (1, True, True)
        assert kind(address(np.zeros(1))) == (0, False, False)
        assert [cuda.cudaFree(managed), cuda.cudaFreeHost(pinned)] == [0, 0]

    @pytest.fixture
    def pinned(self, cuda: Any) -> Any:
        made = c_void_p()
        assert cuda.cudaMallocHost(byref(made), c_size_t(100_001)) == 0
        yield made
        cuda.cudaFreeHost(made)

    def test_of_the_host_is_no_device_memory(self, cuda: Any, pinned: c_void_p, memory: c_void_p) -> None:
        free, free_with_more, total, more = c_size_t(), c_size_t(), c_size_t(), c_void_p()
        cuda.cudaMemGetInfo(byref(free), byref(total))
        assert cuda.cudaHostAlloc(byref(more), c_size_t(1 << 20), 0) == 0
        cuda.cudaMemGetInfo(byref(free_with_more), byref(total))
        assert (pinned.value or 1) % 4096 == (more.value or 1) % 4096 == 0
        assert free.value == free_with_more.value
        assert [cuda.cudaFree(more), cuda.cudaFreeHost(memory)] == [1, 1]
        assert [cuda.cudaFreeHost(more), cuda.cudaFreeHost(more), cuda.cudaFreeHost(None)] == [0, 1, 0]

    def test_of_the_host_that_is_registered_is_not_cudas_to_free(self, cuda: Any) -> None:
        array = np.ones(4)
        assert cuda.cudaHostRegister(address(array), c_size_t(32), 0) == 0
        assert [cuda.cudaFreeHost(address(array)), cuda.cudaHostUnregister(address(array))] == [1, 0]
        assert list(array) == [1] * 4

    def test_of_the_host_can_be_registered(self, cuda: Any) -> None:
        array, on_device = np.zeros(4), c_void_p()
        assert cuda.cudaHostGetDevicePointer(byref(on_device), address(array), 0) == 1
        assert cuda.cudaHostRegister(address(array), c_size_t(32), 0) == 0
        assert cuda.cudaHostRegister(address(array), c_size_t(32), 0) == 712
        assert cuda.cudaHostGetDevicePointer(byref(on_device), address(array), 0) == 0
        assert on_device.value == array.ctypes.data
        assert [cuda.cudaHostUnregister(address(array)), cuda.cudaHostUnregister(address(array))] == [0, 713]


class TestStreamsAndEvents:
    @pytest.fixture
    def stream(self, cuda: Any) -> Any:
        made = c_void_p()
        assert cuda.cudaStreamCreateWithPriority(byref(made), 1, -3) == 0
        yield made
        cuda.cudaStreamDestroy(made)

    def event(self, cuda: Any, flags: int = 0) -> c_void_p:
        made = c_void_p()
        assert cuda.cudaEventCreateWithFlags(byref(made), flags) == 0
        return made

    def test_a_stream_knows_what_it_was_made_with(self, cuda: Any, stream: c_void_p) -> None:
        flags, priority = c_int(), c_int()
        assert cuda.cudaStreamGetFlags(stream, byref(flags)) == cuda.cudaStreamGetPriority(stream, byref(priority)) == 0
        assert (flags.value, priority.value) == (1, -3)

    @pytest.mark.parametrize("predefined", [None, 1, 2])
    def test_what_a_stream_was_given_has_happened(self, cuda: Any, predefined: int | None) -> None:
        assert cuda.cudaStreamSynchronize(c_void_p(predefined)) == cuda.cudaStreamQuery(c_void_p(predefined)) == 0

    def test_a_handle_that_is_none_is_an_error(self, cuda: Any) -> None:
        made = c_void_p()
        assert cuda.cudaStreamCreate(byref(made)) == cuda.cudaStreamDestroy(made) == 0
        for call in (
            cuda.cudaStreamSynchronize,
            cuda.cudaStreamDestroy,
            cuda.cudaEventSynchronize,
            cuda.cudaEventDestroy,
        ):
            assert call(made) == 400

    def test_events_measure_time(self, cuda: Any, stream: c_void_p) -> None:
        begin, end, milliseconds = self.event(cuda), self.event(cuda), c_float(-1)
        assert cuda.cudaEventElapsedTime(byref(milliseconds), begin, end) == 400
        assert cuda.cudaEventRecord(begin, stream) == 0
        assert cuda.cudaStreamWaitEvent(stream, begin, 0) == 0
        assert cuda.cudaEventRecord(end, stream) == cuda.cudaEventSynchronize(end) == cuda.cudaEventQuery(end) == 0
        assert cuda.cudaEventElapsedTime(byref(milliseconds), begin, end) == 0
        assert milliseconds.value >= 0
        silent = self.event(cuda, flags=2)
        assert cuda.cudaEventRecord(silent, None) == 0
        assert cuda.cudaEventElapsedTime(byref(milliseconds), begin, silent) == 400
        assert [cuda.cudaEventDestroy(event) for event in (begin, end, silent)] == [0, 0, 0]

    def test_wishes_of_a_stream_are_heard(self, cuda: Any, stream: c_void_p, memory: c_void_p) -> None:
        attach, no_flags, access_policy, priority = cuda.cudaStreamAttachMemAsync, 0, 1, 8
        assert [attach(stream, memory, c_size_t(0), flags) for flags in (1, 2, 4, no_flags)] == [0, 0, 0, 1]
        value = (c_int * 16)(7)
        assert cuda.cudaStreamSetAttribute(stream, access_policy, value) == cuda.cudaCtxResetPersistingL2Cache() == 0
        assert cuda.cudaStreamGetAttribute(stream, priority, value) == 0
        assert value[0] == -3
        assert cuda.cudaStreamSetAttribute(None, access_policy, None) == 1

    def test_functions_of_the_host_run_in_order(self, cuda: Any, stream: c_void_p) -> None:
        calls: list[str] = []
        first = ctypes.CFUNCTYPE(None, c_void_p)(lambda data: calls.append("first"))
        second = ctypes.CFUNCTYPE(None, c_void_p, c_int, c_void_p)(lambda *given: calls.append("second"))
        assert cuda.cudaLaunchHostFunc(stream, first, None) == 0
        assert cuda.cudaStreamAddCallback(stream, second, None, 0) == 0
        assert calls == ["first", "second"]


class TestDevice:
    def test_there_is_one(self, cuda: Any) -> None:
        count, device = c_int(), c_int(-1)
        assert cuda.cudaGetDeviceCount(byref(count)) == cuda.cudaGetDevice(byref(device)) == cuda.cudaSetDevice(0) == 0
        assert (count.value, device.value) == (1, 0)

    @pytest.mark.parametrize(
        ("attribute", "value"),
        [(1, 1024), (5, 2**31 - 1), (8, 48 << 10), (10, 32), (75, 8), (76, 0), (95, 1), (97, 163 << 10)],
    )
    def test_attributes(self, cuda: Any, attribute: int, value: int) -> None:
        found = c_int()
        assert cuda.cudaDeviceGetAttribute(byref(found), attribute, 0) == 0
        assert found.value == value

    def test_an_attribute_that_is_none(self, cuda: Any) -> None:
        found = c_int()
        assert cuda.cudaDeviceGetAttribute(byref(found), 9999, 0) == 1
        assert cuda.cudaDeviceGetAttribute(byref(found), 1, 1) == 101

    def test_limits_are_remembered(self, cuda: Any) -> None:
        found = c_size_t()
        assert cuda.cudaDeviceSetLimit(0, c_size_t(4096)) == cuda.cudaDeviceGetLimit(byref(found), 0) == 0
        assert found.value == 4096
        for of_kernels_in_kernels in (c_int(4), c_int(6)):
            assert cuda.cudaDeviceSetLimit(of_kernels_in_kernels, c_size_t(1)) == 0
        assert cuda.cudaDeviceSetLimit(7, c_size_t(1)) == 1

    def test_it_has_no_peer(self, cuda: Any) -> None:
        found = c_int(-1)
        assert cuda.cudaDeviceCanAccessPeer(byref(found), 0, 0) == 0
        assert found.value == 0
        for peer in (0, 1):
            assert cuda.cudaDeviceEnablePeerAccess(peer, 0) == cuda.cudaDeviceDisablePeerAccess(peer) == 101
            assert cuda.cudaDeviceGetP2PAttribute(byref(found), 2, 0, peer) == 101


class TestLaunches:
    @pytest.fixture(params=[False, True], ids=["fast", "checked"])
    def failing(self, twin: Any, request: pytest.FixtureRequest) -> Any:
        return twin("failing.cu", checks=request.param)

    @pytest.mark.parametrize(
        ("grid", "block", "shared", "error"),
        [
            ((1, 1, 1), (1024, 1, 1), 48 * 1024, 0),
            ((70000, 1, 1), (1, 1, 1), 0, 0),
            ((1, 65535, 1), (1, 1, 64), 0, 0),
            ((0, 1, 1), (1, 1, 1), 0, 9),
            ((1, 1, 1), (1, 0, 1), 0, 9),
            ((1, 65536, 1), (1, 1, 1), 0, 9),
            ((1, 1, 1), (1025, 1, 1), 0, 9),
            ((1, 1, 1), (32, 32, 2), 0, 9),
            ((1, 1, 1), (1, 1, 65), 0, 9),
            ((1, 1, 1), (1, 1, 1), 48 * 1024 + 1, 1),
        ],
    )
    def test_that_no_gpu_accepts(self, failing: Any, grid: Any, block: Any, shared: int, error: int) -> None:
        assert failing.call("launch_of", *grid, *block, c_size_t(shared)) == error

    @pytest.mark.parametrize(
        ("name", "error", "said"),
        [
            ("launch_trap", 710, "__trap() was called"),
            ("launch_trap_behind_a_barrier", 710, "__trap() was called"),
            ("launch_trap_in_a_warp", 710, "__trap() was called"),
            ("launch_that_gets_stuck", 719, "wait at a barrier"),
            ("launch_divergent", 719, "wait at a barrier"),
            ("launch_wrong_mask", 719, "__shfl_sync was called by lane 0 with the mask 0x0000ff00"),
            ("launch_large", 9, "memory, more does not fit"),
        ],
    )
    def test_that_fail(self, failing: Any, name: str, error: int, said: str) -> None:
        assert failing.call(name) == error
        assert said in failing.reports
        for blocks, threads in [(1, 64), (9, 1), (5, 1024)]:
            out = np.zeros(1, np.int32)
            failing.run("launch_after", out)
            assert out[0] == 42
            kept = np.zeros(blocks * threads, np.int32)
            failing.run("launch_together", kept, blocks, threads)
            np.testing.assert_array_equal(kept, np.arange(blocks * threads) + 1)

    def test_of_which_one_block_fails_while_others_run(self, failing: Any) -> None:
        for failed_block in [0, 1, 300, 4000] * 5:
            assert failing.call("launch_that_fails_in", failed_block, 5000) == 710
            assert "__trap() was called" in failing.reports
            out = np.zeros(1, np.int32)
            failing.run("launch_after", out)
            assert out[0] == 42

    def test_that_assert(self, failing: Any) -> None:
        assert failing.call("launch_assert", 32) == 0
        assert failing.call("launch_assert", 31) == 710
        assert "failing.cu:" in failing.reports
        assert 'assertion `threadIdx.x < most && "too many threads"\' failed' in failing.reports


def in_a_process(source: str, function: str) -> subprocess.CompletedProcess[str]:
    path = build(BuildRequest((KERNELS / source,), f"{source}.so", language="cuda-twin")).path
    code = f"import ctypes; ctypes.CDLL({str(path)!r}).{function}()"
    return python(code, timeout=60)


def test_a_kernel_prints() -> None:
    assert in_a_process("failing.cu", "print_from_kernel").stdout == "block 0 of 1\n"


@pytest.mark.parametrize(
    ("source", "function", "said"),
    [
        ("failing.cu", "overflow", ""),
        ("no_kernel.cu", "launch_no_kernel", "<<<>>> follows a function that is not a __global__ function"),
        ("no_kernel.cu", "wait_on_the_host", "__syncthreads was called by host code"),
    ],
    ids=["writing behind memory without checks", "launching a function", "waiting on the host"],
)
def test_what_cannot_go_on_ends_the_process(source: str, function: str, said: str) -> None:
    done = in_a_process(source, function)
    assert done.returncode < 0
    assert said in done.stderr
