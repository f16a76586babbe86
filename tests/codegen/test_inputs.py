"""What files of each dialect mean, and what is said where they are wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from opbridge.codegen.inputs import Inputs, Wish, derivatives, installed_functions
from opbridge.codegen.inputs.reading import Source
from opbridge.codegen.model import Backend, BackendKernel, BackendOperator
from opbridge.errors import InputError, OpbridgeError

DATA = Path(__file__).parent / "data"
PLUGIN = (DATA / "op_plugin.yaml", DATA / "backend.yaml", DATA / "deprecated.yaml")


def read(*files: Path, **wish: str) -> Backend:
    return Inputs.read(files, Wish(**wish)).backend()


def operators(backend: Backend) -> dict[str, BackendOperator]:
    return {operator.schema.full_name: operator for operator in backend.operators}


@pytest.fixture(scope="module")
def newest() -> dict[str, BackendOperator]:
    return operators(read(*PLUGIN))


def test_a_backend_has_the_namespaces_that_its_file_names() -> None:
    target = read(*PLUGIN).target
    assert (target.namespace, target.key, target.cpp_namespace) == ("sample", "PrivateUse1", "sample::native")


def test_sections_say_whose_an_operator_is(newest: dict[str, BackendOperator]) -> None:
    assert "aten::softsign" in newest
    assert "sample::random_mask" in newest
    assert newest["sample::soft_shift"].is_custom


def test_an_operator_of_several_sections_has_a_kernel_for_each(newest: dict[str, BackendOperator]) -> None:
    kernels = newest["sample::soft_shift"].kernels
    assert [(kernel.key, kernel.function) for kernel in kernels] == [
        ("AutogradPrivateUse1", "sample::native::soft_shift"),
        ("PrivateUse1", "sample::native::soft_shift"),
    ]
    assert newest["aten::int_repr"].kernels == (BackendKernel("QuantizedPrivateUse1", "sample::native::int_repr"),)
    assert newest["aten::abs"].kernel("SparsePrivateUse1") == BackendKernel(
        "SparsePrivateUse1", "sample::native::abs_sparse"
    )


def test_symint_is_said_by_a_section(newest: dict[str, BackendOperator]) -> None:
    kernel = BackendKernel("PrivateUse1", "sample::native::gather_rows_backward_symint", symint=True)
    assert newest["sample::gather_rows_backward"].kernels == (kernel,)


def test_dispatch_replaces_the_kernel_for_the_backends_key(newest: dict[str, BackendOperator]) -> None:
    kernel = BackendKernel("CompositeExplicitAutograd", "sample::native::random_mask")
    assert newest["sample::random_mask"].kernels == (kernel,)


def test_names_alone_stand_for_operators_of_pytorch(newest: dict[str, BackendOperator]) -> None:
    assert str(newest["aten::relu"].schema) == "aten::relu(Tensor self) -> Tensor"
    assert newest["aten::neg"].kernels == (BackendKernel("PrivateUse1", "sample::kernels::negate"),)
    assert newest["sample::device_format"].kernels == (BackendKernel("PrivateUse1", "sample::kernels::device_format"),)


def test_deprecations_reach_their_operators(newest: dict[str, BackendOperator]) -> None:
    assert newest["sample::soft_shift"].deprecated == "torch.nn.functional.softshrink"
    assert newest["sample::random_mask"].deprecated == ""
    assert newest["aten::relu"].deprecated is None


def test_pytorch_says_how_it_declares_its_own_operators(newest: dict[str, BackendOperator]) -> None:
    assert newest["aten::cat"].takes_tensor_refs
    assert not newest["aten::softsign"].takes_tensor_refs


def test_a_version_selects_entries() -> None:
    old = operators(read(*PLUGIN, torch_version="2.1.0"))
    assert str(old["sample::soft_shift"].schema) == "sample::soft_shift(Tensor x, float by=0.5) -> Tensor"
    assert "aten::int_repr" not in old
    assert old["aten::abs"].kernel("SparsePrivateUse1") is None


def test_native_functions_name_kernels_by_key(tmp_path: Path) -> None:
    found = operators(read(DATA / "sample" / "native.yaml", namespace="other"))
    assert found["aten::view"].kernels == (BackendKernel("PrivateUse1", "other::native::view_symint", symint=True),)
    assert found["sample::twice"].kernels == (BackendKernel("CompositeImplicitAutograd", "other::native::twice"),)
    derived = found["aten::mul_.Tensor"]
    assert derived.derived_from is not None
    assert derived.derived_from.full_name == "aten::mul.out"
    made = found["sample::minmax.out"].schema
    assert str(made) == "sample::minmax.out(Tensor x, *, Tensor(a!) out0, Tensor(b!) out1) -> (Tensor(a!), Tensor(b!))"


def test_a_variant_shares_the_kernel_for_dense_tensors_only(tmp_path: Path) -> None:
    path = tmp_path / "functions.yaml"
    path.write_text(
        "- func: a::f.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)\n  structured: True\n"
        "  dispatch: {PrivateUse1: f_out, SparsePrivateUse1: f_out_sparse}\n"
        "- func: a::f(Tensor x) -> Tensor\n  structured_delegate: f.out\n  dispatch: {SparsePrivateUse1: f_sparse}\n"
    )
    assert operators(read(path))["a::f"].kernels == (
        BackendKernel("PrivateUse1", "a::native::f_out", shared=True),
        BackendKernel("SparsePrivateUse1", "a::native::f_sparse"),
    )


def test_pytorchs_own_file_goes_through_whole() -> None:
    path = installed_functions()
    assert path is not None
    assert len(read(path, key="CUDA", namespace="mine").operators) > 1000


def test_an_ops_yaml_declares_operators() -> None:
    [operator] = read(DATA / "ops.yaml").operators
    assert operator.kernels == (BackendKernel("PrivateUse1", "shapes::native::scaled_add"),)


HEAD = "all_version: [v2.1, v2.2]\n"
WRONG = {
    "unknown field": (
        HEAD + "custom:\n  - func: f(Tensor x) -> Tensor\n    expose: all_version\n",
        "bad.yaml:4:5: unknown key 'expose'",
        "did you mean 'exposed'?",
    ),
    "unknown section": (HEAD + "costum:\n  - func: f(Tensor x) -> Tensor\n", "bad.yaml:2:1", "did you mean 'custom'?"),
    "unknown version": (
        HEAD + "custom:\n  - func: f(Tensor x) -> Tensor\n    op_api: [v2.3, newest]\n",
        "bad.yaml:4:13: unknown version 'v2.3'",
        "did you mean",
    ),
    "range the wrong way round": (
        HEAD + "custom:\n  - func: f(Tensor x) -> Tensor\n    op_api: [v2.2, v2.1]\n",
        "bad.yaml:4:13: the range [v2.2, v2.1] selects no version",
        "the older version stands first",
    ),
    "schema": (HEAD + "custom:\n  - func: f(Tensr x) -> Tensor\n", "bad.yaml:3:13", "did you mean 'Tensor'?"),
    "declared twice": (
        HEAD + "custom:\n" + 2 * "  - func: f(Tensor x) -> Tensor\n    op_api: all_version\n",
        "bad.yaml:5:11: f is declared twice in `custom` for one version",
        "first at",
    ),
    "two schemas": (
        HEAD + "custom:\n  - func: f(Tensor x) -> Tensor\nsymint:\n  - func: f(Tensor y) -> Tensor\n",
        "bad.yaml:5:11: f is declared with two schemas",
        "the other is f(Tensor x) -> Tensor",
    ),
    "gen_opapi": (
        HEAD + "custom:\n  - func: f(Tensor x) -> Tensor\n    gen_opapi: {out: {size: x, dtyp: x}, exec: run}\n",
        "unknown key 'dtyp'",
        "did you mean 'dtype'?",
    ),
    "no delegate": (
        "- func: a::f(Tensor x) -> Tensor\n  structured_delegate: f.out\n",
        "bad.yaml:1:9: a::f delegates to f.out, which is not declared",
        "declare the out variant",
    ),
    "no structured delegate": (
        "- func: a::f(Tensor x) -> Tensor\n  structured_delegate: f.out\n"
        "- func: a::f.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)\n",
        "a::f.out is a delegate and not structured",
        "put `structured: True` on f.out",
    ),
    "autogen": (
        "- func: a::f(Tensor x) -> int\n  autogen: f.out\n",
        "cannot make f.out from a::f",
        "only out variants of functions that return new tensors",
    ),
    "no operator of PyTorch's": (
        "backend: X\ncpp_namespace: x\nsupported: [rleu]\n",
        "bad.yaml:3:13: PyTorch has no operator rleu",
        "did you mean 'relu'?",
    ),
    "flag": ("- func: a::f(Tensor x) -> Tensor\n  device_guard: maybe\n", "expected true or false", "'maybe'"),
    "no declarations": ("name: x\n", "this is no file of declarations", "expected opbridge's ops.yaml"),
    "cut off": (HEAD + "custom:\n  - func: 'f(Tensor x\n", "bad.yaml:4:1", "a quote is not closed"),
}


@pytest.mark.parametrize(("text", "message", "hint"), WRONG.values(), ids=WRONG)
def test_an_error_says_where_and_what_to_do(tmp_path: Path, text: str, message: str, hint: str) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        read(path, namespace="a")
    assert message in str(caught.value)
    assert hint in str(caught.value)


DECLARED = """\
- func: a::f(Tensor x, float by=1.0) -> Tensor
  dispatch: {PrivateUse1: f}
