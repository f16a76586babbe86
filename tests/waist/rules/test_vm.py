"""rule_vm.h against the evaluator in Python: the same rules, the same arguments, the same result or failure."""

from __future__ import annotations

import ctypes
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import opbridge
from opbridge.base.errors import RuleError
from opbridge.waist.rules import DTYPE_CODES, DTYPES, compile_out, evaluate_out, parse_out, promote
from opbridge.waist.schema import Schema

PACKAGE = Path(opbridge.__file__).parent
SCHEMA = Schema.parse(
    "mylib::f(Tensor x, Tensor y, Tensor? bias, Tensor[] xs, int n, int? k, float a, Scalar s, bool flag, bool? maybe, "
    "str mode, ScalarType dt, ScalarType? odt, int[] size, int[]? pads, float[] scales, bool[] mask) -> Tensor"
)


class CTensor(ctypes.Structure):
    _fields_ = (("rank", ctypes.c_int64), ("sizes", ctypes.POINTER(ctypes.c_int64)), ("dtype", ctypes.c_int64))


class CArgument(ctypes.Structure):
    _fields_ = (
        ("none", ctypes.c_bool),
        ("count", ctypes.c_int64),
        ("tensors", ctypes.POINTER(CTensor)),
        ("ints", ctypes.POINTER(ctypes.c_int64)),
        ("floats", ctypes.POINTER(ctypes.c_double)),
        ("text", ctypes.c_char_p),
    )


@dataclass(frozen=True)
class Array:
    shape: tuple[int, ...]
    dtype: str


def c_argument(value: Any) -> CArgument:
    if value is None:
        return CArgument(none=True)
    if isinstance(value, str):
        code = DTYPE_CODES.get(value, 0)
        return CArgument(ints=(ctypes.c_int64 * 1)(code), text=value.encode())
    values = list(value) if isinstance(value, (list, tuple)) else [value]
    if values and isinstance(values[0], Array):
        tensors = [
            CTensor(len(item.shape), (ctypes.c_int64 * len(item.shape))(*item.shape), DTYPE_CODES[item.dtype])
            for item in values
        ]
        return CArgument(count=len(values), tensors=(CTensor * len(values))(*tensors))
    return CArgument(
        count=len(values),
        ints=(ctypes.c_int64 * len(values))(*(0 if isinstance(item, float) else item for item in values)),
        floats=(ctypes.c_double * len(values))(*values),
    )


