"""What `opbridge/kernel.h` promises to kernel authors, seen from the C call."""

from __future__ import annotations

import ctypes
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]

Array = np.ndarray[Any, np.dtype[Any]]
Build = Callable[..., Path]
Host = Any  # of conftest.py

# Of abi.h.
IN, OUT = 0, 1
OPTIONAL = 1
ANY, TEMPLATE, ANY_NUMBER = -1, -2, 0
INT16, INT64, FLOAT32 = 4, 8, 11


def f32(*values: float) -> Array:
    return np.array(values, np.float32)


def failure(kernels: Host, *call: Any, **options: Any) -> str:
    with pytest.raises(RuntimeError) as failed:
        kernels(*call, **options)
    return str(failed.value)


# The contract.


@pytest.mark.parametrize(
    ("compiler", "standard", "flags"),
    [("gcc", "c11", []), ("g++", "c++17", ["-x", "c++"]), ("g++", "c++20", ["-x", "c++"])],
)
def test_the_layout_of_the_c_structs_never_moves(build: Build, compiler: str, standard: str, flags: list[str]) -> None:
    build("layout.c", "-c", *flags, compiler=compiler, standard=standard)


def test_kernels_compile_as_cpp20(build: Build) -> None:
    build("dtypes.cpp", "-fsyntax-only", standard="c++20")


def test_a_library_exports_its_kernels_and_can_be_unloaded(build: Build) -> None:
    made = build("dtypes.cpp", "-fPIC", "-shared", "-fvisibility=hidden")
    symbols = subprocess.run(["nm", "-D", "--defined-only", made], capture_output=True, text=True, check=True).stdout
    exported = {line.split()[-1] for line in symbols.splitlines() if line.split()[-2] in "TDBR"}
    kernels = {"widen", "narrow", "widen_rows", "narrow_rows", "arithmetic", "limits"}
    assert exported == kernels | {f"{name}_ob_signature" for name in kernels}
    # A GNU-unique symbol would pin the library in memory, and mix two builds of one kernel.
    assert " u " not in symbols


def test_a_signature_says_what_the_kernel_takes(kernels: Host) -> None:
    signature = kernels.signature("gather")
    params = [(p.role, p.flags, p.type) for p in signature.params[: signature.n_params]]
    out, x, index = (OUT, 0, TEMPLATE), (IN, 0, TEMPLATE), (IN, 0, INT64)
    assert params == [out, x, index]
    assert signature.dtypes[: signature.n_dtypes] == [FLOAT32, INT64]
    source = HERE / "kernels.cpp"
    assert Path(signature.file.decode()) == source
    assert source.read_text().splitlines()[signature.line - 1] == "OB_KERNEL(gather, float, int64_t)"


def test_a_signature_leaves_open_what_only_depends_on_the_type(kernels: Host) -> None:
    total, fill, linear = (kernels.signature(name) for name in ("total", "fill", "linear"))
    assert [p.type for p in total.params[:2]] == [TEMPLATE, ANY]
    assert [p.type for p in fill.params[:2]] == [TEMPLATE, ANY_NUMBER]
    assert [p.flags for p in linear.params[:3]] == [0, OPTIONAL, 0]
    assert kernels.signature("attributes").n_dtypes == 0


