"""The folder that stands for CANN: a CMake project as its author wrote it builds and runs, and mistakes are told."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from opbridge.base.errors import InputError
from opbridge.twins.ascend import toolchain as ascend_twin
from opbridge.twins.ascend.cann_folder import write

PROJECT = Path(__file__).with_name("ascend_project")
LOADING = "DataCopy(loaded, from, n);"
LINE = 1 + [line.strip() for line in (PROJECT / "times.cpp").read_text().splitlines()].index(LOADING)

needs_cmake = pytest.mark.skipif(shutil.which("cmake") is None, reason="no cmake on PATH")


@pytest.fixture(scope="module")
def cann(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("cann") / "of its own")


def built(project: Path, cann: Path, folder: Path) -> Path:
    """The folder of what its author would build in a shell that has the environment of CANN."""
    commands = f"source '{cann}/set_env.sh' && cmake -S '{project}' -B . && cmake --build ."
    done = subprocess.run(["bash", "-ec", commands], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def project(cann: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(PROJECT, cann, tmp_path_factory.mktemp("build")) / "times"


def run(program: Path, mistake: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run([program, mistake], capture_output=True, text=True)


def test_without_a_compiler_only_builds_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`opbridge twin run` needs the folder for programs that compile nothing."""
    library = ascend_twin.runtime()
    monkeypatch.setattr(ascend_twin, "runtime", lambda: library)  # as a wheel of opbridge includes it
    with monkeypatch.context() as without:
        without.setenv("PATH", "")
        without.delenv("CXX", raising=False)
        cann = write(tmp_path / "cann")
    done = subprocess.run([cann / "bin" / "bisheng", "kernel.cpp"], capture_output=True, text=True)
    assert done.returncode == 127
    assert done.stderr.startswith("error: no C++ compiler")


@needs_cmake
def test_a_project_builds_and_runs(project: Path) -> None:
    done = run(project)
    assert (done.returncode, done.stdout, done.stderr) == (0, "1024 of 1024 are right\n", "")


@needs_cmake
def test_a_kernel_runs_in_the_process_of_its_host(project: Path) -> None:
    done = run(project.with_name("by_itself"))
    assert (done.returncode, done.stdout, done.stderr) == (0, "1024 of 1024 are right\n", "")


@needs_cmake
def test_a_project_of_the_language_asc_builds_and_runs(cann: Path, tmp_path: Path) -> None:
    program = built(PROJECT.with_name("ascend_language"), cann, tmp_path) / "fill"
    done = run(program)
    assert (done.returncode, done.stdout, done.stderr) == (0, "32 of 32 are right\n", "")


def test_the_compiler_of_the_folder_is_called_as_the_vendors(cann: Path, tmp_path: Path) -> None:
    kernel = (PROJECT.with_name("ascend_language") / "fill.asc").read_text().partition("int main")[0]
    launch = "void go(void* x, int value) { fill<<<4, nullptr, nullptr>>>((GM_ADDR)x, value); }\n"
    (tmp_path / "fill.cpp").write_text(kernel + launch)
    (tmp_path / "host.cpp").write_text(
        "#include <stdio.h>\nvoid go(void*, int);\n"
        'int main() { int x[32] = {}; go(x, 7); printf("%d %d\\n", x[0], x[31]); }\n'
    )
    bisheng = '"$ASCEND_HOME_PATH/bin/bisheng" --npu-arch=dav-2201 -std=c++17'
    done = subprocess.run(
        [
            *("bash", "-ec"),
            f"source '{cann}/set_env.sh'; {bisheng} -xasc -fPIC -c fill.cpp -o fill.o;"
            f"{bisheng} host.cpp fill.o -o fill -lascendcl -L '{cann}/lib64'; ./fill",
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "7 7\n", "")


@needs_cmake
@pytest.mark.parametrize(
    ("mistake", "told"),
    [
        (
            "direction",
            "aclrtMemcpy: the target is on a device, and the kind of the copy says host (error 100000 of acl)",
        ),
        ("size", "aclrtMemcpy: 4096 bytes from byte 0 on of the target, whose memory has 2048 (error 100000 of acl)"),
        ("free", "aclrtFree: not what aclrtMalloc gave, or freed before (error 100000 of acl)"),
        ("device", "aclrtSetDevice: there is no device 99; the twin has 8 (error 107001 of acl)"),
    ],
)
def test_a_call_that_fails_says_why(project: Path, mistake: str, told: str) -> None:
    done = run(project, mistake)
    assert (done.returncode, done.stderr) == (1, f"ascend-twin: {told}\n")


@needs_cmake
def test_a_host_that_reads_device_memory_is_stopped_with_a_report(project: Path) -> None:
    done = run(project, "read")
    assert done.returncode < 0
    assert "the host reads memory of the device npu:0 [host-access]" in done.stderr


@needs_cmake
def test_a_kernel_beyond_its_memory_is_reported_with_its_line(project: Path) -> None:
    done = run(project, "launch")
    assert done.returncode == 86
    assert "read of 4096 bytes out of a global tensor's bounds [out-of-bounds]" in done.stderr
    assert f"{PROJECT}/times.cpp:{LINE}, DataCopy on PIPE_MTE2, block 0" in done.stderr


@needs_cmake
@pytest.mark.skipif(shutil.which("gdb") is None, reason="no gdb on PATH")
def test_gdb_stops_in_a_kernel_and_steps_through_it(project: Path) -> None:
    commands = ("set breakpoint pending on", f"break times.cpp:{LINE}", "run", "next", "next", "info source", "kill")
    words = (word for command in commands for word in ("-ex", command))
    stepped = subprocess.run(["gdb", "-batch", *words, project], capture_output=True, text=True).stdout
    assert LOADING in stepped
    assert "in.EnQue(loaded);" in stepped
    assert f"Current source file is {PROJECT}/times.cpp" in stepped


def test_a_folder_is_left_alone_where_it_is_as_it_should_be(cann: Path) -> None:
    before = os.stat(cann).st_ino
    assert write(cann) == cann
    assert os.stat(cann).st_ino == before


def test_a_folder_of_somebody_elses_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    with pytest.raises(InputError, match="was not made by this command"):
        write(tmp_path)
    assert sorted(os.listdir(tmp_path)) == ["mine"]


def test_bisheng_finds_what_lies_beside_a_source_and_says_which_is_not_there(cann: Path, tmp_path: Path) -> None:
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "beside.h").write_text("constexpr int kTile = 64;\n")
    (tmp_path / "kernels" / "none.cpp").write_text(
        '#include "kernel_operator.h"\n#include "beside.h"\nstatic_assert(kTile == 64);\n'
        'extern "C" __global__ __aicore__ void none(GM_ADDR x) {}\n'
    )

    def bisheng(*words: str) -> tuple[int, str]:
        done = subprocess.run([cann / "bin/bisheng", *words], cwd=tmp_path, capture_output=True, text=True)
        return done.returncode, done.stderr

    language = ("-x", "asc", "--npu-arch=dav-2201")
    assert bisheng(*language, "-shared", "-fPIC", "kernels/none.cpp", "-o", "none.so") == (0, "")
    assert bisheng(*language, "-c", "no.cpp") == (1, "error: cannot read no.cpp: No such file or directory\n")
    assert bisheng(*language, "-c") == (1, "error: bisheng: no input files\n")
    code, said = bisheng(*language, "-c", "kernels/none.cpp", "-o", "kernels/beside.h/none.o")
    assert (code, "Traceback" in said, said.startswith("error: bisheng: ")) == (1, False, True)