@pytest.fixture(scope="session")
def vm(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    library = tmp_path_factory.mktemp("vm") / "vm.so"
    flags = ["-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
    includes = [f"-I{PACKAGE / 'include'}", f"-I{PACKAGE / 'native'}"]
    source = Path(__file__).with_name("vm_over_int64.cpp")
    subprocess.run(["g++", *flags, *includes, str(source), "-o", str(library)], check=True)
    loaded = ctypes.CDLL(str(library))
    loaded.run_rule.restype = ctypes.c_int64
    loaded.dtypes.restype = ctypes.c_char_p
    return loaded


def in_cpp(vm: ctypes.CDLL, words: tuple[int, ...], arguments: dict[str, Any]) -> tuple[tuple[int, ...], str] | str:
    sizes, dtype, message = (ctypes.c_int64 * 256)(), ctypes.c_int64(), ctypes.create_string_buffer(1000)
    in_order = [c_argument(arguments[argument.name]) for argument in SCHEMA.arguments]
    given_arguments = (CArgument * len(in_order))(*in_order)
    code = (ctypes.c_int64 * len(words))(*words)
    rank = vm.run_rule(
        code,
        ctypes.c_size_t(len(words)),
        given_arguments,
        sizes,
        ctypes.c_int64(256),
        ctypes.byref(dtype),
        message,
        ctypes.c_size_t(1000),
    )
    return message.value.decode() if rank < 0 else (tuple(sizes[:rank]), DTYPES[dtype.value])


def in_python(out: object, arguments: dict[str, Any]) -> tuple[tuple[int, ...], str] | str:
    try:
        ((shape, dtype),) = evaluate_out(parse_out(out, SCHEMA), SCHEMA, arguments)
    except RuleError as failure:
        return str(failure)
    return shape, dtype


def agree(vm: ctypes.CDLL, out: object, arguments: dict[str, Any]) -> tuple[tuple[int, ...], str] | str:
    (rule,) = parse_out(out, SCHEMA)
    cpp, python = in_cpp(vm, compile_out(rule, SCHEMA).words, arguments), in_python(out, arguments)
    if cpp == "a number does not fit in 64 bits":
        return cpp  # Python's ints have no limit, so they can come to a result
    if isinstance(cpp, str) and isinstance(python, str) and "which is None" in cpp:
        assert "which is None" in python  # the names are known in Python alone
    else:
        assert cpp == python
    return cpp


# Rules by kind, every form of the language for the arguments of SCHEMA.

SMALL = st.integers(0, 5)


def joined(*parts: str | st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.tuples(*(st.just(part) if isinstance(part, str) else part for part in parts)).map("".join)


def operands(item: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.lists(item, min_size=1, max_size=3).map(", ".join)


ints: st.SearchStrategy[str] = st.deferred(lambda: ints_)
floats: st.SearchStrategy[str] = st.deferred(lambda: floats_)
bools: st.SearchStrategy[str] = st.deferred(lambda: bools_)
dtypes: st.SearchStrategy[str] = st.deferred(lambda: dtypes_)
shapes: st.SearchStrategy[str] = st.deferred(lambda: shapes_)
tensors = st.sampled_from(["x", "y", "bias"]) | joined("xs[", ints, "]")


def choice(value: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return joined("(", value, " if ", bools, " else ", value, ")")


ints_: st.SearchStrategy[str] = (
    SMALL.map(str)
    | SMALL.map(lambda value: f"-{value}")
    | st.sampled_from(["n", "k", "len(xs)", "len(size)", "len(mask)"])
    | joined(tensors, st.sampled_from([".ndim", ".numel"]))
    | joined(tensors, ".shape[", ints, "]")
    | joined("(", ints, st.sampled_from([" + ", " - ", " * ", " // ", " % "]), ints, ")")
    | joined("(", ints, " ** ", SMALL.map(str), ")")
    | joined("(-", ints, ")")
    | joined("abs(", ints, ")")
    | joined(st.sampled_from(["min(", "max(", "ceil_div("]), ints, ", ", ints, ")")
    | joined("int(", floats, ")")
    | joined(st.sampled_from(["sum(", "prod(", "len("]), shapes, ")")
    | joined(shapes, "[", ints, "]")
    | joined("size[", ints, "]")
    | choice(ints)
)
floats_: st.SearchStrategy[str] = (
    st.sampled_from(["a", "s", "0.5", "1e300"])
    | ints
    | joined("scales[", ints, "]")
    | joined("(", floats, st.sampled_from([" + ", " - ", " * ", " / "]), floats, ")")
    | joined("abs(-", floats, ")")
    | joined(st.sampled_from(["min(", "max("]), floats, ", ", ints, ")")
    | choice(floats)
)
bools_: st.SearchStrategy[str] = (
    st.sampled_from(["flag", "maybe", "True", "False"])
    | joined("(", st.sampled_from(["bias", "k", "maybe", "pads"]), st.sampled_from([" is None)", " is not None)"]))
    | joined("mask[", ints, "]")
    | joined("(not ", bools, ")")
    | joined("(", bools, st.sampled_from([" and ", " or ", " == ", " != "]), bools, ")")
    | joined("(", ints, st.sampled_from([" < ", " <= ", " > ", " >= ", " == ", " != "]), ints, ")")
    | joined("(", floats, st.sampled_from([" < ", " <= ", " > ", " >= ", " == ", " != "]), floats, ")")
    | joined("(", dtypes, st.sampled_from([" == ", " != "]), dtypes, ")")
    | joined("(", shapes, st.sampled_from([" == ", " != "]), shapes, ")")
    | st.sampled_from(["(mode == 'mean')", "(mode != 'a mode of more than eight bytes')", "('' == mode)"])
)
dtypes_: st.SearchStrategy[str] = (
    st.sampled_from(DTYPES)
    | st.sampled_from(["dt", "odt"])
    | joined(tensors, ".dtype")
    | joined("promote(", operands(tensors | dtypes | st.just("xs")), ")")
    | choice(dtypes)
)
shapes_: st.SearchStrategy[str] = (
    st.sampled_from(["size", "pads"])
    | joined(tensors, ".shape")
    | joined("[", st.lists(ints, max_size=3).map(", ".join), "]")
    | joined("(", shapes, " + ", shapes, ")")
    | joined(shapes, "[", ints, ":]")
    | joined(shapes, "[:", ints, "]")
    | joined(shapes, "[", ints, ":", ints, ":", ints, "]")
    | joined(shapes, "[::", ints, "]")
    | joined("broadcast(", operands(tensors | shapes | st.just("xs")), ")")
    | choice(shapes)
)

sizes = st.lists(st.integers(0, 4) | st.just(1), max_size=4).map(tuple)
arrays = st.builds(Array, sizes, st.sampled_from(DTYPES))
finite = st.floats(-8, 8) | st.sampled_from([0.0, -0.0, 2.5, 1e300, float("inf"), float("nan")])
calls = st.fixed_dictionaries(
    {
        "x": arrays,
        "y": arrays,
        "bias": st.none() | arrays,
        "xs": st.lists(arrays, max_size=3),
        "n": st.integers(-4, 6),
        "k": st.none() | SMALL,
        "a": finite,
        "s": finite,
        "flag": st.booleans(),
        "maybe": st.none() | st.booleans(),
        "mode": st.sampled_from(["mean", "sum", "a mode of more than eight bytes", ""]),
        "dt": st.sampled_from(DTYPES),
        "odt": st.none() | st.sampled_from(DTYPES),
        "size": st.lists(st.integers(-2, 5), max_size=4),
        "pads": st.none() | st.lists(SMALL, max_size=3),
        "scales": st.lists(finite, max_size=2),
        "mask": st.lists(st.booleans(), max_size=3),
    }
)


@given(shapes, dtypes, calls)
def test_cpp_and_python_agree(vm: ctypes.CDLL, shape: str, dtype: str, arguments: dict[str, Any]) -> None:
    agree(vm, {"shape": shape, "dtype": dtype}, arguments)


CALL: dict[str, Any] = {
    "x": Array((2, 3), "float32"),
    "y": Array((4, 1, 3), "float16"),
    "bias": None,
    "xs": [Array((5,), "int64"), Array((1, 3), "bool")],
    "n": 3,
    "k": None,
    "a": 2.5,
    "s": 1.0,
    "flag": True,
    "maybe": None,
    "mode": "mean",
    "dt": "int8",
    "odt": None,
    "size": [7, 8],
    "pads": None,
    "scales": [0.5],
    "mask": [True, False],
}


@pytest.mark.parametrize(
    ("out", "expected"),
    [
        ("x", ((2, 3), "float32")),
        ("xs[-1]", ((1, 3), "bool")),
        ("broadcast(x, y, bias)", ((4, 2, 3), "float32")),
        ({"shape": "x.shape[:-1] + [n]", "dtype": "dt"}, ((2, 3), "int8")),
        ({"shape": "y.shape[::-1]", "dtype": "promote(xs, dt)"}, ((3, 1, 4), "int64")),
        ({"shape": "size if mode == 'mean' else []", "dtype": "bool"}, ((7, 8), "bool")),
        ({"shape": "[k if k is not None else int(n * a)]", "dtype": "x.dtype"}, ((7,), "float32")),
        ({"shape": "[ceil_div(7, 2), -7 // 2 + 9, -7 % 4]", "dtype": "y.dtype"}, ((4, 5, 1), "float16")),
        ({"shape": "[x.shape[2]]", "dtype": "bool"}, "index 2 is out of range, there are 2"),
        ({"shape": "broadcast(x, size)", "dtype": "bool"}, "shapes [2, 3] and [7, 8] do not broadcast"),
        ({"shape": "[n // (n - 3)]", "dtype": "bool"}, "division by zero"),
        ({"shape": "[2 ** -n]", "dtype": "bool"}, "the power -3 is negative"),
        ({"shape": "[n - 5, 1]", "dtype": "bool"}, "the shape is [-2, 1], and no size can be negative"),
        ({"shape": "x.shape[::0]", "dtype": "bool"}, "a slice's step is zero"),
        ({"shape": "[]", "dtype": "promote(uint16, dt)"}, "uint16 and int8 have no common dtype"),
        ({"shape": "[int(a / 0.1 * 1e308)]", "dtype": "bool"}, "int() of a number that is not finite"),
        ({"shape": "broadcast(bias)", "dtype": "bool"}, "broadcast() is given no tensor"),
    ],
)
def test_results_and_failures(vm: ctypes.CDLL, out: object, expected: object) -> None:
    assert agree(vm, out, CALL) == expected


def test_a_none_that_is_needed_is_named(vm: ctypes.CDLL) -> None:
    (rule,) = parse_out("bias", SCHEMA)
    assert in_cpp(vm, compile_out(rule, SCHEMA).words, CALL) == "the rule needs argument 2, which is None"
    assert in_python("bias", CALL) == "the rule needs 'bias', which is None"


def test_any_rank(vm: ctypes.CDLL) -> None:
    deep = {**CALL, "x": Array(tuple(range(1, 31)), "float32")}
    assert agree(vm, "x", deep) == (tuple(range(1, 31)), "float32")
    assert agree(vm, {"shape": "(x.shape + x.shape)[29:31]", "dtype": "bool"}, deep) == ((30, 1), "bool")


@pytest.mark.parametrize("size", ["n * n", "n + n", "-n - n", "n ** 3"])
def test_overflow_is_a_failure(vm: ctypes.CDLL, size: str) -> None:
    (rule,) = parse_out({"shape": f"[{size}]", "dtype": "bool"}, SCHEMA)
    words = compile_out(rule, SCHEMA).words
    assert in_cpp(vm, words, {**CALL, "n": 2**62 + 1}) == "a number does not fit in 64 bits"


@pytest.mark.parametrize("keep", [0, 1, 2, 3])
def test_a_damaged_program_is_refused(vm: ctypes.CDLL, keep: int) -> None:
    (rule,) = parse_out("x", SCHEMA)
    words = compile_out(rule, SCHEMA).words[:keep]
    assert in_cpp(vm, words, CALL) == "the compiled rule is damaged"


def test_a_program_says_which_argument_it_is_like() -> None:
    programs = [compile_out(parse_out(out, SCHEMA)[0], SCHEMA) for out in ("y", "broadcast(y)")]
    assert [program.words[0] for program in programs] == [1, -1]


def test_both_sides_list_the_same_dtypes(vm: ctypes.CDLL) -> None:
    assert vm.dtypes().decode().split() == list(DTYPES)


def test_both_sides_and_pytorch_promote_alike(vm: ctypes.CDLL) -> None:
    torch = pytest.importorskip("torch")
    for a in DTYPES:
        for b in DTYPES:
            code = vm.promoted(DTYPE_CODES[a], DTYPE_CODES[b])
            assert promote(a, b) == (None if code < 0 else DTYPES[code])
            try:
                expected = str(torch.promote_types(getattr(torch, a), getattr(torch, b))).removeprefix("torch.")
            except RuntimeError:
                expected = None
            assert promote(a, b) == expected, (a, b)
