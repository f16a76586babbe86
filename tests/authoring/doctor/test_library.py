"""What is said of a file that is to be loaded: real files of every kind, and the libraries of real wheels."""

from __future__ import annotations

import importlib.util
import platform
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from opbridge.authoring.doctor import examine
from opbridge.authoring.doctor.loader import cached_libraries, find_library
from opbridge.authoring.doctor.packages import how_to_get
from opbridge.authoring.doctor.processor import level_here
from opbridge.base.errors import InputError
from opbridge.build.sources.elf_image import Image

Compile = Callable[..., Path]


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"", "is empty"),
        (b"!<arch>\nlib.o", "a static library"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:1", "a pointer of Git LFS"),
        (b"#!/bin/sh\n", "a script"),
        (b"/* GNU ld script */ GROUP(x)", "a text for the linker"),
        (b"PK\x03\x04....", "a zip archive"),
        (b"<!DOCTYPE html>", "a web page"),
        (b"MZ\x90", "Windows"),
        (b"some words", "a text, not a shared library"),
        (b"\x00\x01\x02", "expected an ELF file"),
        (b"\x7fELF\x01\x01" + bytes(64), "not for a 64-bit"),
        (b"\x7fELF\x02\x01", "damaged"),
    ],
)
def test_what_is_no_library(tmp_path: Path, content: bytes, what: str) -> None:
    file = tmp_path / "file.so"
    file.write_bytes(content)
    (problem,) = examine(file).problems
    assert what in problem.what
    assert problem.cure


def test_objects_and_programs_are_no_libraries(tmp_path: Path) -> None:
    (tmp_path / "main.c").write_text("int main(void) { return 0; }\n")
    subprocess.run(["gcc", "-c", "main.c"], cwd=tmp_path, check=True)
    subprocess.run(["gcc", "main.o", "-o", "main"], cwd=tmp_path, check=True)
    assert "an object file" in examine(tmp_path / "main.o").problems[0].what
    assert "a program" in examine(tmp_path / "main").problems[0].what


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        examine(tmp_path / "none.so")
    with pytest.raises(InputError, match="is a folder"):
        examine(tmp_path)


