"""What `gen_opapi` names and nobody has: Helpers.h, a start that compiles and says what is to be written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
import torch
from tests.codegen.plugin_files import entry, made

Build = Callable[[Mapping[str, str]], Path]


def helped(tmp_path: Path, namespace: str, *given: str) -> dict[str, str]:
    """The files of operators of one tensor, each with its outputs."""
    complete = [each if "exec" in each else f"{each}, exec: deviceF" for each in given]
    entries = [entry(f"f{place or ''}(Tensor x) -> Tensor", each) for place, each in enumerate(complete)]
    return made(tmp_path, *entries, namespace=namespace)


NAMED = {
    "sizes": ("y: {size: 'rows_of(x)', dtype: x}", "inline c10::SmallVector<int64_t, 8> rows_of(Anything = {}) {"),
    "an element type": ("y: {size: x, dtype: 'type_of(x)'}", "inline at::ScalarType type_of(Anything = {}) {"),
    "a condition": ("y: {size: 'is_new() ? x.sizes() : x.sizes()', dtype: x}", "inline bool is_new() {"),
    "one of several sizes": (
        "y: {size: 'both_of(x)[1]', dtype: x}",
        "inline std::vector<c10::SmallVector<int64_t, 8>> both_of(Anything = {}) {",
    ),
    "parts of a result": (
        "y: {size: 'std::get<1>(both)', dtype: x}, new_params: {both: 'ns::both_of(x)'}",
        "namespace ns {\n\n// For f.\ninline std::tuple<m::native::Unwritten, m::native::Unwritten> both_of(",
    ),
    "a text": (
        "y: {size: x, dtype: x}, new_params: {name: 'name_of(x)', pointer: 'name.c_str()'}, exec: 'g, x, pointer, y'",
        "inline std::string name_of(Anything = {}) {",
    ),
    "a list in braces": (
        "y: {size: 'rows_of({x, x}, 1)', dtype: x}",
        "inline c10::SmallVector<int64_t, 8> rows_of(Anything = {}, Anything = {}) {",
    ),
    "inside another, whose name ends in a number": (
        "y: {size: 'rows_of2(axes_of(x))', dtype: x}",
        "inline Unwritten axes_of(Anything = {}) {",
    ),
    "in brackets that only group": (
        "y: {size: '(x.dim() > 1 ? (rows_of(x)) : x.sizes())', dtype: x}",
        "inline c10::SmallVector<int64_t, 8> rows_of(Anything = {}) {",
    ),
    "inside another": (
        "y: {size: 'rows_of(x, axes_of(x))', dtype: x}",
        "inline Unwritten axes_of(Anything = {}) {",
    ),
    "a constant of another namespace": (
        "y: {size: 'rows_of(ns::Kind::WIDE)', dtype: x}",
        "namespace ns::Kind {\n\n// For f.\ninline constexpr m::native::Unwritten WIDE = ",
    ),
    "a parameter of a template": (
        "y: {size: 'c10::SmallVector<int64_t, ns::SIZE>{}', dtype: x}",
        "namespace ns {\n\n// For f.\nconstexpr unsigned SIZE = 8;",
    ),
}


@pytest.mark.parametrize(("given", "declared"), NAMED.values(), ids=NAMED)
def test_what_a_name_stands_for_is_told_from_where_it_stands(tmp_path: Path, given: str, declared: str) -> None:
    assert declared in helped(tmp_path, "m", given)["Helpers.h"]


KNOWN = (
    "y: {size: x, dtype: 'isIntegralType(x.scalar_type(), true) ? at::kFloat : x.scalar_type()'}",
    "y: {size: 'at::IntArrayRef({x.size(0), 1})', dtype: 'at::native::result_type({x, x})'}",
    "y: {size: x, dtype: x}, new_params: {half: 'static_cast<float>(x.size(0)) / 2'}",
)


@pytest.mark.parametrize("given", KNOWN)
def test_without_a_name_to_explain_there_is_no_such_file(tmp_path: Path, given: str) -> None:
    files = helped(tmp_path, "m", given)
    assert "Helpers.h" not in files
    assert '#include "Helpers.h"' not in files["Launcher.h"]


def test_all_of_it_compiles_and_a_call_says_what_is_to_be_written(tmp_path: Path, build_backend: Build) -> None:
    files = helped(tmp_path, "unwritten", *(given for given, _ in NAMED.values()))
    of_cpp = {name: text for name, text in files.items() if name.endswith((".h", ".cpp"))}
    torch.ops.load_library(str(build_backend(of_cpp)))
    with pytest.raises(NotImplementedError, match=r"^rows_of is not written; Helpers\.h is the place for it"):
        torch.ops.unwritten.f(torch.empty(3, device="meta"))
