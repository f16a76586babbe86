"""The commands for CANN's compiler, against what its public reference says; none of them has run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from opbridge.base import floating_point
from opbridge.base.errors import ToolchainError
from opbridge.build.toolchains import BuildRequest, Toolchain, bisheng, stamped_folder, toolchain_for

MakeRequest = Callable[..., BuildRequest]


@pytest.fixture
def cann(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the compiler where CANN has it."""
    home = tmp_path / "cann"
    compiler = home / "compiler" / "ccec_compiler" / "bin" / "bisheng"
    compiler.parent.mkdir(parents=True)
    compiler.write_text("#!/bin/sh\n")
    compiler.chmod(0o755)
    monkeypatch.setenv("ASCEND_HOME_PATH", str(home))
    for variable in ("ASCEND_TOOLKIT_HOME", bisheng.SOC):
        monkeypatch.delenv(variable, raising=False)
    return home


def test_the_module_is_a_toolchain() -> None:
    toolchain: Toolchain = toolchain_for("ascend")
    assert toolchain.name == "Ascend C"


def test_it_is_found_in_canns_folder_or_on_path(cann: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = str(cann / "compiler/ccec_compiler/bin/bisheng")
    assert bisheng.find() == (found,)
    monkeypatch.delenv("ASCEND_HOME_PATH")
    monkeypatch.setenv("PATH", str(Path(found).parent))
    assert bisheng.find() == (found,)


def test_where_there_is_none_the_twin_is_offered(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for variable in ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolchainError, match=r'(?s)bisheng of CANN below ASCEND_HOME_PATH.*device="ascend-twin"'):
        bisheng.find()


def test_the_folder_that_stands_for_canns_is_none(cann: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (cann / stamped_folder.MARK).touch()
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolchainError, match="no compiler for Ascend C"):
        bisheng.find()


def test_the_commands_of_a_library(cann: Path, request_for: MakeRequest) -> None:
    request = request_for("", name="add.asc", language="ascend", defines=(("N", "1"),))
    project, out = request.project, Path("/out")
    commands = bisheng.commands(request, out)
    (compiler,) = bisheng.find()
    assert [command.argv for command in commands.compiles] == [
        (
            *(
                compiler,
                "-x",
                "asc",
                "--npu-arch=dav-2201",
                "-O3",
                "-std=c++17",
                "-fPIC",
                "-fvisibility-inlines-hidden",
            ),
            *(
                "-Wno-c++11-narrowing",
                *floating_point.FLAGS,
                "-fdiagnostics-color=never",
                f"-fmacro-prefix-map={project}/=",
            ),
            *(f"-I{cann}/include", "-DN=1", "-c", f"{project}/add.asc", "-o", "/out/scratch/0.o"),
            *("-MD", "-MF", "/out/scratch/0.o.d"),
        )
    ]
    assert commands.link.argv == (
        *(compiler, "-shared", "-fPIC", "--npu-arch=dav-2201", "-Wl,--version-script=/out/scratch/exports.map"),
        *("-Wl,--dynamic-list=/out/scratch/preemptible.list", "-o", "/out/add.so", "/out/scratch/0.o"),
        *(f"-L{cann}/lib64", "-lascendcl"),
    )
    assert commands.depfiles == (Path("/out/scratch/0.o.d"),)


@pytest.mark.parametrize(
    ("chip", "architecture"),
    [
        ("Ascend910B3", "dav-2201"),
        ("Ascend910_9391", "dav-2201"),
        ("Ascend310P1", "dav-2002"),
        ("Ascend950", "dav-3510"),
    ],
)
def test_each_chip_has_its_architecture(
    cann: Path, request_for: MakeRequest, monkeypatch: pytest.MonkeyPatch, chip: str, architecture: str
) -> None:
    monkeypatch.setenv(bisheng.SOC, chip)
    (command,) = bisheng.commands(request_for("", language="ascend"), Path("/out")).compiles
    assert f"--npu-arch={architecture}" in command.argv


def test_a_chip_that_nobody_knows_is_refused(
    cann: Path, request_for: MakeRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(bisheng.SOC, "Ascend1")
    with pytest.raises(ToolchainError, match=r"names 'Ascend1', .*expected Ascend910B, Ascend910_93"):
        bisheng.commands(request_for("", language="ascend"), Path("/out"))
