"""The functions of torch.utils.cpp_extension under their names: the same arguments, in the same order."""

from __future__ import annotations

import inspect
import os
import sys
from pathlib import Path

import pytest
from torch.utils import cpp_extension as theirs

from opbridge.base.errors import UnsupportedError
from opbridge.compat import cpp_extension as ours

MODULE = """#include <Python.h>
#define JOINED(a, b) a##b
#define INIT(name) JOINED(PyInit_, name)
static PyModuleDef definition = {PyModuleDef_HEAD_INIT, "m", TEXT, 0, nullptr, nullptr, nullptr, nullptr, nullptr};
PyMODINIT_FUNC INIT(TORCH_EXTENSION_NAME)() { return PyModule_Create(&definition); }
"""


@pytest.mark.parametrize("name", ["load", "load_inline"])
def test_arguments_are_theirs(name: str) -> None:
    def arguments(function: object) -> list[tuple[str, object]]:
        parameters = inspect.signature(function).parameters.values()  # type: ignore[arg-type]
        return [(parameter.name, parameter.default) for parameter in parameters]

    assert arguments(getattr(ours, name)) == arguments(getattr(theirs, name))


def test_load_by_position(tmp_path: Path) -> None:
    """A shell reads the flags, there as here."""
    (tmp_path / "m.cpp").write_text(MODULE)
    assert ours.load("m", [str(tmp_path / "m.cpp")], ["""-DTEXT='"from load"'"""]).__doc__ == "from load"


def test_load_inline_by_position(tmp_path: Path) -> None:
    text = MODULE.replace("TEXT", '"from text"')
    assert ours.load_inline("m", [text], no_implicit_headers=True, build_directory=tmp_path).__doc__ == "from text"


def test_what_cannot_be_had_is_said() -> None:
    with pytest.raises(UnsupportedError, match="is_standalone"):
        ours.load("m", [], is_python_module=False, is_standalone=True)


def test_loading_needs_no_setuptools(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "setuptools", None)
    assert callable(ours.load)
    with pytest.raises(AttributeError, match="no attribute 'SyclExtensions', and torch"):
        _ = ours.SyclExtensions


@pytest.mark.parametrize("name", theirs.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert callable(getattr(ours, name))
    assert name in dir(ours)


def test_what_is_not_here_is_theirs() -> None:
    assert ours.include_paths is theirs.include_paths
    assert ours.IS_HIP_EXTENSION is theirs.IS_HIP_EXTENSION


class TestCudaHome:
    @pytest.fixture
    def wanted(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The PyTorch of the tests has no CUDA, so the twin stands in for it."""
        self.forget(monkeypatch)
        monkeypatch.setenv("OPBRIDGE_CUDA_TWIN", "1")

    @pytest.mark.usefixtures("wanted")
    def test_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("CUDA_HOME", "/opt/cuda-13")
        assert ours.CUDA_HOME == "/opt/cuda-13"

    @pytest.mark.usefixtures("wanted")
    def test_where_the_compiler_is(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        nvcc = tmp_path / "bin" / "nvcc"
        nvcc.parent.mkdir()
        nvcc.write_text("#!/bin/sh\n")
        nvcc.chmod(0o755)
        monkeypatch.setenv("PATH", str(nvcc.parent), prepend=os.pathsep)
        assert str(tmp_path) == ours.CUDA_HOME

    @pytest.mark.usefixtures("wanted")
    def test_where_the_compiler_is_that_a_script_runs(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        toolkit = tmp_path / "cuda-13.0"
        script = tmp_path / "local" / "bin" / "nvcc"
        script.parent.mkdir(parents=True)
        script.write_text(f'#!/bin/sh\n[ "$1" = --dryrun ] && echo "#$ TOP={toolkit}/bin/.." >&2\n')
        script.chmod(0o755)
        monkeypatch.setenv("PATH", str(script.parent), prepend=os.pathsep)
        assert str(toolkit) == ours.CUDA_HOME

    def test_none_where_pytorch_has_none(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("OPBRIDGE_CUDA_TWIN", raising=False)
        monkeypatch.setenv("CUDA_HOME", "/opt/cuda-13")
        assert ours.CUDA_HOME is None

    def forget(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for variable in ("CUDA_HOME", "CUDA_PATH"):
            monkeypatch.delenv(variable, raising=False)


def test_a_failed_build_is_what_pytorch_raises() -> None:
    with pytest.raises(RuntimeError, match="expected"):
        ours.load_inline("broken", "int f( { return 1; }", functions=[], no_implicit_headers=True)
