"""The native core on real kernels: what a call hands over, gives back, and refuses."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from subprocesses import succeed

from opbridge import _core
from opbridge.base.errors import CallError, KernelError, OpbridgeError, UnsupportedError
from opbridge.native.plan import encode
from opbridge.waist.manifest import OpSpec

HERE = Path(__file__).parent
INCLUDE = HERE.parents[1] / "src" / "opbridge" / "include"

SCALED_ADD = {"schema": "scaled_add(Tensor x, Tensor y, *, float alpha=1.0) -> Tensor", "out": "x"}
COPY = {"schema": "copy(Tensor x) -> Tensor", "out": "x"}
REVERSED = {"schema": "reversed(Tensor x) -> Tensor", "out": "x"}
MATMUL = {
    "schema": "matmul(Tensor x, Tensor y) -> Tensor",
    "out": {"shape": "[x.shape[0], y.shape[1]]", "dtype": "promote(x, y)"},
}
STRIDES_OF = {"schema": "strides_of(Tensor x) -> Tensor", "out": {"shape": "[x.ndim]", "dtype": "int64"}}
INCREMENT = {"schema": "increment(Tensor(a!) x, float by=1) -> Tensor(a!)"}
ADD_INTO = {"schema": "add_into(Tensor(a!) x, Tensor y) -> ()"}
MIN_MAX = {
    "schema": "min_max(Tensor x) -> (Tensor low, Tensor high)",
    "out": [{"shape": "[]", "dtype": "x.dtype"}, {"shape": "[]", "dtype": "x.dtype"}],
}
SUM_ALL = {
    "schema": "sum_all(Tensor[] xs, Tensor? bias=None) -> Tensor",
    "out": {"shape": "xs[0].shape", "dtype": "float64"},
}
ATTRIBUTES = {
    "schema": "attributes(int i=1, float f=0.5, bool b=False, int[2] pair=3, float[] floats=[], str s='', "
    "Scalar number=2, int? maybe=None, ScalarType dtype=float) -> Tensor",
    "out": {"shape": "[9]", "dtype": "float64"},
}
FAILS = {"schema": "fails(Tensor x) -> ()"}
SLEEPS = {"schema": "sleeps(Tensor x) -> ()"}


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("kernels") / "kernels.so"
    command = ["g++", "-std=c++17", "-O1", "-fPIC", "-shared", f"-I{INCLUDE}", HERE / "kernels.cpp", "-o", path]
    subprocess.run(command, check=True)
    return str(path)


@pytest.fixture(scope="session")
def make(library: str) -> Callable[..., Any]:
    """An operator of the library from its schema and rules."""

    def build(rules: dict[str, Any], symbol: str = "", batch: str | None = None) -> Any:
        fields = {key: value for key, value in rules.items() if key != "schema"}
        spec = OpSpec.create(f"t::{rules['schema']}", kernels={"cpu": "kernels.cpp"}, batch=batch, **fields)
        return _core.NumpyOp(encode([spec]), 0, lambda: _core.load_kernel(library, symbol or spec.schema.name))

    return build


def floats(*shape: int) -> Any:
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


class TestKernel:
    def test_tells_where_it_is_and_what_it_takes(self, library: str) -> None:
        kernel = _core.load_kernel(library, "scaled_add")
        assert (kernel.path, kernel.symbol) == (library, "scaled_add")
        assert kernel.address
        assert kernel.signature_address
        assert kernel.describe() == "(In<T> x2, Out<T>, double) for float32, float64, float16, bfloat16"
        assert _core.load_kernel(library, "sum_all").describe() == (
            "(List<In<float64>>, Optional<In<float64>>, Out<float64>)"
        )

    def test_a_bare_function_has_no_signature(self, library: str) -> None:
        kernel = _core.load_kernel(library, "bare_copy")
        assert kernel.signature_address == 0
        assert kernel.describe() == "a bare aot function"

    def test_a_missing_symbol_names_the_ones_there_are(self, library: str) -> None:
        with pytest.raises(KernelError, match=r"(?s)scaled_ad.*it exports .*scaled_add.*did you mean 'scaled_add'\?"):
            _core.load_kernel(library, "scaled_ad")

    def test_a_relative_path_is_a_file_here(self, library: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(Path(library).parent)
        assert _core.load_kernel("kernels.so", "copy").address == _core.load_kernel(library, "copy").address

    def test_a_missing_file(self, tmp_path: Path) -> None:
        with pytest.raises(KernelError, match="No such file"):
            _core.load_kernel(str(tmp_path / "none.so"), "f")

    def test_a_file_that_is_no_library(self, tmp_path: Path) -> None:
        (tmp_path / "text.so").write_text("not a library")
        with pytest.raises(KernelError, match="not a shared library: expected an ELF file"):
            _core.load_kernel(str(tmp_path / "text.so"), "f")


class TestArguments:
    def test_by_position_by_name_and_by_default(self, make: Callable[..., Any]) -> None:
        op, x, y = make(SCALED_ADD), floats(3), floats(3)
        expected = x + 2 * y
        for result in (op(x, y, alpha=2.0), op(x, y=y, alpha=2), op(alpha=np.float32(2), y=y, x=x)):
            np.testing.assert_array_equal(result, expected)
        np.testing.assert_array_equal(op(x, y), x + y)
        np.testing.assert_array_equal(op(x, y, **{"al" + "pha": 2.0}), expected)

    @pytest.mark.parametrize(
        ("args", "kwargs", "message"),
        [
            (0, {}, "argument 'x' is missing"),
            (1, {}, "argument 'y' is missing"),
            (3, {}, r"2 arguments go by position, got 3; write alpha=\.\.\. for 'alpha'"),
            (2, {"alhpa": 1.0}, "no argument 'alhpa', did you mean 'alpha'"),
            (2, {"x": None}, "'x' was passed twice"),
            (2, {"alpha": "2"}, "argument 'alpha' expects float, got str '2'"),
            (2, {"alpha": 1j}, "argument 'alpha' expects float, got complex 1j"),
            (2, {"out": [1]}, "'out' expects a numpy array, got list"),
        ],
    )
    def test_what_does_not_fit_the_schema(
        self, make: Callable[..., Any], args: int, kwargs: dict[str, Any], message: str
    ) -> None:
        with pytest.raises(CallError, match=message) as caught:
            make(SCALED_ADD)(*[floats(2)] * args, **kwargs)
        assert "t::scaled_add" in str(caught.value)

    @pytest.mark.parametrize(
        ("value", "place", "expected"),
        [
            ({"i": 7}, 0, 7),
            ({"i": True}, 0, 1),
            ({"i": np.int16(-3)}, 0, -3),
            ({"i": np.array(4)}, 0, 4),
            ({"f": 2}, 1, 2),
            ({"f": np.float16(0.25)}, 1, 0.25),
            ({"f": False}, 1, 0),
            ({"b": True}, 2, 1),
            ({"b": np.bool_(True)}, 2, 1),
            ({}, 3, 303),
            ({"pair": 4}, 3, 404),
            ({"pair": (4, np.int64(5))}, 3, 405),
            ({"pair": np.array([6, 7])}, 3, 607),
            ({"floats": [1, 2.5, np.float32(3)]}, 4, 3),
            ({"s": "größe"}, 5, 7),
            ({"number": 2.5}, 6, 2.5),
            ({"number": True}, 6, 1),
            ({"number": np.uint8(9)}, 6, 9),
            ({}, 7, -1),
            ({"maybe": None}, 7, -1),
            ({"maybe": 12}, 7, 12),
            ({}, 8, 11),
            ({"dtype": np.int64}, 8, 8),
            ({"dtype": np.dtype("complex64")}, 8, 13),
            ({"dtype": "bfloat16"}, 8, 10),
            ({"dtype": bool}, 8, 0),
        ],
    )
    def test_every_kind_of_attribute(
        self, make: Callable[..., Any], value: dict[str, Any], place: int, expected: float
    ) -> None:
        assert make(ATTRIBUTES)(**value)[place] == expected

    @pytest.mark.parametrize(
        ("value", "message"),
        [
            ({"i": 1.0}, "'i' expects int, got float 1.0; write int"),
            ({"i": 2**64}, "64 bits"),
            ({"f": np.complex64(1)}, "'f' expects float"),
            ({"f": 10**400}, "too large"),
            ({"b": 1.5}, "'b' expects bool, got float 1.5; pass True or False"),
            ({"pair": 1.5}, r"'pair' expects int\[2\], got float"),
            ({"pair": [1, "2"]}, r"expects int\[2\], got str '2'"),
            ({"floats": 1.0}, r"'floats' expects float\[\], got float 1.0; pass a list"),
            ({"floats": "12"}, "pass a list"),
            ({"s": b"bytes"}, "'s' expects str"),
            ({"number": 1j}, "complex scalars are not supported"),
            ({"maybe": "3"}, r"'maybe' expects int\?"),
            ({"dtype": "float99"}, "pass a NumPy dtype"),
            ({"dtype": None}, "pass a NumPy dtype"),
            ({"dtype": object}, "pass a NumPy dtype"),
        ],
    )
    def test_attributes_of_the_wrong_kind(self, make: Callable[..., Any], value: dict[str, Any], message: str) -> None:
        with pytest.raises(CallError, match=message):
            make(ATTRIBUTES)(**value)

    def test_lists_and_missing_tensors(self, make: Callable[..., Any]) -> None:
        op, x = make(SUM_ALL), np.ones(3)
        np.testing.assert_array_equal(op([x, x * 2]), x * 3)
        np.testing.assert_array_equal(op((x,), x * 4), x * 5)
        np.testing.assert_array_equal(op([x] * 30, None), x * 30)
        with pytest.raises(CallError, match=r"'xs' expects a list or tuple of numpy arrays, got numpy\.ndarray"):
            op(x)
        with pytest.raises(CallError, match="'xs' expects a numpy array, got NoneType"):
            op([x, None])
        with pytest.raises(CallError, match="these arguments give no shape or dtype for the output"):
            op([])

    def test_a_tensor_of_another_framework_is_named(self, make: Callable[..., Any]) -> None:
        torch = pytest.importorskip("torch")
        with pytest.raises(CallError, match=r"'y' is a torch.Tensor, the others are numpy arrays; write np.asarray"):
            make(SCALED_ADD)(floats(2), torch.ones(2))

    @pytest.mark.parametrize("value", [[1.0, 2.0], 1.0, None, np.float32(1)])
    def test_what_is_no_array(self, make: Callable[..., Any], value: object) -> None:
        with pytest.raises(CallError, match="'x' expects a numpy array"):
            make(COPY)(value)

    @pytest.mark.parametrize("dtype", ["O", "U3", "datetime64[s]", "V4", "longdouble"])
    def test_element_types_without_numbers(self, make: Callable[..., Any], dtype: str) -> None:
        with pytest.raises(CallError, match="expects an array of numbers"):
            make(COPY)(np.zeros(2, dtype))


class TestArrays:
    @pytest.mark.parametrize("dtype", list("?BbHhIiLlQqefdFD"))
    def test_every_element_type(self, make: Callable[..., Any], dtype: str) -> None:
        x = np.arange(6).reshape(2, 3).astype(dtype)
        result = make(COPY)(x)
        assert result.dtype == x.dtype
        np.testing.assert_array_equal(result, x)

    def test_bfloat16(self, make: Callable[..., Any]) -> None:
        bfloat16 = pytest.importorskip("ml_dtypes").bfloat16
        x = np.arange(4).astype(bfloat16)
        result = make(COPY)(x)
        assert result.dtype == x.dtype
        np.testing.assert_array_equal(result, x)

    @pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1,), (2, 1, 3), (1,) * 20])
    def test_every_shape(self, make: Callable[..., Any], shape: tuple[int, ...]) -> None:
        x = np.full(shape, 3, np.float32)
        result = make(COPY)(x)
        assert type(result) is np.ndarray
        assert result.shape == shape
        np.testing.assert_array_equal(result, x)

    @pytest.mark.parametrize(
        "view",
        [
            lambda x: x.T,
            lambda x: x[::-1],
            lambda x: x[:, ::2],
            lambda x: np.broadcast_to(x[0], (4, 6)),
            lambda x: x.astype(">f4"),
            lambda x: np.frombuffer(b"\0" + x.tobytes(), np.uint8)[1:].view(np.float32),
            np.asfortranarray,
        ],
    )
    def test_every_layout_reaches_the_kernel_in_order(
        self, make: Callable[..., Any], view: Callable[[Any], Any]
    ) -> None:
        x = view(floats(4, 6))
        result = make(COPY)(x)
        np.testing.assert_array_equal(result, x)
        assert result.flags.c_contiguous
        assert result.dtype.isnative

    def test_strides_are_handed_over_where_the_kernel_asks(self, make: Callable[..., Any]) -> None:
        op, x = make(STRIDES_OF), floats(4, 6)
        assert op(x).tolist() == [6, 1]
        assert op(x.T).tolist() == [1, 6]
        assert op(x[::-2, ::3]).tolist() == [-12, 3]
        packed = np.zeros(3, [("a", "f4"), ("b", "u1")])
        assert op(packed["a"]).tolist() == [1], "strides of no whole elements are not for kernels"

    def test_rules_decide_shape_and_dtype(self, make: Callable[..., Any]) -> None:
        op, x, y = make(MATMUL), floats(2, 3), floats(3, 4)
        np.testing.assert_array_equal(op(x, y), x @ y)
        with pytest.raises(CallError, match=r"t::matmul: these arguments give no shape or dtype"):
            op(x, floats(3))

    def test_returns_none_one_array_or_a_tuple(self, make: Callable[..., Any]) -> None:
        x = np.array([3.0, 1.0, 2.0])
        low, high = make(MIN_MAX)(x)
        assert (low, high) == (1, 3)
        assert low.shape == ()
        assert make(ADD_INTO)(x, np.ones(3)) is None

    def test_a_subclass_gives_a_plain_array(self, make: Callable[..., Any], tmp_path: Path) -> None:
        x = np.memmap(tmp_path / "data", np.float32, "w+", shape=(3,))
        assert type(make(COPY)(x)) is np.ndarray


class TestOut:
    def test_the_result_is_the_array_given(self, make: Callable[..., Any]) -> None:
        x, out = floats(3), np.empty(3, np.float32)
        assert make(SCALED_ADD)(x, x, out=out) is out
        np.testing.assert_array_equal(out, 2 * x)
        assert make(SCALED_ADD)(x, x, out=None) is not None

    def test_several_outputs_take_a_tuple(self, make: Callable[..., Any]) -> None:
        x, low, high = np.array([3.0, 1.0]), np.empty(()), np.empty(())
        assert make(MIN_MAX)(x, out=(low, high)) == (low, high)
        assert (low, high) == (1, 3)
        for wrong in (low, (low,)):
            with pytest.raises(CallError, match="'out' expects a tuple of 2 arrays"):
                make(MIN_MAX)(x, out=wrong)
        with pytest.raises(CallError, match="two arrays in 'out' share memory"):
            make(MIN_MAX)(x, out=(low, low))

    @pytest.mark.parametrize(
        ("out", "message"),
        [
            (np.empty(4, np.float32), r"'out' expects shape \[3\], got \[4\]"),
            (np.empty((3, 1), np.float32), r"'out' expects shape \[3\], got \[3, 1\]"),
            (np.empty(3), "'out' expects dtype float32, got float64"),
            (np.broadcast_to(np.float32(0), 3), "got a read-only one"),
        ],
    )
    def test_an_array_that_cannot_hold_the_result(self, make: Callable[..., Any], out: Any, message: str) -> None:
        with pytest.raises(CallError, match=message):
            make(COPY)(floats(3), out=out)

    @pytest.mark.parametrize("dtype", ["<f4", ">f4"])
    @pytest.mark.parametrize("step", [1, 2, -1])
    def test_any_layout_can_be_written(self, make: Callable[..., Any], dtype: str, step: int) -> None:
        x, out = floats(3), np.zeros(9, dtype)[::step][:3]
        assert make(COPY)(x, out=out) is out
        np.testing.assert_array_equal(out, x)

    @pytest.mark.parametrize("shift", [0, 1, 2])
    def test_writing_over_an_input_gives_the_same_result(self, make: Callable[..., Any], shift: int) -> None:
        buffer = floats(6)
        x, out = buffer[:4], buffer[shift : shift + 4]
        expected = x[::-1].copy()
        np.testing.assert_array_equal(make(REVERSED)(x, out=out), expected)

    @given(data=st.data())
    @settings(max_examples=60, deadline=None)
    def test_overlap_never_changes_an_elementwise_result(self, make: Callable[..., Any], data: st.DataObject) -> None:
        buffer = floats(24)
        slices = st.builds(slice, st.integers(0, 6), st.just(None), st.integers(1, 3))
        x, y, out = (buffer[data.draw(slices)][:6] for _ in range(3))
        expected = x + 2 * y
        np.testing.assert_array_equal(make(SCALED_ADD, batch="elementwise")(x, y, alpha=2, out=out), expected)

    def test_an_elementwise_operator_works_in_place(self, make: Callable[..., Any]) -> None:
        x = floats(3)
        make(SCALED_ADD, batch="elementwise")(x, x, out=x)
        np.testing.assert_array_equal(x, 2 * floats(3))


class TestMutableArguments:
    def test_the_argument_itself_is_changed_and_returned(self, make: Callable[..., Any]) -> None:
        x = np.zeros(3)
        assert make(INCREMENT)(x, 2.0) is x
        assert x.tolist() == [2, 2, 2]

    @pytest.mark.parametrize("view", [lambda x: x[::2], lambda x: x[::-1], lambda x: x.view(">f8")])
    def test_any_layout(self, make: Callable[..., Any], view: Callable[[Any], Any]) -> None:
        x = view(np.zeros(6))
        make(INCREMENT)(x, 2.0)
        np.testing.assert_array_equal(x, np.full_like(x, 2))

    def test_a_read_only_array(self, make: Callable[..., Any]) -> None:
        x = np.zeros(3)
        x.flags.writeable = False
        with pytest.raises(CallError, match=r"'x' expects an array it can write to, got a read-only one"):
            make(INCREMENT)(x)

    def test_shared_memory_is_refused(self, make: Callable[..., Any]) -> None:
        op, buffer = make(ADD_INTO), np.arange(6.0)
        for x, y in ((buffer[:4], buffer[2:]), (buffer, buffer)):
            with pytest.raises(CallError, match=r"'x', which is written to, and 'y' share memory; pass a \.copy"):
                op(x, y)
        op(buffer[::2], buffer[1::2])
        assert buffer.tolist() == [1, 1, 5, 3, 9, 5]

    def test_one_view_is_fine_element_by_element(self, make: Callable[..., Any]) -> None:
        x = np.arange(3.0)
        make(ADD_INTO, batch="elementwise")(x, x)
        assert x.tolist() == [0, 2, 4]


class TestFailures:
    def test_a_kernel_says_what_is_wrong(self, make: Callable[..., Any]) -> None:
        with pytest.raises(KernelError, match=r"(?s)t::fails: .*x has 2 elements, three are wanted"):
            make(FAILS)(floats(2))
        assert make(FAILS)(floats(3)) is None

    def test_a_bare_kernel_runs_and_fails_by_number(self, make: Callable[..., Any]) -> None:
        np.testing.assert_array_equal(make(COPY, symbol="bare_copy")(floats(2, 2)), floats(2, 2))
        with pytest.raises(KernelError, match="t::scaled_add: kernel bare_copy returned 7"):
            make(SCALED_ADD, symbol="bare_copy")(floats(2), floats(2))

    def test_a_kernel_that_does_not_fit_the_schema(self, make: Callable[..., Any]) -> None:
        with pytest.raises(KernelError, match="kernel increment does not fit t::copy"):
            make(COPY, symbol="increment")(floats(2))

    @pytest.mark.parametrize("shape", [[1] * 65, [2**40, 2**40], [2**62]])
    def test_an_output_that_no_array_can_be(self, make: Callable[..., Any], shape: list[int]) -> None:
        sized = make({"schema": "sized(int[] n) -> Tensor", "out": {"shape": "n", "dtype": "float32"}}, "bare_copy")
        with pytest.raises(
            CallError, match=r"t::sized: the out rule gives float32 \[.*\], more than a NumPy array can be"
        ):
            sized(shape)

    @pytest.mark.parametrize("size", [-1, -64, 2**63 - 1])
    def test_scratch_that_no_memory_can_be(self, make: Callable[..., Any], size: int) -> None:
        with pytest.raises(KernelError, match=r"out of memory: no [0-9]+ bytes of scratch"):
            make({"schema": "scratches(int size) -> ()"})(size)

    def test_an_argument_type_that_kernels_have_not(self, make: Callable[..., Any]) -> None:
        with pytest.raises(UnsupportedError, match="argument 'g' has a type that kernels cannot be handed"):
            make({"schema": "f(Tensor x, Generator g) -> ()"})

    def test_an_error_while_finding_the_kernel_comes_through(self) -> None:
        def broken() -> _core.Kernel:
            raise LookupError("no compiler")

        spec = OpSpec.create("t::copy(Tensor x) -> Tensor", kernels={"cpu": "kernels.cpp"}, out="x")
        with pytest.raises(LookupError, match="no compiler"):
            _core.NumpyOp(encode([spec]), 0, broken)(floats(2))

    @given(st.data())
    def test_a_damaged_plan_is_refused(self, data: st.DataObject) -> None:
        plan = bytearray(
            encode([OpSpec.create("t::" + ATTRIBUTES["schema"], kernels={"cpu": "k.cpp"}, out=ATTRIBUTES["out"])])
        )
        del plan[data.draw(st.integers(0, len(plan))) :]
        for _ in range(data.draw(st.integers(0, 3))):
            if plan:
                plan[data.draw(st.integers(0, len(plan) - 1))] ^= data.draw(st.integers(1, 255))
        with contextlib.suppress(OpbridgeError, UnicodeDecodeError):
            _core.NumpyOp(bytes(plan), 0, lambda: _core.load_kernel("", ""))


class TestThreads:
    def test_the_gil_is_free_while_a_kernel_runs(self, make: Callable[..., Any]) -> None:
        op, ticks, running = make(SLEEPS), 0, threading.Event()

        def call() -> None:
            running.set()
            op(floats(1))
            running.clear()

        thread = threading.Thread(target=call)
        thread.start()
        running.wait()
        while running.is_set():
            ticks += 1
        thread.join()
        assert ticks > 1000

    def test_a_program_ends_while_a_daemon_thread_calls(self, library: str) -> None:
        code = f"""
