"""The Pythons that an adapter may be asked for; that one works is shown in test_installed.py."""

from __future__ import annotations

import os
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

from opbridge.authoring.wheel.adapters import build_for
from opbridge.base.errors import InputError
from opbridge.build.cache import Cache
from opbridge.build.toolchains.torch_install import TorchInstall
from opbridge.frameworks.native_modules import NATIVE
from opbridge.frameworks.torch.native import current_suffix, prebuilt_name


def test_it_is_found_by_the_name_it_travels_under() -> None:
    name, library = build_for(os.path.relpath(sys.executable), Cache())
    assert name == prebuilt_name(TorchInstall.found(), current_suffix())
    assert library.is_file()


def test_it_does_not_tell_where_it_was_built() -> None:
    _, library = build_for(sys.executable, Cache())
    content = library.read_bytes()
    for folder in (TorchInstall.found().folder, Path(sysconfig.get_path("include")), NATIVE):
        assert str(folder).encode() not in content


def test_its_name_leaves_out_the_gpu_that_pytorch_was_built_for(tmp_path: Path) -> None:
    names = {prebuilt_name(TorchInstall(tmp_path, version, "abc"), ".so") for version in ("2.13.0+cpu", "2.13.0+cu130")}
    assert len(names) == 1
    for other in (TorchInstall(tmp_path, "2.13.1", "abc"), TorchInstall(tmp_path, "2.13.0", "abd")):
        assert prebuilt_name(other, ".so") not in names
    assert prebuilt_name(TorchInstall(tmp_path, "2.13.0", "abc"), ".cpython-312.so") not in names


def test_a_python_without_pytorch(tmp_path: Path) -> None:
    venv.create(tmp_path / "bare", symlinks=True)
    python = str(tmp_path / "bare" / "bin" / "python")
    with pytest.raises(InputError, match=f"{python} has no PyTorch"):
        build_for(python, Cache())


@pytest.mark.parametrize(
    ("program", "reason"),
    [("/no/such/python", "cannot run .*No such file"), ("/bin/false", "does not work"), ("/bin/echo", "does not work")],
)
def test_what_is_no_python(program: str, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        build_for(program, Cache())