# Tensors.


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int64", "uint8", "complex64"])
@pytest.mark.parametrize("shape", [(), (0,), (5,), (2, 0, 3), (3, 4, 5)])
def test_a_template_runs_for_each_of_its_types(kernels: Host, dtype: str, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    x, y = (np.asarray(rng.integers(0, 50, shape)).astype(dtype) for _ in range(2))
    out = np.empty_like(x)
    kernels("scaled_add", [x, y, 2.0], [out])
    np.testing.assert_array_equal(out, x + x.dtype.type(2) * y)


def test_parameters_may_stand_in_any_order(kernels: Host) -> None:
    out = np.zeros(3, np.float32)
    kernels("gather", [f32(1, 2, 3), np.array([2, 0, 2])], [out])
    assert out.tolist() == [3, 1, 3]


def test_elements_are_reached_by_their_indices(kernels: Host) -> None:
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    out = np.zeros((3, 2), np.float32)
    kernels("transpose", [x], [out])
    np.testing.assert_array_equal(out, x.T)


@pytest.mark.parametrize("strided", [True, False])
def test_a_strided_input_needs_no_copy(kernels: Host, strided: bool) -> None:
    x = np.arange(24, dtype=np.float32).reshape(4, 6)
    view = x[::-2, 1::2] if strided else x
    out = np.zeros(view.shape, np.float32)
    kernels("pack", [view], [out], strided=strided)
    np.testing.assert_array_equal(out, view)


def test_an_untyped_input_says_what_it_is(kernels: Host) -> None:
    out = np.zeros(7, np.int64)
    x = np.full((3, 4), 7, np.int16)
    kernels("describe", [x], [out])
    assert out.tolist() == [INT16, 12, 2, 4, 4, True, 7]
    kernels("describe", [x.T], [out], strided=True)
    assert out.tolist() == [INT16, 12, 2, 3, 1, False, 7]


def test_an_optional_tensor_may_be_left_out(kernels: Host) -> None:
    out = np.zeros(4, np.float32)
    kernels("linear", [f32(1, 2, 3, 4), f32(10, 20)], [out])
    assert out.tolist() == [11, 22, 13, 24]
    kernels("linear", [f32(1, 2, 3, 4), None], [out])
    assert out.tolist() == [1, 2, 3, 4]


def test_lists_of_tensors_in_and_out(kernels: Host) -> None:
    out = np.zeros(4, np.float32)
    kernels("concat", [[f32(1), f32(2, 3), f32(4)]], [out])
    assert out.tolist() == [1, 2, 3, 4]
    parts = [np.zeros(1, np.float32), np.zeros(3, np.float32)]
    kernels("split", [out], parts)
    assert [part.tolist() for part in parts] == [[1], [2, 3, 4]]
    count = np.zeros(1, np.int64)
    kernels("count_present", [[f32(1, 2), None, f32(3)]], [count])
    assert count[0] == 3


def test_an_inout_is_an_argument_that_the_kernel_writes(kernels: Host) -> None:
    x = f32(1, 2)
    kernels("accumulate", [x, f32(10, 20)], [])
    assert x.tolist() == [11, 22]


def test_a_kernel_may_live_in_a_namespace(kernels: Host) -> None:
    out = f32(0)
    kernels("a_namespace", [], [out])
    assert out[0] == 1


# Attributes.

ATTRIBUTES: dict[str, Any] = {
    "double": 0.5,
    "float": 0.25,
    "int64": 1 << 40,
    "int": -7,
    "bool": True,
    "scalar": 3,
    "maybe double": 1.5,
    "maybe int": 9,
    "string": "text",
    "ints": (1, 2, 3),
    "floats": (0.5, 0.25),
    "bools": (True, False),
    "dtype": np.dtype("complex64"),
}


def attributes(kernels: Host, **changed: Any) -> list[float]:
    out = np.zeros(14)
    given = ATTRIBUTES | {name.replace("_", " "): value for name, value in changed.items()}
    kernels("attributes", list(given.values()), [out])
    return [float(value) for value in out]


def test_every_kind_of_attribute_arrives(kernels: Host) -> None:
    assert attributes(kernels) == [0.5, 0.25, 1 << 40, -7, 1, 3, 1, 1.5, 9, 4, 6, 0.75, 10, 8]


def test_attributes_that_are_none_empty_or_of_another_number_type(kernels: Host) -> None:
    values = attributes(
        kernels,
        double=4,
        scalar=2.5,
        maybe_double=...,
        maybe_int=...,
        string="other",
        ints=(),
    )
    assert values == [4, 0.25, 1 << 40, -7, 1, 2.5, 0, -1, -1, -1, 0, 0.75, 10, 8]


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("double", "x", "C++ parameter 1 is a string, but the kernel takes a float"),
        ("int64", 2.0, "C++ parameter 4 is a float, but the kernel takes an int"),
        ("scalar", (1,), "C++ parameter 7 is a list of ints, but the kernel takes a number"),
        ("string", ..., "C++ parameter 10 is None, but the kernel takes a string; take an ob::Optional"),
        ("maybe_int", True, "C++ parameter 9 is a bool, but the kernel takes an int"),
        ("int", 1 << 31, "attribute 2147483648 does not fit the kernel's int32"),
    ],
)
def test_an_attribute_of_the_wrong_kind_is_refused(kernels: Host, name: str, value: Any, says: str) -> None:
    with pytest.raises(RuntimeError, match=re.escape(f"attributes: {says}")):
        attributes(kernels, **{name: value})