import threading, time
import numpy as np
from opbridge import _core
from opbridge.waist.manifest import OpSpec
from opbridge.native.plan import encode

class WaitsUntilTheCallReturns:
    def __del__(self, sleep=time.sleep):
        sleep(0.3)

spec = OpSpec.create("t::sleeps(Tensor x) -> ()", kernels={{"cpu": "kernels.cpp"}})
op = _core.NumpyOp(encode([spec]), 0, lambda: _core.load_kernel({library!r}, "sleeps"))
x, running, end = np.zeros(1, np.float32), threading.Event(), WaitsUntilTheCallReturns()

def call():
    op(x)
    running.set()
    op(x)

threading.Thread(target=call, daemon=True).start()
running.wait()
"""
        succeed(code)

    def test_calls_and_rebinds_from_many_threads(self, make: Callable[..., Any], library: str) -> None:
        op, kernel = make(SCALED_ADD), _core.load_kernel(library, "scaled_add")
        wrong: list[object] = []

        def work(seed: int) -> None:
            x = np.full(5000, seed, np.float32)
            for _ in range(200):
                op.rebind(kernel)
                if not (op(x, x) == 2 * seed).all():
                    wrong.append(seed)

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not wrong

    def test_the_number_of_threads(self, make: Callable[..., Any]) -> None:
        before = _core.num_threads()
        try:
            for count in (1, 3):
                _core.set_num_threads(count)
                assert _core.num_threads() == count
                x = floats(100_000)
                np.testing.assert_array_equal(make(SCALED_ADD)(x, x), 2 * x)
            with pytest.raises(CallError, match="from 1 to 4096, got 0"):
                _core.set_num_threads(0)
        finally:
            _core.set_num_threads(before)


def test_calls_leak_nothing(make: Callable[..., Any]) -> None:
    x, out = floats(3), np.empty(3, np.float32)
    op, lists = make(SCALED_ADD), make(SUM_ALL)
    doubles = [np.ones(3), np.ones(6)[::2]]

    def round_of_calls() -> None:
        op(x, x[::-1], out=out)
        lists(doubles, doubles[1])
        with pytest.raises(CallError):
            op(x, "y")

    round_of_calls()
    before = [sys.getrefcount(value) for value in (x, out, *doubles, x.dtype)]
    for _ in range(50):
        round_of_calls()
    assert [sys.getrefcount(value) for value in (x, out, *doubles, x.dtype)] == before


def test_importing_the_core_imports_no_framework() -> None:
    code = "import sys, opbridge._core; print([m for m in ('numpy', 'torch', 'jax') if m in sys.modules])"
    said = succeed(code)
    assert said.strip() == "[]"
