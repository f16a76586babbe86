"""C++ types of schemas, held against PyTorch's own generator for every operator that PyTorch has."""

from __future__ import annotations

from pathlib import Path

import pytest
import torchgen
from torchgen.api.types import DispatcherSignature
from torchgen.context import native_function_manager
from torchgen.gen import parse_native_yaml
from torchgen.model import NativeFunction

from opbridge.base.errors import Location, SchemaError
from opbridge.codegen.backend import BackendOperator
from opbridge.codegen.unboxed_types import Signature
from opbridge.waist.schema import Schema

NATIVE = Path(torchgen.__file__).parent / "packaged" / "ATen" / "native"


def operator(text: str, **traits: bool) -> BackendOperator:
    return BackendOperator(Schema.parse(text), (), Location("here.yaml", 1, 1), **traits)


@pytest.fixture(scope="module")
def functions() -> list[NativeFunction]:
    parsed = parse_native_yaml(str(NATIVE / "native_functions.yaml"), str(NATIVE / "tags.yaml"))
    return list(parsed.native_functions)


@pytest.mark.parametrize("symint", [True, False])
def test_types_are_those_of_pytorchs_generator(functions: list[NativeFunction], symint: bool) -> None:
    for function in functions:
        ours = operator(
            f"{function.namespace}::{function.func}",
            takes_tensor_refs=function.part_of_structured_group,
            const_outputs=function.use_const_ref_for_mutable_tensors,
        )
        with native_function_manager(function):
            theirs = DispatcherSignature.from_schema(function.func, symint=symint).type()
        assert Signature.of(ours, symint=symint).type.replace(" ", "") == theirs.replace(" ", ""), function.func


def test_a_declaration_spells_defaults_as_cpp_does() -> None:
    signature = Signature.of(
        operator("a::f(Tensor x, int n=-1, *, bool? b=None, str s='a\"b', int[2] p=[0, 1], float e=1e-5) -> ()"),
        symint=False,
    )
    assert signature.head("f", defaults=True) == (
        "void f(\n"
        "    const at::Tensor& x,\n"
        "    int64_t n = -1,\n"
        "    ::std::optional<bool> b = ::std::nullopt,\n"
        '    c10::string_view s = "a\\"b",\n'
        "    at::IntArrayRef p = {0, 1},\n"
        "    double e = 1e-05)"
    )


def test_a_default_before_an_argument_without_one_is_left_out() -> None:
    signature = Signature.of(operator("a::f(Tensor x, int n=1, *, Tensor(a!) out) -> Tensor(a!)"), symint=False)
    head = signature.head("f", defaults=True)
    assert head == "at::Tensor& f(const at::Tensor& x, int64_t n, at::Tensor& out)"


def test_a_type_without_a_cpp_type_is_an_error() -> None:
    with pytest.raises(SchemaError, match="no C\\+\\+ type is known for Any"):
        Signature.of(operator("a::f(Any x) -> ()"), symint=False)