@pytest.mark.parametrize(
    ("dtype", "value"),
    [("float32", 1.5), ("int32", -3), ("int32", 4.0), ("float16", 2)],
)
def test_an_attribute_may_have_the_type_of_the_tensors(kernels: Host, dtype: str, value: Any) -> None:
    out = np.zeros(2, dtype)
    kernels("fill", [value], [out])
    assert out.tolist() == [value] * 2


@pytest.mark.parametrize(
    ("dtype", "value", "says"),
    [
        ("int32", 1.5, "attribute 1.5 is not a whole number"),
        ("int32", 1e300, "attribute 1e+300 is not a whole number"),
        ("uint8", -1, "attribute -1 does not fit the kernel's uint8"),
        ("uint8", 256, "attribute 256 does not fit the kernel's uint8"),
    ],
)
def test_a_number_that_does_not_fit_is_refused(kernels: Host, dtype: str, value: Any, says: str) -> None:
    assert says in failure(kernels, "fill", [value], [np.zeros(2, dtype)])


# What a wrong call is told.


def test_types_that_differ(kernels: Host) -> None:
    x, y, out = f32(1), np.ones(1), f32(0)
    assert failure(kernels, "scaled_add", [x, y, 1.0], [out]) == (
        "scaled_add: input 2 (params[1]) is float64 but input 1 (params[0]) is float32; "
        "the kernel takes one type for both"
    )
    assert "output 1 (params[2]) is float32 but input 1" in failure(kernels, "scaled_add", [y, y, 1.0], [out])


def test_a_host_that_knows_the_names_gets_them_back(kernels: Host) -> None:
    names = (ctypes.c_char_p * 3)(b"x", b"y", b"alpha")
    says = failure(kernels, "scaled_add", [f32(1), np.ones(1), 1.0], [f32(0)], arg_names=names)
    assert says == "scaled_add: 'y' is float64 but 'x' is float32; the kernel takes one type for both"


def test_a_type_without_an_instantiation(kernels: Host) -> None:
    x = np.ones(1, np.int16)
    line = kernels.signature("scaled_add").line
    says = failure(kernels, "scaled_add", [x, x, 1.0], [x])
    assert says.startswith(
        "scaled_add: no int16 kernel among float32, float64, float16, bfloat16, int64, uint8, comple"
    )
    assert says.endswith(f"(add int16_t to OB_KERNEL at {HERE / 'kernels.cpp'}:{line})")


def test_a_fixed_and_a_dependent_type(kernels: Host) -> None:
    says = failure(kernels, "gather", [f32(1), np.zeros(1, np.int32)], [f32(0)])
    assert says == "gather: input 2 (params[1]) is int32, but the kernel takes int64 there"
    half = np.ones(3, np.float16)
    says = failure(kernels, "total", [half], [half])
    assert says == "total: output 1 (params[1]) is float16, but the kernel takes float32 there"


@pytest.mark.parametrize(
    ("args", "outputs"),
    [
        ([f32(1), 1.0], [f32(0)]),
        ([f32(1), f32(1), f32(1), 1.0], [f32(0)]),
        ([f32(1), f32(1)], [f32(0)]),
        ([f32(1), f32(1), 1.0, 1.0], [f32(0)]),
        ([f32(1), f32(1), 1.0], []),
        ([f32(1), f32(1), 1.0], [f32(0), f32(0)]),
    ],
)
def test_too_few_and_too_many(kernels: Host, args: list[Any], outputs: list[Array]) -> None:
    inputs = sum(isinstance(arg, np.ndarray) for arg in args)
    assert failure(kernels, "scaled_add", args, outputs) == (
        "scaled_add: the kernel takes 2 inputs (ob::In, ob::InOut), 1 outputs (ob::Out) and 1 attributes, but the call "
        f"has {inputs}, {len(outputs)} and {len(args) - inputs}; "
        "make the C++ function and the operator's schema agree"
    )


