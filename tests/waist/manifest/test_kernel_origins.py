"""The value of `kernels:` for one device."""

from __future__ import annotations

from pathlib import Path

import pytest

from opbridge.base.errors import ManifestError
from opbridge.waist.manifest import KernelRef


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("f.cpp", KernelRef("cpu", path="f.cpp", symbol="f")),
        ("src/f.cpp:g", KernelRef("cpu", path="src/f.cpp", symbol="g")),
        ("lib.so:CustomAdd", KernelRef("cpu", path="lib.so", symbol="CustomAdd")),
        ("tvm_ffi:lib.so:add_one", KernelRef("cpu", path="lib.so", symbol="add_one", has_tvm_ffi_call=True)),
        ("tvm_ffi:lib.so", KernelRef("cpu", path="lib.so", symbol="f", has_tvm_ffi_call=True)),
        ("aten::leaky_relu", KernelRef("cpu", operator="aten::leaky_relu")),
        ("aten::add.Scalar", KernelRef("cpu", operator="aten::add.Scalar")),
    ],
)
def test_forms(text: str, expected: KernelRef) -> None:
    assert KernelRef.parse("cpu", text, default_symbol="f") == expected
    assert expected.text(default_symbol="f") == text
    assert KernelRef.parse("cpu", str(expected)) == expected


@pytest.mark.parametrize(
    ("device", "text", "words"),
    [
        ("gpu", "f.cu", "unknown device 'gpu'"),
        ("cudo", "f.cu", "did you mean 'cuda'?"),
        ("cpu", "f", "not the name of a source"),
        ("cpu", "f.cpp:", "not the name of a function"),
        ("cpu", "f.cpp:2x", "'2x' is not the name of a function"),
        ("cpu", ":f", "not the name of a source"),
        ("cpu", "tvm_ffi:lib.cpp:func", "not a library of tvm-ffi; expected tvm_ffi:lib.so:function"),
    ],
)
def test_refusals(device: str, text: str, words: str) -> None:
    with pytest.raises(ManifestError, match=words.replace("?", r"\?")):
        KernelRef.parse(device, text)


@pytest.mark.parametrize("path", ["/etc/f.cpp", "../f.cpp", "a/../../f.cpp", "link/f.cpp", "loop/f.cpp/../../../x.cpp"])
def test_a_path_stays_in_the_manifests_folder(tmp_path: Path, path: str) -> None:
    root = tmp_path / "library"
    root.mkdir()
    (root / "link").symlink_to(tmp_path)
    (root / "loop").symlink_to("loop")
    with pytest.raises(ManifestError, match="manifest's folder"):
        KernelRef("cpu", path=path).check_inside(root, None)


def test_paths_within_the_folder_are_fine(tmp_path: Path) -> None:
    (tmp_path / "inner").symlink_to(tmp_path)
    for path in ("f.cpp", "a/../f.cpp", "inner/f.cpp", "not/there/yet.cpp"):
        KernelRef("cpu", path=path).check_inside(tmp_path, None)
