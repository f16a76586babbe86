"""Wrappers and what they are registered for, as text; that they work is shown by test_sample.py."""

from __future__ import annotations

from pathlib import Path

from opbridge.codegen.generator import sources
from opbridge.codegen.inputs import Inputs, Wish


def registered(folder: Path, text: str) -> str:
    path = folder / "functions.yaml"
    path.write_text(text)
    return sources(Inputs.read([path], Wish()).backend())["RegisterPrivateUse1.cpp"]


def test_tensors_of_all_kinds_have_to_be_on_one_device(tmp_path: Path) -> None:
    func = "mine::f(Tensor x, Tensor? y, Tensor[] zs, Tensor[]? ws) -> Tensor"
    text = registered(tmp_path, f"- func: {func}\n  dispatch: {{PrivateUse1: f}}\n")
    for name in ("x", "y", "zs"):
        assert f"  c10::impl::check_and_update_common_device(common_device, {name}, " in text
    assert "  if (ws) c10::impl::check_and_update_common_device(common_device, *ws, " in text


def test_a_declaration_leaves_out_check_and_guard(tmp_path: Path) -> None:
    options = "device_check: NoCheck\n  device_guard: False\n  dispatch: {PrivateUse1: f}\n"
    text = registered(tmp_path, f"- func: mine::f(Tensor x, Tensor y) -> Tensor\n  {options}")
    assert "common_device" not in text
    assert "OptionalDeviceGuard" not in text
