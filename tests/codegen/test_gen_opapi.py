"""`gen_opapi`: what a kernel is made of, and what is said where it is not.  What is made runs in test_sample.py."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.codegen.plugin_files import backend_of, entry, made

from opbridge.base.errors import InputError
from opbridge.codegen.backend import OpapiCall


def launches(tmp_path: Path, *entries: str) -> dict[str, OpapiCall]:
    backend = backend_of(tmp_path, *entries)
    return {operator.name: kernel.launch for operator in backend.operators if (kernel := operator.kernels[-1]).launch}


OUT = entry("f.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)", "out: {size: x, dtype: out}, exec: deviceF")


def test_arguments_are_the_operators_where_exec_names_none(tmp_path: Path) -> None:
    found = launches(tmp_path, entry("f(Tensor x, int n) -> Tensor", "y: {size: x, dtype: x}, exec: deviceF"))
    assert found["f"].arguments == ("x", "n", "y")


def test_commas_in_brackets_do_not_part_arguments(tmp_path: Path) -> None:
    text = "'deviceF, x, at::IntArrayRef({1, 2}), y'"
    found = launches(tmp_path, entry("f(Tensor x) -> Tensor", f"y: {{size: x, dtype: x}}, exec: {text}"))
    assert found["f"].arguments == ("x", "at::IntArrayRef({1, 2})", "y")


def test_an_in_place_variant_inherits_and_writes_to_what_it_reads(tmp_path: Path) -> None:
    found = launches(tmp_path, OUT, entry("f_(Tensor(a!) x) -> Tensor(a!)", "structured_inherit: f.out"))
    assert found["f_"].arguments == ("x", "x")
    assert found["f.out"].arguments == ("x", "out")


def test_a_variable_that_needs_an_output_stands_behind_it(tmp_path: Path) -> None:
    variables = "new_params: {rows: x.size(0), columns: y.size(1)}"
    text = made(tmp_path, entry("f(Tensor x) -> Tensor", f"y: {{size: '{{rows, 3}}', dtype: x}}, {variables}, exec: g"))
    lines = [line.strip() for line in text["LaunchedKernels.cpp"].splitlines()]
    order = [next(i for i, line in enumerate(lines) if start in line) for start in ("rows =", "y =", "columns =")]
    assert order == sorted(order)


def test_a_meta_kernel_takes_symbols_where_its_expressions_can(tmp_path: Path) -> None:
    text = made(
        tmp_path,
        entry("f(Tensor x, SymInt n) -> Tensor", "y: {size: '{n, x.size(0)}', dtype: x}, exec: deviceF"),
        entry("g(Tensor x, SymInt n) -> Tensor", "y: {size: 'rows_of(x, n)', dtype: x}, exec: deviceG"),
        entry("h(Tensor x, int[] n) -> Tensor", "y: {size: n, dtype: x}, exec: deviceH"),
        entry("k(Tensor x, int[] n) -> Tensor", "y: {size: 'n.empty() ? x.sizes() : n', dtype: x}, exec: deviceK"),
    )["MetaKernels.cpp"]
    assert "mine_f_meta(const at::Tensor& x, c10::SymInt n)" in text
    assert "at::empty_symint({n, x.sym_size(0)}" in text
    assert "mine_g_meta(const at::Tensor& x, int64_t n)" in text
    assert "at::empty_symint(c10::fromIntArrayRefSlow(n), " in text
    assert "at::empty(n.empty() ? x.sizes() : n, " in text


FORMS = {
    "a tensor": ("f(Tensor x) -> Tensor", "y: {size: x, dtype: x}", "x.sizes()", "dtype(x.scalar_type())"),
    "an optional tensor": (
        "f(Tensor x, Tensor? w) -> Tensor",
        "y: {size: w, dtype: w}",
        "w->sizes()",
        "w->scalar_type()",
    ),
    "one of a list": (
        "f(Tensor[] xs) -> Tensor",
        "y: {size: 'xs[0].sizes()', dtype: 'xs[0]'}",
        "xs[0].sizes()",
        "xs[0].s",
    ),
    "numbers": ("f(Tensor x, int n) -> Tensor", "y: {size: n, dtype: at::kBool}", "{n}", "dtype(at::kBool)"),
    "a list": ("f(Tensor x, int[] n) -> Tensor", "y: {size: n, dtype: x}", "at::empty(n, ", "x.scalar_type()"),
    "an optional list": ("f(Tensor x, int[]? n) -> Tensor", "y: {size: n, dtype: x}", "at::empty(*n, ", "x.scalar"),
    "a dtype": ("f(Tensor x, ScalarType t) -> Tensor", "y: {size: x, dtype: t}", "x.sizes()", "dtype(t)"),
    "a part of what a function gives": (
        "f(Tensor x) -> Tensor",
        "y: {size: 'std::get<0>(rules::sizes(x))', dtype: 'at::result_type(x, 2)'}",
        "std::get<0>(rules::sizes(x))",
        "at::result_type(x, 2)",
    ),
    "no tensor": (
        "f(int n, *, Device? device) -> Tensor",
        "y: {size: n, dtype: at::kFloat}",
        "{n}",
        "at::device(device.value_or(at::Device(at::DeviceType::PrivateUse1)))",
    ),
}


@pytest.mark.parametrize(("func", "output", "size", "dtype"), FORMS.values(), ids=FORMS)
def test_an_output_is_described_in_many_ways(tmp_path: Path, func: str, output: str, size: str, dtype: str) -> None:
    text = made(tmp_path, entry(func, f"{output}, exec: deviceF"))["LaunchedKernels.cpp"]
    assert size in text
    assert dtype in text


def test_an_output_of_the_caller_may_be_left_undescribed(tmp_path: Path) -> None:
    func = "f.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)"
    text = made(tmp_path, entry(func, "exec: deviceF"))["LaunchedKernels.cpp"]
    assert '  launch("deviceF", x, out);\n  return out;' in text


def test_parameters_that_a_kernel_does_not_use_have_no_name(tmp_path: Path) -> None:
    func = "f(Tensor x, int n, *, int? input_dtype=None) -> Tensor"
    files = made(tmp_path, entry(func, "y: {size: x, dtype: x}, exec: 'deviceF, x, n, y'"))
    unused = "::std::optional<int64_t> /*input_dtype*/"
    assert f"f(const at::Tensor& x, int64_t n, {unused}) {{" in files["LaunchedKernels.cpp"]
    assert f"mine_f_meta(const at::Tensor& x, int64_t /*n*/, {unused}) {{" in files["MetaKernels.cpp"]


def test_the_launcher_is_written_once(tmp_path: Path) -> None:
    first_line = made(tmp_path, OUT)["Launcher.h"].splitlines()[0]
    assert "Generated by" not in first_line


WRONG = {
    "no such name": ("f(Tensor x) -> Tensor", "y: {size: z, dtype: x}, exec: g", "f has nothing named 'z'"),
    "no such argument": ("f(Tensor x) -> Tensor", "y: {size: x, dtype: x}, exec: 'g, x, w, y'", "nothing named 'w'"),
    "no such variable": (
        "f(Tensor x) -> Tensor",
        "y: {size: x, dtype: x}, new_params: {a: amuont * 2}, exec: g",
        "nothing named 'amuont'",
    ),
    "itself": ("f(Tensor x) -> Tensor", "y: {size: x, dtype: y}, exec: g", "f has nothing named 'y'"),
    "taken": (
        "f(Tensor x, int n) -> Tensor",
        "y: {size: x, dtype: x}, new_params: {n: '2'}, exec: g",
        "'n' is an argument of f already",
    ),
    "too few": ("f(Tensor x) -> (Tensor, Tensor)", "y: {size: x, dtype: x}, exec: g", "returns 2 new tensors, and 1"),
    "too many": ("f_(Tensor(a!) x) -> Tensor(a!)", "y: {size: x, dtype: x}, exec: g", "returns 0 new tensors, and 1"),
    "not written to": ("f(Tensor x) -> Tensor", "x: {size: x, dtype: x}, exec: g", "f does not write to its argument"),
    "no size": ("f(Tensor x) -> Tensor", "y: {dtype: x}, exec: g", "`size` is missing from the output 'y'"),
    "no dtype": ("f(Tensor x) -> Tensor", "y: {size: x}, exec: g", "`dtype` is missing from the output 'y'"),
    "no function": ("f(Tensor x) -> Tensor", "y: {size: x, dtype: x}, exec: 'g()'", "expected a function in `exec`"),
    "no exec": ("f(Tensor x) -> Tensor", "y: {size: x, dtype: x}", "`exec` is missing from gen_opapi"),
    "misspelt": ("f(Tensor x) -> Tensor", "y: {size: x, dtype: x}, exce: g", "did you mean 'exec'?"),
    "no list": ("f(Tensor x) -> Tensor[]", "exec: g", "f returns more than tensors"),
    "no such base": (
        "f(Tensor x) -> Tensor",
        "structured_inherit: f.uot",
        "inherits from f.uot, which has no gen_opapi",
    ),
}


@pytest.mark.parametrize(("func", "generated", "message"), WRONG.values(), ids=WRONG)
def test_an_error_says_what_is_wrong_and_where(tmp_path: Path, func: str, generated: str, message: str) -> None:
    with pytest.raises(InputError, match=r"plugin.yaml:\d+:\d+: ") as caught:
        made(tmp_path, entry(func, generated))
    assert message in str(caught.value)


def test_what_has_inherited_is_not_inherited_from(tmp_path: Path) -> None:
    second = entry("f(Tensor x) -> Tensor", "structured_inherit: f.out")
    third = entry("f_(Tensor(a!) x) -> Tensor(a!)", "structured_inherit: f")
    with pytest.raises(InputError, match="f has only inherited its gen_opapi itself") as caught:
        made(tmp_path, OUT, second, third)
    assert "write structured_inherit: f.out" in str(caught.value)