def test_lists_where_tensors_belong(kernels: Host) -> None:
    assert "C++ parameter 1 is one tensor, but the kernel takes an ob::List" in failure(
        kernels, "concat", [f32(1)], [f32(0)]
    )
    assert "take it as ob::List<ob::In<T>>" in failure(kernels, "linear", [[f32(1)], None], [f32(0)])


def test_a_missing_tensor(kernels: Host) -> None:
    says = failure(kernels, "scaled_add", [f32(1), None, 1.0], [f32(0)])
    assert says == "scaled_add: input 2 (params[1]) is None; take it as ob::Optional<ob::In<T>> to allow that"


def test_a_layout_with_gaps(kernels: Host) -> None:
    x = np.zeros((2, 3), np.float32)
    assert "input 1 (params[0]) is not contiguous" in failure(kernels, "transpose", [x.T], [x], strided=True)
    kernels("transpose", [x], [np.zeros((3, 2), np.float32)], strided=True)


@pytest.mark.parametrize("changes", [{"version": 2}, {"size": 96}])
def test_a_host_of_another_version_is_refused(
    kernels: Host, changes: dict[str, int], capfd: pytest.CaptureFixture[str]
) -> None:
    assert failure(kernels, "accumulate", [f32(1), f32(1)], [], **changes) == ""
    assert "opbridge: accumulate: built for another opbridge" in capfd.readouterr().err


# Failing from inside.


def test_a_check_says_what_it_was_given_and_where_it_stands(kernels: Host) -> None:
    lines = (HERE / "kernels.cpp").read_text().splitlines()
    line = 1 + next(i for i, text in enumerate(lines) if "OB_CHECK(x.ndim() == 2" in text)
    x = np.zeros((2, 0, 4), np.float32)
    said = failure(kernels, "checks", [x, "a name"], [])
    # Compilers do not agree on the line of a macro that spans several.
    assert said.replace(f":{line + 1}:", f":{line}:") == (
        "checks: x must have 2 dimensions, got 3: [2, 0, 4]true named a name1.5 0.1 float32 [0.5, 2] "
        f"18446744073709551615 done ({HERE / 'kernels.cpp'}:{line}: x.ndim() == 2)"
    )
    kernels("checks", [np.zeros((1, 1), np.float32), ""], [])


def test_a_check_without_words_shows_its_condition(kernels: Host) -> None:
    says = failure(kernels, "attributes", list(ATTRIBUTES.values()), [np.zeros(3)])
    assert says.startswith("attributes: check failed: out.numel() == 14 (")


@pytest.mark.parametrize(
    ("what", "says"),
    [
        (0, "throws: out of luck"),
        (1, "throws: an exception that is not a std::exception was thrown"),
        (2, "throws: xxxxxx"),
        (3, "throws: dimension 9 does not exist in a tensor of shape [1]"),
    ],
)
def test_no_exception_crosses_the_c_boundary(kernels: Host, what: int, says: str) -> None:
    message = failure(kernels, "throws", [f32(1), what], [])
    assert message.startswith(says)
    assert len(message) < 300


def test_a_kernel_may_return_a_code_or_a_status(kernels: Host) -> None:
    kernels("returns", [f32(1), 0], [])
    assert failure(kernels, "returns", [f32(1), 3], []) == "returns: the kernel returned 3"
    kernels("status", [f32(1)], [])
    assert failure(kernels, "status", [f32(1, 2, 3)], []) == "status: too long for me"


# The host's services.


@pytest.mark.parametrize(("n", "grain"), [(1, 1), (7, 10), (1000, 1), (1001, 400), (5, 0)])
def test_a_parallel_loop_visits_every_index_once(kernels: Host, n: int, grain: int) -> None:
    visits = np.zeros(n, np.int64)
    kernels("loops", [grain, -1], [visits])
    assert visits.tolist() == [1] * n
    # One of the two loops came to the host: inside a piece of the outer one, the inner one runs where it is.
    assert sum(end - begin for begin, end in kernels.pieces) == (n if n > 1 else 0)