def test_a_library_cut_short_or_for_another_machine(compile_library: Compile) -> None:
    library = compile_library('extern "C" int f() { return 1; }')
    data = library.read_bytes()
    other = library.with_name("other.so")
    other.write_bytes(data[: len(data) // 3])
    assert "cut short" in examine(other).problems[0].what
    other.write_bytes(data[:18] + (183 if platform.machine() == "x86_64" else 62).to_bytes(2, "little") + data[20:])
    assert "and this machine is" in examine(other).problems[0].what


def test_a_library_that_another_needs(
    compile_library: Compile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needed = compile_library('extern "C" int helper() { return 1; }', name="libhelper.so")
    user = 'extern "C" int helper(); extern "C" int f() { return helper(); }'
    flags = (f"-L{tmp_path}", "-lhelper")
    with_path = compile_library(user, *flags, "-Wl,-rpath,$ORIGIN", name="with_path.so")
    without = compile_library(user, *flags, name="without.so")
    assert examine(with_path).problems == []
    (problem,) = examine(without).problems
    assert problem.what == "without.so needs libhelper.so, which is not here"
    assert "LD_LIBRARY_PATH" in problem.cure
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    assert examine(without).problems == []
    needed.unlink()
    assert len(examine(with_path).problems) == 1


def test_the_older_run_path_holds_for_libraries_of_libraries(compile_library: Compile, tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    compile_library('extern "C" int low() { return 1; }', name="liblow.so").rename(tmp_path / "deep" / "liblow.so")
    middle = 'extern "C" int low(); extern "C" int mid() { return low(); }'
    compile_library(middle, f"-L{tmp_path}/deep", "-llow", name="libmid.so").rename(tmp_path / "deep" / "libmid.so")
    top = 'extern "C" int mid(); extern "C" int f() { return mid(); }'
    links = (f"-L{tmp_path}/deep", "-lmid", f"-Wl,-rpath-link,{tmp_path}/deep", "-Wl,-rpath,$ORIGIN/deep")
    assert examine(compile_library(top, *links, "-Wl,--disable-new-dtags", name="old.so")).problems == []
    (problem,) = examine(compile_library(top, *links, "-Wl,--enable-new-dtags", name="new.so")).problems
    assert problem.what == "libmid.so needs liblow.so, which is not here"


def test_a_library_of_a_newer_system(compile_library: Compile) -> None:
    library = compile_library('#include <cstdio>\nextern "C" int f() { return std::puts("x"); }')
    data = library.read_bytes()
    wanted = next(version for version in (b"GLIBC_2.2.5", b"GLIBC_2.17") if version in data)
    library.write_bytes(data.replace(wanted, b"GLIBC_9.99".ljust(len(wanted), b"9")))
    (problem,) = examine(library).problems
    assert problem.what.startswith("it was built on a newer system: it needs GLIBC_9.99")
    assert "libc.so.6, which has GLIBC_2." in problem.what


@pytest.mark.skipif(platform.machine() != "x86_64", reason="levels are x86-64's")
def test_a_library_for_another_processor(compile_library: Compile) -> None:
    source = 'extern "C" int f() { return 1; }'
    recorded = compile_library(source, "-Wl,-z,x86-64-v4", name="v4.so")
    report = examine(recorded)
    assert report.needs["CPU"] == "x86-64-v4"
    assert [problem for problem in report.problems if "it needs a processor of x86-64-v4" in problem.what] == (
        [] if level_here() == 4 else report.problems
    )
    assert examine(compile_library(source)).needs["CPU"] == "the file does not say"


def test_a_module_of_another_python(compile_library: Compile) -> None:
    source = 'extern "C" void* PyInit_made() { return 0; }'
    (problem,) = examine(compile_library(source, name="made.cpython-38-x86_64-linux-gnu.so")).problems
    assert "it is for Python 3.8, and this is Python 3." in problem.what


@pytest.mark.parametrize(
    ("library", "cure"),
    [
        ("libcudart.so.12", "pip install nvidia-cuda-runtime-cu12,"),
        ("libcudart.so.13", "pip install 'nvidia-cuda-runtime==13.*',"),
        ("libcublasLt.so.12", "pip install nvidia-cublas-cu12,"),
        ("libcufft.so.11", "pip install nvidia-cufft-cu12,"),
        ("libcudnn_ops.so.9", "pip install nvidia-cudnn-cu12 (or"),
        ("libcuda.so.1", "NVIDIA's driver"),
        ("libascendcl.so", "set_env.sh"),
        ("libtorch_cuda.so", "install a PyTorch with CUDA"),
        ("libc10.so", "pip install torch"),
        ("libpython3.9.so.1.0", "build it with this Python"),
        ("libgomp.so.1", "apt install libgomp1"),
        ("libwhatever.so.3", "LD_LIBRARY_PATH"),
    ],
)
def test_who_brings_a_missing_library(library: str, cure: str) -> None:
    assert cure in how_to_get(library)


def test_a_missing_cuda_library_is_named_with_its_wheel(compile_library: Compile, tmp_path: Path) -> None:
    runtime = compile_library('extern "C" int cudaFree(void*) { return 0; }', "-Wl,-soname,libcudart.so.11.0")
    source = 'extern "C" int cudaFree(void*); extern "C" int f() { return cudaFree(0); }'
    library = compile_library(source, runtime, name="uses_cuda.so")
    (problem,) = examine(library).problems
    assert problem.what == "uses_cuda.so needs libcudart.so.11.0, which is not here"
    assert problem.cure.startswith("pip install nvidia-cuda-runtime-cu11,")


def test_what_is_wrong_with_pytorch_is_said_though_a_library_is_missing(compile_library: Compile) -> None:
    runtime = compile_library('extern "C" int helper() { return 0; }', "-Wl,-soname,libgone.so.1")
    library = compile_library(
        'extern "C" { int helper(); int unknown(); }\nnamespace c10 { void vanished(); }\n'
        'extern "C" int f() { c10::vanished(); return helper() + unknown(); }',
        runtime,
        name="two_wrongs.so",
    )
    missing, symbols = examine(library).problems
    assert "libgone.so.1, which is not here" in missing.what
    assert symbols.details == ("c10::vanished()", "  which is not there at all")


def test_a_library_that_a_framework_brings_is_at_hand(compile_library: Compile) -> None:
    torch = importlib.util.find_spec("torch")
    assert torch is not None
    assert torch.submodule_search_locations
    c10 = Path(torch.submodule_search_locations[0], "lib", "libc10.so")
    report = examine(compile_library('extern "C" int f() { return 1; }', "-Wl,--no-as-needed", c10))
    assert report.problems == []
    assert "import torch must come before" in report.notes[0]


@pytest.fixture
def whole(compile_library: Compile) -> Path:
    source = 'extern "C" { int f_ob_signature = 1; int f() { return puts(""); } }'
    return compile_library(f"#include <cstdio>\n{source}\n")


@given(data=st.data())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_damaged_library_is_a_problem_and_no_crash(whole: Path, data: st.DataObject) -> None:
    damaged = bytearray(whole.read_bytes())
    for place in data.draw(st.lists(st.integers(0, len(damaged) - 1), min_size=1, max_size=60)):
        damaged[place] = data.draw(st.integers(0, 255))
    file = whole.with_name("damaged.so")
    file.write_bytes(damaged)
    assert examine(file).path == str(file)


def test_the_loaders_cache_knows_the_c_library(compile_library: Compile) -> None:
    image = Image(compile_library("int f() { return 1; }"))
    found = find_library("libc.so.6", image)
    assert found is not None
    assert Image(found).soname == "libc.so.6"
    assert not cached_libraries() or "libc.so.6" in cached_libraries()


@pytest.mark.parametrize(
    ("package", "library", "needs"),
    [
        ("torch", "lib/libtorch_cpu.so", ""),
        ("torch", "lib/libtorch_python.so", "import torch"),
        ("mindspore", "_c_expression.*.so", "import mindspore"),
        ("numpy", "core/_multiarray_umath.*.so", ""),
        ("opbridge", "_core.*.so", ""),
    ],
)
def test_libraries_of_wheels_that_work(package: str, library: str, needs: str) -> None:
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        pytest.skip(f"{package} is not installed")
    files = [file for home in spec.submodule_search_locations for file in Path(home).glob(library)]
    if not files:
        pytest.skip(f"this {package} has no {library}")
    report = examine(files[0])
    assert report.problems == []
    assert any(needs in note for note in report.notes) or not needs
