"""Manifests for hypothesis to draw: every form that each field of an operator may have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

from opbridge.waist.manifest.kernel_origins import DEVICES

# Every type that a sample may give, quotes in a default, and a list of tensors.
ARGUMENTS = (
    "Tensor x, Tensor[] xs, Tensor? bias, *, str mode='it\\'s', int n=1, float a=1.0, Scalar s=1, bool flag=False, "
    "ScalarType dtype=float, str[]? names=None, int[2] pad=1"
)
GRADIENTS = (
    {"func": "pair(Tensor grad, Tensor x) -> (Tensor, Tensor)", "out": ["x", "x"], "kernels": {"cpu": "g.cpp:pair"}},
    {"func": "own(Tensor grad, *, int n) -> (Tensor grad_x)", "out": "grad", "kernels": {"cpu": "g.cpp:own"}},
)
"""Operators that gradients call."""

TEXT = st.text(st.characters(codec="utf-8"), max_size=12)
INTS = st.integers(-(1 << 63), (1 << 63) - 1)
NUMBERS = st.floats() | INTS
TENSORS = st.one_of(
    st.fixed_dictionaries(
        {"shape": st.lists(st.integers(0, 9), max_size=3)},
        optional={"dtype": st.sampled_from(["float32", "bool"]), "low": NUMBERS, "high": NUMBERS},
    ),
    st.fixed_dictionaries({"shape": st.just([2]), "fill": NUMBERS}),
    st.fixed_dictionaries({"data": NUMBERS | st.lists(NUMBERS | st.booleans(), max_size=3) | st.just([[1], [2]])}),
)
SAMPLES = st.fixed_dictionaries(
    {"x": TENSORS, "xs": st.lists(TENSORS, max_size=2), "bias": st.none() | TENSORS},
    optional={
        "mode": TEXT,
        "n": INTS,
        "a": NUMBERS,
        "s": NUMBERS | st.booleans(),
        "flag": st.booleans(),
        "dtype": st.sampled_from(["int8", "bfloat16"]),
        "names": st.none() | st.lists(TEXT, max_size=3),
        "pad": st.tuples(INTS, INTS).map(list),
    },
)

_WORDS = st.from_regex(r"\A[A-Za-z_][A-Za-z0-9_]{0,8}\Z")
_SYMBOLS = _WORDS | st.just("f")
_FILES = st.builds("{}.cpp".format, st.from_regex(r"\A\w[\w .#'-]{0,8}\w\Z"))
# Without its symbol, such a file would read as another one's symbol or as an operator.
_FILES_WITH_COLONS = st.sampled_from(["a:b.cpp", "m::f.cpp"])
_LIBRARIES = st.builds("{}.so".format, _WORDS)
_LIKE = st.sampled_from(["x", "xs[0]", "broadcast(x, xs)", "broadcast(x.shape, [n, 1])"])
_SIZES = st.sampled_from(["x.shape", "[x.shape[0], 2 * n]", "[n] + x.shape[:-1]", ["n", "x.shape[0] // 2"], [1, 2], []])
_DTYPES = st.sampled_from(["promote(x, xs)", "float32", "dtype", "x.dtype"])
_OUTPUTS = _LIKE | st.fixed_dictionaries({"shape": _SIZES}, optional={"dtype": _DTYPES})

FORMS: Mapping[str, Mapping[str, st.SearchStrategy[Any]]] = {
    "func": {"value": st.sampled_from([f"{name}({ARGUMENTS}) -> Tensor" for name in ("f", "f.no", "m::g", "no")])},
    "out": {
        "value": _LIKE,
        "mapping": _OUTPUTS.filter(lambda value: isinstance(value, dict)),
        "list": st.lists(_OUTPUTS, min_size=1, max_size=1),
    },
    "kernels": {
        "mapping": st.dictionaries(
            st.sampled_from(list(DEVICES)),
            st.one_of(
                _FILES,
                st.builds("{}:{}".format, _FILES | _FILES_WITH_COLONS, _SYMBOLS),
                st.builds("{}:{}".format, _LIBRARIES, _SYMBOLS),
                st.builds("tvm_ffi:{}:{}".format, _LIBRARIES, _SYMBOLS),
                st.builds("tvm_ffi:{}".format, _LIBRARIES),
            ),
            min_size=1,
        )
    },
    "formula": {"value": st.sampled_from(["x * a", "sum(x, -1)", "y = sin(x)\nwhere(y > 0, y, 0)", "floor(x)"])},
    "derivatives": {
        "mapping": st.sampled_from(
            [
                {"x": "grad"},
                {"x": "zeros_like(x)"},
                {"x": "where(x > 0, grad, -1.5e-05 * grad)", "bias": "grad * a if bias is not None else None"},
                {"x": 'sum(grad if mode == "it\'s: #" else -grad) * x'},
                {"x, bias": "pair(grad, x)"},
            ]
        )
    },
    "backward": {
        "value": st.sampled_from(["own", "m::own"]),
        "mapping": st.sampled_from([{"x, bias": "m::pair"}, {"bias,x": "pair"}, {"x": "own"}]),
    },
    "batch": {"value": st.sampled_from(["elementwise", "loop", "... h, ... h, () -> ... _", "..., ..., h -> ..."])},
    "shard": {
        "value": st.sampled_from(
            ["elementwise", "b h, b h, h -> b h", "b h, _, h -> b : sum h", "b h, c, () -> b _ : whole b, max h c"]
        )
    },
    "flops": {"value": st.sampled_from(["2 * x.numel", 12, "x.numel * xs[0].ndim if flag else n"])},
    "launch": {
        "mapping": st.sampled_from(
            [{"blockDim": 8}, {"blockDim": "x.numel // n", "t": "Tiling(total=x.numel, n=8)", "b": "flag", "s": 1.5}]
        )
    },
    "samples": {"list": st.lists(SAMPLES, max_size=2)},
}
"""By field and form: a value alone, a mapping or a list."""

_SEVERAL = st.sampled_from(
    [
        {"func": "two(Tensor x, Tensor y) -> (Tensor low, Tensor)", "out": ["y", {"shape": [1], "dtype": "int64"}]},
        {"func": "two_(Tensor(a!) x, Tensor y) -> (Tensor(a!), Tensor)", "out": "x"},
        {"func": "write_(Tensor(a!) x) -> Tensor(a!)"},
        {"func": "take(Tensor x) -> Tensor", "kernels": {"cpu": "lib.so", "npu": "other.so.1:take"}},
        {"func": "relu(Tensor x) -> Tensor", "kernels": {"cpu": "aten::relu", "cuda": "aten::relu"}},
        {"func": "add(Tensor x, Tensor y) -> Tensor", "kernels": {"cpu": "aten::add.Tensor"}, "flops": "x.numel"},
        {"func": "theirs(Tensor x) -> Tensor", "kernels": {"cpu": "ext::f"}, "out": "x", "derivatives": {"x": "grad"}},
        {"func": "theirs(Tensor x) -> Tensor", "kernels": {"cpu": "ext::f.one"}, "batch": "elementwise"},
    ]
).map(lambda entry: {"kernels": {"cpu": "several.cpp"}, **entry})
"""Operators whose `out` says what one output's does not: of several outputs, of none, of a library and of PyTorch."""