def test_an_exception_in_a_parallel_loop_arrives_at_the_caller(kernels: Host) -> None:
    for throw_at in (0, 500, 999):
        says = failure(kernels, "loops", [1, throw_at], [np.zeros(1000, np.int64)])
        assert says.startswith(f"loops: stopped at {throw_at} (")


def test_a_reduction_depends_on_no_thread_count(kernels: Host) -> None:
    x = np.random.default_rng(0).standard_normal(1_000_003).astype(np.float32)
    sums = set()
    for kernels.threads in (1, 3, 4):
        out = f32(0)
        kernels("total", [x], [out])
        sums.add(float(out[0]))
    assert len(sums) == 1
    assert sums.pop() == pytest.approx(x.astype(np.float64).sum(), abs=0.05)


@pytest.mark.parametrize("n", [1, 6, 7, 8, 449, 10_000])
def test_a_reduction_over_structs_keeps_their_order(kernels: Host, n: int) -> None:
    out = np.zeros(2, np.int64)
    kernels("chain", [n], [out])
    assert out.tolist() == [1, n - 1]


@pytest.mark.parametrize("n", [0, 1, 2, 31, 32, 33, 100, 999, 1000, 1001, 64_000, 64_001])
def test_a_reduction_takes_every_element_once(kernels: Host, n: int) -> None:
    out = np.zeros(1)
    kernels("total", [np.ones(n)], [out])
    assert out[0] == n


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "float16"])
@pytest.mark.parametrize("width", [1, 2, 31, 32, 33, 63, 64, 65, 127, 128, 200, 1000])
def test_the_numbers_of_a_row(kernels: Host, dtype: str, width: int) -> None:
    x = np.random.default_rng(width).integers(-50, 50, (5, width)).astype(dtype)
    outs = [np.zeros(5, np.float32 if dtype == "float16" else dtype) for _ in range(3)]
    kernels("row_numbers", [x], outs)
    np.testing.assert_array_equal(outs, [x.sum(1, dtype=outs[0].dtype), x.max(1), x.min(1)])


@pytest.mark.parametrize("at", [0, 3, 64, 130, 199])
def test_a_row_with_a_nan_has_no_other_number(kernels: Host, at: int) -> None:
    x = np.ones((1, 200), np.float32)
    x[0, at] = np.nan
    outs = [f32(0) for _ in range(3)]
    kernels("row_numbers", [x], outs)
    assert np.isnan(outs).all()


def test_the_numbers_of_nothing_are_the_neutral_ones(kernels: Host) -> None:
    outs = [f32(7, 7) for _ in range(3)]
    kernels("row_numbers", [np.zeros((2, 0), np.float32)], outs)
    assert [out.tolist() for out in outs] == [[0, 0], [-np.inf] * 2, [np.inf] * 2]


@pytest.mark.parametrize("dtype", ["float32", "int64", "float16"])
@pytest.mark.parametrize("n", [0, 1, 7, 511, 512, 513, 70_001])
def test_a_map_goes_over_all_elements_in_what_one_computes_in(kernels: Host, dtype: str, n: int) -> None:
    rng = np.random.default_rng(n)
    x, y = (rng.integers(-2000, 2000, n).astype(dtype) for _ in range(2))
    mask, out = rng.integers(0, 2, n).astype(np.bool_), np.empty(n, dtype)
    kernels("choose", [x, y, mask, 3.0], [out])
    np.testing.assert_array_equal(out, np.where(mask, x, y * x.dtype.type(3)))


def test_a_map_takes_tensors_of_one_size(kernels: Host) -> None:
    x = np.zeros(3, np.float32)
    says = failure(kernels, "choose", [x, np.zeros(4, np.float32), x.astype(np.bool_), 1.0], [x.copy()])
    assert "ob::map takes tensors with as many elements as the output has" in says


