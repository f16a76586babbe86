"""Nodes for derivatives: what cannot be made is refused, with a way out.  What is made runs in test_gradients.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from opbridge.base.errors import ManifestError
from opbridge.codegen.generator import sources
from opbridge.codegen.inputs import Inputs, Wish

REFUSED = {
    "f_(Tensor(a!) x) -> ()": ("grad", "writes to 'x' without returning it"),
    "f(Tensor x, Tensor[]? ys=None) -> Tensor": ("grad", r"takes Tensor\[\]\?"),
    "f(Tensor x) -> int": ("grad", "returns int; no derivative can be made"),
    "f(Tensor x) -> (Tensor[], int)": ("grad", r"returns Tensor\[\], int"),
    "f(Tensor x) -> Tensor": ("grad * i", "uses i, which only PyTorch's own nodes have"),
}


@pytest.mark.parametrize(("schema", "formula", "message"), [(key, *value) for key, value in REFUSED.items()])
def test_what_cannot_be_differentiated_is_refused(tmp_path: Path, schema: str, formula: str, message: str) -> None:
    declared, derivatives = tmp_path / "functions.yaml", tmp_path / "derivatives.yaml"
    declared.write_text(f"- func: mylib::{schema}\n  dispatch: {{PrivateUse1: f}}\n")
    derivatives.write_text(f"- name: {schema}\n  x: '{formula}'\n")
    backend = Inputs.read([declared, derivatives], Wish()).backend()
    with pytest.raises(ManifestError, match=message) as caught:
        sources(backend)
    assert "write a kernel for the autograd key" in str(caught.value)
    assert str(derivatives) in str(caught.value)


FORWARD = {
    "f(Tensor x, Tensor[] ys) -> Tensor": ("auto_linear", "that is for one result of single tensors"),
    "f(Tensor x) -> (Tensor, Tensor)": ("auto_element_wise", "that is for one result of one tensor"),
}


@pytest.mark.parametrize(("schema", "formula", "message"), [(key, *value) for key, value in FORWARD.items()])
def test_forward_derivatives_that_do_not_follow_are_refused(
    tmp_path: Path, schema: str, formula: str, message: str
) -> None:
    declared, derivatives = tmp_path / "functions.yaml", tmp_path / "derivatives.yaml"
    declared.write_text(f"- func: mylib::{schema}\n  dispatch: {{PrivateUse1: f}}\n")
    derivatives.write_text(f"- name: {schema}\n  x: grad\n  result: {formula}\n")
    with pytest.raises(ManifestError, match=message) as caught:
        sources(Inputs.read([declared, derivatives], Wish()).backend())
    assert "leave `result` out" in str(caught.value)