"""
WRONG_DERIVATIVES = {
    "not declared": (
        "- name: g(Tensor x) -> Tensor\n  x: grad\n",
        "bad.yaml:1:9: g has a derivative and is not declared",
    ),
    "another schema": ("- name: f(Tensor x) -> Tensor\n  x: grad\n", "a::f is declared with another schema"),
    "no such argument": (
        "- name: f(Tensor x, float by=1.0) -> Tensor\n  y: grad\n",
        "bad.yaml:2:6: f has no tensor 'y' to differentiate by",
    ),
    "no such name": (
        "- name: f(Tensor x, float by=1.0) -> Tensor\n  x: grda * x.sin(by)\n",
        "bad.yaml:2:6: the formula names 'grda', which is not known",
    ),
    "outputs": (
        "- name: f(Tensor x, float by=1.0) -> Tensor\n  x: grad\n  output_differentiability: [true, false]\n",
        "f has 1 outputs, and 2 are described",
    ),
    "twice": (2 * "- name: f(Tensor x, float by=1.0) -> Tensor\n  x: grad\n", "a::f has two derivatives"),
    "no such name in forward mode": (
        "- name: f(Tensor x, float by=1.0) -> Tensor\n  x: grad\n  result: y_t * by\n",
        "bad.yaml:3:11: the formula names 'y_t', which is not known",
    ),
    "a function that PyTorch keeps to itself": (
        "- name: f(Tensor x, float by=1.0) -> Tensor\n  x: lerp_backwards(grad, by)\n",
        "a formula of a::f calls lerp_backwards, which PyTorch's libraries do not offer",
    ),
}


@pytest.mark.parametrize(("text", "message"), WRONG_DERIVATIVES.values(), ids=WRONG_DERIVATIVES)
def test_a_wrong_derivative_is_an_error(tmp_path: Path, text: str, message: str) -> None:
    declared, path = tmp_path / "declared.yaml", tmp_path / "bad.yaml"
    declared.write_text(DECLARED)
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        read(declared, path)
    assert message in str(caught.value)


def test_pytorchs_own_derivatives_are_read_whole() -> None:
    native = installed_functions()
    assert native is not None
    path = native.parents[2] / "autograd" / "derivatives.yaml"
    source = Source(path, path.read_bytes())
    assert len(derivatives.entries(source, None)) > 600
    assert source.reader.errors == []


def test_derivatives_are_for_versions_too() -> None:
    old, new = (
        operators(read(*PLUGIN, DATA / "derivatives.yaml", torch_version=version))["sample::soft_flip"].derivative
        for version in ("2.2", "2.7")
    )
    assert old is not None
    assert new is not None
    assert [formula.text for formula in old.formulas] == ["grad"]
    assert [formula.text for formula in new.formulas] == ["grad * (flip ? -1 : 1)"]


def test_a_derivative_and_a_kernel_for_autograd_contradict_each_other(tmp_path: Path) -> None:
    path = tmp_path / "derivatives.yaml"
    path.write_text("- name: soft_shift(Tensor x, *, float by=0.5, bool flip=False) -> Tensor\n  x: grad\n")
    with pytest.raises(InputError, match="has a derivative and a kernel for AutogradPrivateUse1"):
        read(*PLUGIN, path)


def test_all_errors_of_a_file_come_at_once(tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(HEAD + "custom:\n  - func: f(Tensr x) -> Tensor\n  - func: g(Tensor x) -> Tensor\n    tag: x\n")
    with pytest.raises(InputError, match="has 2 errors"):
        read(path)


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        ({"key": "CUD"}, "did you mean 'CUDA'?"),
        ({"namespace": "aten"}, "expected a namespace for the backend's own operators, got 'aten'"),
        ({"torch_version": "9.9"}, "has nothing for PyTorch 9.9"),
    ],
)
def test_a_wish_that_cannot_be_had_is_an_error(wish: dict[str, str], message: str) -> None:
    with pytest.raises(OpbridgeError) as caught:
        read(*PLUGIN, **wish)
    assert message in str(caught.value)


def test_an_operator_is_declared_by_one_file_only(tmp_path: Path) -> None:
    twice = tmp_path / "again.yaml"
    twice.write_text((DATA / "backend.yaml").read_text())
    with pytest.raises(InputError, match="aten::relu is declared twice"):
        read(DATA / "backend.yaml", twice)