def test_a_bool_is_true_where_its_byte_is_not_zero(kernels: Host) -> None:
    """As in NumPy and PyTorch, which take any array of bytes for bools."""
    mask = np.array([[0, 1, 2], [255, 0, 128]], np.uint8).view(np.bool_)
    out = np.zeros((2, 3), np.float32)
    kernels("masked_fill", [np.full((2, 3), 5, np.float32), mask], [out])
    assert out.tolist() == [[5, -1, -1], [-1, 5, -1]]


def test_scratch_is_the_hosts_and_aligned(kernels: Host) -> None:
    out = np.zeros(2, np.int64)
    kernels("scratch", [], [out])
    assert out.tolist() == [1, 1]
    assert len(kernels.scratched) == 2
    assert "out of memory: no 16000000000000 bytes" in failure(kernels, "too_much", [2 * 10**12], [out])
    assert "no scratch of -1 elements" in failure(kernels, "too_much", [-1], [out])


def test_a_kernel_may_ask_where_it_runs(kernels: Host) -> None:
    out = np.zeros(4, np.int64)
    kernels("context", [], [out], device_type=2)
    assert out.tolist() == [2, 3, 0x1234, len("test::context")]


# A host that is not opbridge.


def garbage() -> Any:
    return ctypes.byref(ctypes.create_string_buffer(b"EGDIRBOP" * 64), 1)


@pytest.mark.parametrize("extra", [None, garbage()], ids=["null", "somebody else's"])
def test_a_foreign_host_runs_kernels_without_attributes(kernels: Host, extra: Any) -> None:
    out = np.zeros(4, np.float32)
    assert kernels.foreign("concat", [f32(1), f32(2, 3), f32(4), out], extra) == 0
    assert out.tolist() == [1, 2, 3, 4]
    parts = [np.zeros(1, np.float32), np.zeros(3, np.float32)]
    assert kernels.foreign("split", [out, *parts], extra) == 0
    assert [part.tolist() for part in parts] == [[1], [2, 3, 4]]
    for x in (np.ones(3), np.ones(3, np.float16)):
        total = np.zeros(1, np.float64 if x.dtype == np.float64 else np.float32)
        assert kernels.foreign("total", [x, total], extra) == 0
        assert total[0] == 3
    where = np.zeros(4, np.int64)
    assert kernels.foreign("context", [where], extra) == 0
    assert where.tolist() == [1, 0, 0x1234, len("context")]
    aligned = np.zeros(2, np.int64)
    assert kernels.foreign("scratch", [aligned], extra) == 0
    assert aligned.tolist() == [1, 1]


@pytest.mark.parametrize(
    ("symbol", "tensors", "says"),
    [
        (
            "scaled_add",
            [f32(1)] * 3,
            "scaled_add: C++ parameter 4 is missing, but the kernel takes a float: the caller is",
        ),
        (
            "gather",
            [f32(1)] * 2,
            "gather: the kernel takes 2 inputs (ob::In, ob::InOut), 1 outputs (ob::Out) and 0 attr",
        ),
        ("gather", [f32(1)] * 4, "gather: the kernel takes 2 inputs"),
        ("concat", [], "concat: the kernel takes 1 inputs"),
        ("total", [f32(1), np.ones(1)], "total: output 1 (params[1]) is float64, but the kernel takes float32 there"),
        (
            "total",
            [f32(1).view([("string", np.float32)]), f32(1)],
            "total: params[0] has the dtype 'string', which no kernel takes",
        ),
    ],
)
def test_a_foreign_host_finds_messages_on_stderr(
    kernels: Host, symbol: str, tensors: list[Any], says: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert kernels.foreign(symbol, tensors) == 1
    assert capfd.readouterr().err.startswith(f"opbridge: {says}")


# The documentation.


def test_the_examples_in_the_documentation_compile(tmp_path: Path, strict: list[str]) -> None:
    text = (ROOT / "docs" / "kernel-header.md").read_text()
    examples = re.findall(r"```c\+\+\n(.*?)```", text, re.DOTALL)
    assert len(examples) > 3
    for number, example in enumerate(examples):
        source = tmp_path / f"example{number}.cpp"
        source.write_text(example)
        done = subprocess.run(
            ["g++", "-std=c++17", "-fsyntax-only", *strict, str(source)], capture_output=True, text=True
        )
        assert done.returncode == 0, f"{example}\n{done.stderr}"