@st.composite
def entries(draw: st.DrawFn) -> dict[str, Any]:
    """The fields of one operator, as a YAML reader gives them."""
    needed = ("func", "out", "kernels")
    fields = [name for name in FORMS if name in needed or (name != "formula" and draw(st.booleans()))]
    if "derivatives" in fields and "backward" in fields:
        fields.remove(draw(st.sampled_from(["derivatives", "backward"])))
    return {field: draw(st.one_of(list(FORMS[field].values()))) for field in fields}


_LINE = st.just("line(Tensor x, *, float a=1.0) -> Tensor")
_FORMULAS = st.fixed_dictionaries(
    {"func": _LINE, "formula": FORMS["formula"]["value"]},
    optional={"flops": st.just("x.numel"), "batch": st.just("loop")},
) | st.fixed_dictionaries(  # what is said of it is held against it
    {"func": _LINE, "formula": st.just("x * a"), "derivatives": st.just({"x": "a * grad"})}
)


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    """A manifest, as a YAML reader gives it."""
    operators = draw(st.lists(entries() | _SEVERAL | _FORMULAS, min_size=1, max_size=3, unique_by=_name))
    return {"namespace": "m", "ops": [*operators, *GRADIENTS]}


def _name(entry: Mapping[str, Any]) -> str:
    func: str = entry["func"]
    return func.partition("(")[0]
