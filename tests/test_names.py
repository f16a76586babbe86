"""A user's text becomes a name in C++ or Python only if it is one, whichever way it comes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import opbridge as ob
from opbridge.authoring.wheel.build_wheel import Order, make_wheel
from opbridge.base.errors import OpbridgeError
from opbridge.base.names import is_cpp_name
from opbridge.build.cache import Cache
from opbridge.codegen.backend import BackendKernel, OpapiCall, Output, TargetBackend
from opbridge.codegen.inputs import Inputs, Wish
from opbridge.waist.manifest import KernelRef, Manifest, OpSpec

INJECTED = ("x{}system", 'f); system("x"); (', "f\nint g()", "f()", "", "1st", "é", "f g", "f-g", "a::")
KEYWORDS = ("class", "int")


def test_names_of_cpp() -> None:
    assert all(map(is_cpp_name, ("f", "_f1", "mylib::native::add_out", "__and__")))
    assert not any(map(is_cpp_name, INJECTED + KEYWORDS))


def generate(folder: Path, text: str, wish: Wish) -> object:
    (folder / "functions.yaml").write_text(text)
    return Inputs.read([folder / "functions.yaml"], wish).backend()


def dispatch(folder: Path, name: str) -> object:
    text = f"- func: mylib::f(Tensor x) -> Tensor\n  dispatch: {{PrivateUse1: {name!r}}}\n"
    return generate(folder, text, Wish())


def autogen(folder: Path, name: str) -> object:
    text = f"- func: mylib::f(Tensor x) -> Tensor\n  autogen: {['f.out' + name + '(']}\n"
    return generate(folder, text, Wish())


PLACES: dict[str, Callable[[Path, str], Any]] = {
    "--cpp-namespace": lambda _, name: TargetBackend("mylib", "PrivateUse1", name or " "),
    "--namespace": lambda folder, name: generate(
        folder, "- func: f(Tensor x) -> Tensor\n", Wish(namespace=name or " ")
    ),
    "--key": lambda _, name: TargetBackend("mylib", name, "mylib"),
    "dispatch": dispatch,
    "autogen": autogen,
    "a kernel": lambda _, name: BackendKernel("PrivateUse1", f"mylib::{name}"),
    "a function of a library": lambda _, name: OpapiCall(name, (), ()),
    "an output": lambda _, name: Output(name, None, None, ()),
    "a value": lambda _, name: OpapiCall("f", (), (), ((name, "1"),)),
    "a parameter of launch": lambda _, name: OpSpec.create(
        "m::f(Tensor x) -> Tensor", kernels={"npu": "f.cpp"}, out="x", launch={name: 1}
    ),
    "an extension": lambda _, name: ob.extension(name, cpp_sources="int f() { return 0; }"),
    "its functions": lambda _, name: ob.extension("e", cpp_sources="int f() { return 0; }", functions=[name]),
}


@pytest.mark.parametrize("place", PLACES)
def test_what_is_no_name_is_refused_everywhere(place: str, tmp_path: Path) -> None:
    for name in INJECTED + KEYWORDS:
        with pytest.raises(OpbridgeError):
            PLACES[place](tmp_path, name)


@pytest.mark.parametrize("name", INJECTED)
def test_symbols_and_namespaces_are_names(name: str) -> None:
    with pytest.raises(OpbridgeError):
        KernelRef.parse("cpu", f"f.cpp:{name}")
    with pytest.raises(OpbridgeError):
        Manifest.parse(f"namespace: {json.dumps(name)}\nops: []\n")


def test_a_kernels_name_is_refused_where_it_stands(tmp_path: Path) -> None:
    with pytest.raises(OpbridgeError, match=r"functions\.yaml:1:9: '.*' cannot be a kernel in C\+\+"):
        dispatch(tmp_path, "f); system(0); (")


@pytest.mark.parametrize("name", ["__class__", "__del__", "__init__", "__getattr__"])
def test_names_that_python_keeps_for_itself(name: str, tmp_path: Path) -> None:
    op = f"namespace: m\nops:\n  - {{func: {name}(Tensor x) -> Tensor, out: x, kernels: {{cpu: f.cpp}}}}\n"
    for make in (
        lambda: Manifest.parse(op),
        lambda: Manifest.parse(f"namespace: {name}\nops: []\n"),
        lambda: OpSpec.create(f"m::{name}(Tensor x) -> Tensor", kernels={"cpu": "f.cpp"}, out="x"),
        lambda: OpSpec.create(f"{name}::f(Tensor x) -> Tensor", kernels={"cpu": "f.cpp"}, out="x"),
    ):
        with pytest.raises(OpbridgeError, match="Python keeps names"):
            make()
    (tmp_path / "ops.yaml").write_text(
        "namespace: m\nops:\n  - {func: f(Tensor x) -> Tensor, kernels: {cpu: 'aten::relu'}}\n"
    )
    with pytest.raises(OpbridgeError, match="cannot be imported"):
        make_wheel(Order(tmp_path / "ops.yaml", "1.0", name), tmp_path, Cache())
