"""Each command on real files, with the real compiler."""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from forked_python import PYTHON
from subprocesses import python

from opbridge.waist.manifest import Manifest

Opbridge = Callable[..., subprocess.CompletedProcess[str]]

KERNEL = """\
#include <opbridge/kernel.h>
template <class T>
void twice(ob::In<T> x, ob::Out<T> out) {
  ob::parallel_for(out.numel(), [&](int64_t i) { out[i] = x[i] + x[i]; });
}
OB_KERNEL(twice, float, double)
extern "C" int plain(int, void**, int*, int64_t**, const char**, void*, void*) { return 7; }
"""
MANIFEST = """\
namespace: m
ops:
  - {func: twice(Tensor x) -> Tensor, out: x, kernels: {cpu: src/twice.cpp, npu: src/twice_npu.cpp}}
  - {func: plain(Tensor x) -> Tensor, out: x, kernels: {cpu: src/twice.cpp:plain}}
  - {func: relu(Tensor x) -> Tensor, kernels: {cpu: aten::relu}}
  - {func: other(Tensor x) -> Tensor, out: x, kernels: {cpu: other.cpp}}
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "src").mkdir()
    (tmp_path / "ops.yaml").write_text(MANIFEST)
    (tmp_path / "src" / "twice.cpp").write_text(KERNEL)
    (tmp_path / "src" / "twice_npu.cpp").write_text("")
    (tmp_path / "other.cpp").write_text(KERNEL.replace("twice", "other"))
    return tmp_path


def lines(result: subprocess.CompletedProcess[str]) -> dict[str, str]:
    assert result.returncode == 0, result.stderr
    return dict(line.split("  ", 1) for line in result.stdout.splitlines() if "  " in line)


# --- build


def test_build_builds_each_file_once_and_remembers(project: Path, opbridge: Opbridge) -> None:
    first = lines(opbridge("build", "ops.yaml"))
    assert first["src/twice.cpp"].startswith("built ")
    assert first["other.cpp"].startswith("built ")
    assert first["src/twice_npu.cpp"].startswith("left out: no compiler for Ascend C")
    second = opbridge("build", "ops.yaml")
    assert lines(second)["src/twice.cpp"] == lines(second)["other.cpp"] == "cached"
    assert "2 of 3 kernel files ready" in second.stdout


def test_build_puts_portable_libraries_where_told(project: Path, opbridge: Opbridge) -> None:
    assert "ready in lib" in opbridge("build", "ops.yaml", "-o", "lib").stdout
    built = {path.relative_to(project / "lib").as_posix() for path in (project / "lib").rglob("*") if path.is_file()}
    assert built == {"src/twice_cpu.so", "other_cpu.so"}
    assert ctypes.CDLL(str(project / "lib/src/twice_cpu.so")).plain() == 7


def test_build_without_a_compiler_is_an_error(project: Path, opbridge: Opbridge) -> None:
    for arguments in ([], ["--device", "cpu"]):
        refused = opbridge("build", "ops.yaml", *arguments, PATH="", CXX="")
        assert (refused.returncode, refused.stdout) == (3, "")
        assert "no C++ compiler" in refused.stderr
        assert "sudo apt install g++" in refused.stderr
    only_npu = MANIFEST[: MANIFEST.index("ops:")] + "ops:\n  - func: twice(Tensor x) -> Tensor\n    out: x\n"
    (project / "ops.yaml").write_text(only_npu + "    kernels: {npu: src/twice_npu.cpp}\n")
    refused = opbridge("build", "ops.yaml", PATH="", ASCEND_HOME_PATH="")
    assert (refused.returncode, refused.stdout) == (3, "")
    assert "no compiler for Ascend C" in refused.stderr


def test_loading_finds_what_build_built(project: Path, opbridge: Opbridge, cache_folder: Path) -> None:
    # An operator of PyTorch's would have its adapter compiled, which build leaves to where PyTorch is.
    compiled = "".join(line for line in MANIFEST.splitlines(keepends=True) if "aten::" not in line)
    (project / "ops.yaml").write_text(compiled)
    assert opbridge("build", "ops.yaml").returncode == 0
    code = "import logging; logging.basicConfig(level='INFO'); import opbridge; opbridge.load('ops.yaml')"
    environment = {**os.environ, "OPBRIDGE_CACHE_DIR": str(cache_folder)}
    loading = python(code, cwd=project, env=environment)
    assert (loading.returncode, loading.stderr) == (0, "")


def test_build_takes_libraries_as_they_are(project: Path, opbridge: Opbridge) -> None:
    (project / "ready.so").write_bytes(b"a library")
    (project / "ops.yaml").write_text(MANIFEST.replace("other.cpp", "ready.so:other"))
    assert lines(opbridge("build", "ops.yaml", "-o", "lib"))["ready.so"] == "as it is"
    assert (project / "lib" / "ready.so").read_bytes() == b"a library"


def test_build_reports_all_that_fails_with_3(project: Path, opbridge: Opbridge) -> None:
    for name in ("src/twice.cpp", "other.cpp"):
        (project / name).write_text(KERNEL.replace("x[i] + x[i]", "x[i] + y[i]"))
    result = opbridge("build", "ops.yaml")
    assert result.returncode == 3
    assert "twice.cpp:4:" in result.stderr
    assert "other.cpp:4:" in result.stderr


def test_build_says_which_compiler_a_device_needs(project: Path, opbridge: Opbridge) -> None:
    result = opbridge("build", "ops.yaml", "--device", "npu", PATH="", ASCEND_HOME_PATH="")
    assert result.returncode == 3
    assert "no compiler for Ascend C: expected bisheng of CANN below ASCEND_HOME_PATH" in result.stderr
    assert 'device="ascend-twin"' in result.stderr


@pytest.mark.parametrize(
    ("old", "new", "arguments", "words"),
    [
        ("other.cpp", "othr.cpp", [], "did you mean 'other.cpp'?"),
        ("", "", ["--device", "cuda"], "no kernel files for cuda"),
        ("other.cpp", "src/twice.cc", ["-o", "lib"], "would both become src/twice_cpu.so"),
    ],
)
def test_build_refuses(project: Path, opbridge: Opbridge, old: str, new: str, arguments: list[str], words: str) -> None:
    (project / "src" / "twice.cc").touch()
    (project / "ops.yaml").write_text(MANIFEST.replace(old, new) if old else MANIFEST)
    result = opbridge("build", "ops.yaml", *arguments)
    assert result.returncode == 2
    assert words in result.stderr


# --- compile


def test_compile_writes_a_library_that_runs_without_opbridge(project: Path, opbridge: Opbridge) -> None:
    result = opbridge("compile", "src/twice.cpp", "out/twice.so")
    assert result.returncode == 0, result.stderr
    assert "twice  (In<T>, Out<T>) for float32, float64" in result.stdout
    library = ctypes.CDLL(str(project / "out/twice.so"))
    x, out = (ctypes.c_float * 3)(1, 2, 3), (ctypes.c_float * 3)()
    shape = (ctypes.c_int64 * 1)(3)
    code = library.twice(
        2,
        (ctypes.c_void_p * 2)(ctypes.addressof(x), ctypes.addressof(out)),
        (ctypes.c_int * 2)(1, 1),
        (ctypes.c_void_p * 2)(ctypes.addressof(shape), ctypes.addressof(shape)),
        (ctypes.c_char_p * 2)(b"float32", b"float32"),
        None,
        None,
    )
    assert code == 0
    assert list(out) == [2, 4, 6]


def test_compile_replaces_its_output_in_one_step(project: Path, opbridge: Opbridge) -> None:
    (project / "twice.so").write_text("old")
    with open(project / "twice.so") as old:
        opbridge("compile", "src/twice.cpp", "twice.so")
        assert old.read() == "old"
    assert (project / "twice.so").read_bytes().startswith(b"\x7fELF")
    assert [path.name for path in project.iterdir() if path.name.startswith(".")] == []


def test_compile_leaves_the_old_output_when_it_fails(project: Path, opbridge: Opbridge) -> None:
    (project / "twice.so").write_text("old")
    (project / "src/twice.cpp").write_text("int x")
    assert opbridge("compile", "src/twice.cpp", "twice.so").returncode == 3
    (project / "src/twice.cpp").write_text("static int x; int use() { return x; }")
    result = opbridge("compile", "src/twice.cpp", "twice.so")
    assert (result.returncode, "exports no kernel" in result.stderr) == (2, True)
    assert (project / "twice.so").read_text() == "old"


def test_compile_refuses_to_write_over_a_source(project: Path, opbridge: Opbridge) -> None:
    result = opbridge("compile", "src/twice.cpp", "src/twice.cpp")
    assert (result.returncode, (project / "src/twice.cpp").read_text()) == (2, KERNEL)


# --- cache


def test_cache_lists_trims_and_clears(project: Path, opbridge: Opbridge, tmp_path: Path) -> None:
    cache = {"OPBRIDGE_CACHE_DIR": str(tmp_path / "own")}
    assert opbridge("build", "ops.yaml", **cache).returncode == 0
    listed = opbridge("cache", "ls", **cache).stdout
    assert "twice.so" in listed
    assert "other.so" in listed
    entries = json.loads(opbridge("cache", "ls", "--json", **cache).stdout)["entries"]
    assert {"twice.so", "other.so"} <= {file for entry in entries for file in entry["files"]}
    assert "removed 0 entries" in opbridge("cache", "gc", **cache).stdout
    assert "twice.so" in opbridge("cache", "ls", **cache).stdout
    assert "0 B left" in opbridge("cache", "clear", **cache).stdout
    assert opbridge("cache", "ls", **cache).stdout == f"0 B in {tmp_path / 'own'}\n"


def test_a_key_is_made_once_and_shown_again(opbridge: Opbridge, tmp_path: Path) -> None:
    made, shown = (opbridge("cache", "key", "ci.key") for _ in range(2))
    assert made.returncode == 0, made.stderr
    assert made.stdout == shown.stdout
    assert "export OPBRIDGE_SHARED_CACHE_KEYS=ed25519:" in made.stdout
    assert (tmp_path / "ci.key").stat().st_mode & 0o777 == 0o600
    for wrong in (("key",), ("ls", "ci.key")):
        assert "expected one of: ls, gc, clear, key FILE, log KEY" in opbridge("cache", *wrong).stderr


# --- new

BUILT_ABOVE = pytest.mark.matrix("the library is built above, and its tests run for two other templates")


@pytest.mark.parametrize(
    ("template", "kernels"),
    [("formula", []), ("cpp", ["mine.cpp"]), ("cuda", ["mine.cu"]), ("ascend", ["mine.cpp"]), ("aten", [])],
)
def test_new_writes_a_library_that_builds_and_lints_clean(
    template: str, kernels: list[str], opbridge: Opbridge, tmp_path: Path
) -> None:
    assert opbridge("new", "mine", "--template", template).returncode == 0
    folder = tmp_path / "mine"
    assert sorted(os.listdir(folder)) == ["README.md", *kernels, "ops.yaml", "test_mine.py"]
    declared = [op for op in Manifest.load(folder / "ops.yaml").ops if not op.is_derived]
    assert [op.schema.qualified_name for op in declared] == ["mine::mine"]
    flags = "" if template in ("cuda", "ascend") else "-Wextra -Werror"  # else they would be flags of the twins, too
    assert opbridge("build", folder / "ops.yaml", CXXFLAGS=flags).returncode == 0
    for check in (["check"], ["format", "--check"]):
        linted = subprocess.run(
            [sys.executable, "-m", "ruff", *check, "--isolated", "."], cwd=folder, capture_output=True, text=True
        )
        assert linted.returncode == 0, linted.stdout


WITHOUT_TORCH = """
class NoTorch:
    def find_spec(self, name, path=None, target=None):
        if name == "torch":
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, NoTorch())
"""


@pytest.mark.parametrize(
    ("template", "before", "outcome"),
    [
        ("formula", "", "2 passed"),
        ("cpp", WITHOUT_TORCH, "1 passed, 1 skipped"),
        pytest.param("cpp", "", "2 passed", marks=BUILT_ABOVE),
        pytest.param("cuda", WITHOUT_TORCH, "1 passed, 1 skipped", marks=BUILT_ABOVE),
        pytest.param("cuda", "", "2 passed", marks=BUILT_ABOVE),
        pytest.param("ascend", "", "6 passed", marks=BUILT_ABOVE),
        pytest.param("aten", "", "2 passed", marks=BUILT_ABOVE),
    ],
)
def test_a_new_library_passes_its_tests_with_numpy_alone_and_with_torch(
    template: str, before: str, outcome: str, opbridge: Opbridge, tmp_path: Path
) -> None:
    assert opbridge("new", "scaled_add", "--template", template).returncode == 0
    code = f"import sys, pytest\n{before}\npytest.main(['-q', '-p', 'no:cacheprovider'])"
    # In the user's own cache, for the adapter to PyTorch takes a while to build.
    tested = python(code, cwd=tmp_path / "scaled_add")
    assert outcome in tested.stdout, tested.stdout


@pytest.mark.matrix("tests/authoring/test_extensions.py builds extensions, and the templates above are linted")
def test_a_new_extension_lints_clean_and_passes_its_tests(opbridge: Opbridge, tmp_path: Path) -> None:
    made = opbridge("new", "gate", "--template", "torch-extension")
    assert made.stdout.endswith("next: cd gate && python -m pytest\n"), made.stderr
    folder = tmp_path / "gate"
    for check in (["check"], ["format", "--check"]):
        subprocess.run([sys.executable, "-m", "ruff", *check, "--isolated", "."], cwd=folder, check=True)
    # In the user's own cache, which has PyTorch's headers precompiled.
    tested = subprocess.run(
        [PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider"], cwd=folder, capture_output=True, text=True
    )
    assert "2 passed" in tested.stdout, tested.stdout


@pytest.mark.real_process  # in which the command has not been imported
def test_where_there_is_no_pytest_the_next_step_is_to_have_it(tmp_path: Path) -> None:
    program = (
        "import importlib.util, sys\n"
        "found = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda name: None if name == 'pytest' else found(name)\n"
        "from opbridge.cli import main\n"
        "sys.exit(main(['new', 'gate']))\n"
    )
    made = subprocess.run([PYTHON, "-c", program], cwd=tmp_path, capture_output=True, text=True)
    steps = "cd gate && opbridge build ops.yaml && pip install pytest && python -m pytest"
    assert made.stdout.endswith(f"next: {steps}\n"), made.stderr


@pytest.mark.matrix("tests/twins/cuda/test_learning.py runs such programs")
def test_a_new_program_has_a_mistake_that_its_report_tells_how_to_mend(opbridge: Opbridge, tmp_path: Path) -> None:
    made = opbridge("new", "first", "--template", "cuda-program")
    assert made.stdout.endswith("next: cd first && make run\n"), made.stderr
    folder = tmp_path / "first"
    # In the user's own cache, which has the twin's library.
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"

    def run() -> subprocess.CompletedProcess[str]:
        variables = {**os.environ, "PATH": path}
        return subprocess.run(["make", "run"], cwd=folder, env=variables, capture_output=True, text=True)

    found = run()
    assert found.returncode != 0
    assert "first.cu:6, thread (232, 0, 0) of block (3, 0, 0)" in found.stderr
    source = folder / "first.cu"
    source.write_text(source.read_text().replace("i <= n", "i < n"))
    mended = run()
    assert (mended.returncode, mended.stderr) == (0, "")
    assert mended.stdout.endswith("the square of 999 is 998001\n")


def test_a_new_library_is_a_formula_where_nothing_else_is_asked_for(opbridge: Opbridge, tmp_path: Path) -> None:
    opbridge("new", "mine")
    assert "    formula: x + alpha * y\n" in (tmp_path / "mine" / "ops.yaml").read_text()
    built = opbridge("build", tmp_path / "mine" / "ops.yaml", PATH="/usr/bin:/bin")
    assert "2 of 2 kernel files ready" in built.stdout  # those for a GPU wait for one


def test_new_never_overwrites(opbridge: Opbridge, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    result = opbridge("new", "mine")
    assert (result.returncode, list((tmp_path / "mine").iterdir())) == (2, [])
    assert "mine exists already" in result.stderr


@pytest.mark.parametrize("name", ["Scaled", "2x", "a-b", "../up", "", "aten", "class", "double", "def", "a b", "std"])
def test_new_refuses_names_that_would_not_work(name: str, opbridge: Opbridge, tmp_path: Path) -> None:
    result = opbridge("new", name)
    assert result.returncode == 2
    assert list(tmp_path.iterdir()) == []
