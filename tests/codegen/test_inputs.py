"""What files of each dialect mean, and what is said where they are wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from opbridge.base.errors import InputError, OpbridgeError
from opbridge.codegen.backend import Backend, BackendKernel, BackendOperator
from opbridge.codegen.error_causes import by_cause
from opbridge.codegen.generator import sources
from opbridge.codegen.inputs import Inputs, Wish, derivatives
from opbridge.codegen.inputs.dialect_reader import Source
from opbridge.codegen.inputs.installed import installed_derivatives, installed_functions

DATA = Path(__file__).parent / "data"
RRELU = (
    "rrelu_with_noise(Tensor self, Tensor noise, Scalar lower=0.125, Scalar upper=0.3333333333333333,"
    " bool training=False, Generator? generator=None) -> Tensor"
)
OF_AN_EARLIER_PYTORCH = f"all_version: [v2.7]\nofficial:\n  - func: {RRELU}\n    op_api: all_version\n"
PLUGIN = (DATA / "op_plugin.yaml", DATA / "backend.yaml", DATA / "deprecated.yaml")


def read(*files: Path, **wish: Any) -> Backend:
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


def test_what_an_operator_of_pytorchs_writes_to_is_as_pytorch_has_it(tmp_path: Path) -> None:
    """A schema of an earlier PyTorch gives other C++ types, which end the process that loads the library."""
    (tmp_path / "plugin.yaml").write_text(OF_AN_EARLIER_PYTORCH)
    (operator,) = read(tmp_path / "plugin.yaml", namespace="mine").operators
    assert [argument.name for argument in operator.schema.mutable_arguments] == ["noise"]


def test_its_derivative_is_refused_for_that_and_not_for_its_schema(tmp_path: Path) -> None:
    (tmp_path / "plugin.yaml").write_text(OF_AN_EARLIER_PYTORCH)
    derivative = (
        f"all_version: [v2.7]\nbackward:\n  - name: {RRELU}\n    self: grad * noise\n    version: all_version\n"
    )
    (tmp_path / "derivatives.yaml").write_text(derivative)
    with pytest.raises(InputError, match="writes to 'noise' without returning it"):
        sources(read(tmp_path / "plugin.yaml", tmp_path / "derivatives.yaml", namespace="mine"))


def test_derivatives_that_need_a_file_that_is_not_given_are_left_out_with_a_warning(tmp_path: Path) -> None:
    functions = "all_version: [v2.7]\ncustom:\n  - func: mask(Tensor x) -> Tensor\n    op_api: all_version\n"
    (tmp_path / "plugin.yaml").write_text(functions)
    entries = [f"  - name: {name}(Tensor x) -> Tensor\n    x: grad\n" for name in ("mask", "_format_cast", "abs_twice")]
    (tmp_path / "derivatives.yaml").write_text("all_version: [v2.7]\nbackward:\n" + "".join(entries))
    files = (tmp_path / "plugin.yaml", tmp_path / "derivatives.yaml")
    backend, left = Inputs.read(files, Wish()).read_backend()
    assert backend.target.namespace == "npu"
    assert operators(backend)["npu::mask"].derivative is not None
    (line,) = by_cause(left)
    assert line.split("  (")[0] == (
        "   2  … has a derivative, and only npu_native_functions.yaml, which is not given, could declare it"
    )
    (tmp_path / "backend.yaml").write_text("backend: NPU\ncpp_namespace: npu::native\n")
    with pytest.raises(OpbridgeError, match="_format_cast has a derivative and is not declared"):
        read(*files, tmp_path / "backend.yaml")


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


def test_fields_of_a_newer_make_are_left_out_with_a_line_each(tmp_path: Path) -> None:
    path = tmp_path / "new.yaml"
    path.write_text(
        "all_version: [v2.1]\ncustom:\n  - func: f(Tensor x) -> Tensor\n    dvm: all_version\n"
        "  - func: g(Tensor x) -> Tensor\n    dvm: [v2.1, newest]\n    op_api: all_version\n"
        "    gen_opapi: {fast: [{param: x}], same: x, out: {size: x, dtype: x, zero: [x]}, exec: run}\n"
    )
    inputs = Inputs.read([path], Wish(namespace="mine"))
    assert operators(inputs.backend()).keys() == {"mine::f", "mine::g"}
    told = [line.partition(": ")[2] for line in inputs.unknown_fields()]
    assert told[0] == "'dvm' is not known and left out, 2 times"
    assert {line.partition(" is")[0] for line in told} == {"'dvm'", "'fast'", "'same'", "'zero'"}
    with pytest.raises(InputError, match="has 5 errors"):
        read(path, namespace="mine", strict=True)


def test_what_is_wrong_may_be_left_out(tmp_path: Path) -> None:
    functions, formulas = tmp_path / "functions.yaml", tmp_path / "formulas.yaml"
    functions.write_text(
        "- func: a::f(Tensor x) -> Tensor\n- func: a::g(Tensr x) -> Tensor\n- func: a::h(Tensr x) -> Tensor\n"
        "- func: a::k(Tensor x) -> Tensor\n  structured_delegate: k.out\n"
    )
    formulas.write_text(
        "- name: a::f(Tensor x) -> Tensor\n  x: nowhere(grad)\n- name: a::g(Tensr x) -> Tensor\n  x: grad\n"
    )
    inputs = Inputs.read([functions, formulas], Wish(keep_going=True))
    backend, left = inputs.read_backend()
    [operator] = backend.operators
    assert (operator.schema.full_name, operator.derivative) == ("a::f", None)
    causes = by_cause(left)
    assert causes[0].startswith("   3  unknown type …")
    assert len(causes) == 3
    with pytest.raises(InputError, match="unknown type"):
        read(functions, formulas)


def test_a_section_that_is_wrong_cannot_be_left_out(tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(HEAD + "custom:\n  - func: f(Tensor x) -> Tensor\nofficiel:\n  - func: g(Tensor x) -> Tensor\n")
    with pytest.raises(InputError, match="did you mean 'official'"):
        read(path, namespace="mine", keep_going=True)


def test_a_backend_names_its_own_operators_bare_too(tmp_path: Path) -> None:
    path = tmp_path / "backend.yaml"
    path.write_text(
        "backend: MINE\ncpp_namespace: mine\nsupported:\n  - copy_memory\n  - relu\nautograd:\n  - copy_memory\n"
        "full_codegen:\n  - abs\nir_gen:\n  - neg\n"
        "custom:\n  - func: copy_memory(Tensor x) -> Tensor\n  - func: made(int n) -> Tensor\n"
        "    dispatch: {CompositeExplicitAutograd: made}\n"
    )
    found = operators(read(path))
    assert found.keys() == {"aten::abs", "aten::relu", "mine::copy_memory", "mine::made"}
    assert {kernel.key for kernel in found["mine::copy_memory"].kernels} == {"PrivateUse1", "AutogradPrivateUse1"}
    assert found["mine::made"].kernels == (BackendKernel("CompositeExplicitAutograd", "mine::made"),)


def test_pytorchs_own_derivatives_are_pytorchs_to_take() -> None:
    native, formulas = installed_functions(), installed_derivatives()
    assert native is not None
    assert formulas is not None
    assert all(operator.derivative is None for operator in read(native, formulas, key="CPU", namespace="m").operators)
    with pytest.raises(InputError, match="no operator is declared for PrivateUse1") as caught:
        read(native, formulas, namespace="m")
    assert "kernels are named for CPU, CUDA" in str(caught.value)


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
        "the older version comes first",
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
    "no declarations": ("name: x\n", "this is not a file of declarations", "expected opbridge's ops.yaml"),
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
