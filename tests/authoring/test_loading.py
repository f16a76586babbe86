"""What users do to the files and arguments of `ob.load`, `ob.inline` and `ob.aot`."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from subprocesses import succeed

import opbridge as ob
from opbridge.base.errors import CallError, OpbridgeError
from opbridge.build.cache import Cache
from opbridge.waist.manifest import OpSpec

KERNEL = """
#include <opbridge/kernel.h>
void twice(ob::In<double> x, ob::Out<double> out) { out[0] = 2 * x[0]; }
OB_KERNEL(twice)
"""
AOT = """
#include <stdexcept>
extern "C" int works(int, void** params, int*, long**, const char**, void*, void*) {
  static_cast<double*>(params[1])[0] = 2 * static_cast<double*>(params[0])[0];
  return 0;
}
extern "C" int fails(int, void**, int*, long**, const char**, void*, void*) { return 3; }
extern "C" int throws(int, void**, int*, long**, const char**, void*, void*) { throw std::runtime_error("boom"); }
extern "C" { int variable = 4; }
"""
MANIFEST = """
namespace: test_loading
ops:
  - func: twice(Tensor x) -> Tensor
    out: x
    kernels: {cpu: twice.cpp}
"""
SCHEMA = "test_loading::twice(Tensor x) -> Tensor"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "twice.cpp").write_text(KERNEL)
    (tmp_path / "ops.yaml").write_text(MANIFEST)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_kernel_that_left_the_cache_before_its_first_call_is_built_again(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As that of a process which runs for long beside others that build much."""
    monkeypatch.setenv("OPBRIDGE_CACHE_DIR", str(tmp_path / "cache"))
    lib = ob.load("ops.yaml")
    Cache().clear()
    np.testing.assert_array_equal(lib.twice(np.array([4.0])), [8.0])


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("aot") / "lib.so"
    command = ["g++", "-shared", "-fPIC", "-x", "c++", "-", "-o", str(path)]
    subprocess.run(command, input=AOT, text=True, check=True)
    return path


def doubles(op: ob.Op) -> bool:
    return bool(op(np.ones(1)) == 2)


class TestArguments:
    @pytest.mark.parametrize("value", [None, 3, b"ops.yaml", [], "", "\0", "a\0b.yaml", object()])
    @pytest.mark.parametrize("function", [ob.load, ob.aot])
    def test_a_path_is_a_path(self, function: Callable[..., Any], value: object) -> None:
        with pytest.raises(CallError, match=r"expects a path such as '.*', got "):
            function(value, schema=SCHEMA, out="x")

    @pytest.mark.parametrize("value", [None, 3, b"int x;", Path("twice.cpp"), "\udcff"])
    def test_an_inline_kernel_is_text(self, value: Any) -> None:
        with pytest.raises(CallError, match=r"expects the text of a kernel, got .*; load\(\) takes files"):
            ob.inline(value, schema=SCHEMA, out="x")

    @pytest.mark.parametrize("value", [3, b"f", [], {}])
    def test_a_schema_is_text(self, folder: Path, value: Any) -> None:
        for load in (ob.load, ob.inline):
            with pytest.raises(CallError, match=r'expected a schema such as "mylib::f'):
                load("twice.cpp", schema=value, out="x")

    @pytest.mark.parametrize(("field", "value"), [("samples", 3), ("samples", None), ("device", []), ("device", None)])
    def test_every_other_field_is_checked_too(self, folder: Path, field: str, value: Any) -> None:
        with pytest.raises(OpbridgeError, match=field):
            ob.load("twice.cpp", **{"schema": SCHEMA, "out": "x", field: value})

    def test_a_misspelled_rule_is_refused_as_python_refuses_a_keyword(self, folder: Path) -> None:
        calls: list[Callable[..., Any]] = [
            partial(ob.load, "twice.cpp", schema=SCHEMA),
            partial(ob.load, "ops.yaml"),
            partial(ob.inline, KERNEL, schema=SCHEMA),
            partial(OpSpec.create, SCHEMA, kernels={"cpu": "twice.cpp"}),
        ]
        for call in calls:
            with pytest.raises(TypeError, match=r"unexpected keyword 'flop'\n  did you mean 'flops'\?"):
                call(flop="x.numel")

    def test_a_rule_for_a_manifest_stands_in_it(self, folder: Path) -> None:
        with pytest.raises(
            CallError, match=r"load\('ops.yaml'\): schema, out belongs in the manifest, not in the call"
        ):
            ob.load("ops.yaml", schema=SCHEMA, out="x")

    def test_an_operator_may_have_a_very_long_name(self) -> None:
        name = "twice" * 60
        op = ob.inline(KERNEL.replace("twice", name), schema=f"test_loading::{name}(Tensor x) -> Tensor", out="x")
        assert doubles(op)


class TestPlaces:
    def test_any_folder_will_do(self, folder: Path) -> None:
        odd = folder / 'it\'s "an" ünï #cödé 文件夹 $HOME;' / ("long" * 50)
        shutil.copytree(folder, odd, ignore=shutil.ignore_patterns(odd.parent.name))
        assert doubles(ob.load(odd / "ops.yaml").twice)

    def test_a_file_may_be_a_link_to_anywhere(self, folder: Path) -> None:
        (folder / "links").mkdir()
        (folder / "links" / "twice.cpp").symlink_to(folder / "twice.cpp")
        assert doubles(ob.load("links/twice.cpp", schema=SCHEMA, out="x"))

    @pytest.mark.parametrize(
        ("path", "says"),
        [
            ("folder", "this is a folder; name the file in it: 'folder/ops.yaml'"),
            ("folder.cpp", "this is a folder"),
            ("folder.so:f", "folder.so is a folder; expected a file"),
            ("nowhere.cpp", "not a file, nor a link that leads to one"),
            ("twise.cpp", "no such file: .*\n  did you mean 'twice.cpp'"),
        ],
    )
    def test_what_is_no_file(self, folder: Path, path: str, says: str) -> None:
        for name in ("folder", "folder.cpp", "folder.so"):
            (folder / name).mkdir()
        (folder / "nowhere.cpp").symlink_to("missing")
        with pytest.raises(OpbridgeError, match=says):
            ob.load(path, schema=SCHEMA, out="x")

    def test_the_current_folder_may_change_after_loading(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        lib = ob.load("ops.yaml")
        monkeypatch.chdir("/")
        assert doubles(lib.twice)
        assert lib.twice.spec.root == folder

    def test_the_current_folder_may_be_gone(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (folder / "gone").mkdir()
        monkeypatch.chdir(folder / "gone")
        (folder / "gone").rmdir()
        assert doubles(ob.load(folder / "ops.yaml").twice)
        with pytest.raises(CallError, match="current folder, which was deleted"):
            ob.load("ops.yaml")


class TestFilesThatChange:
    def test_a_library_keeps_what_it_was_loaded_from(self, folder: Path) -> None:
        lib = ob.load("ops.yaml")
        (folder / "ops.yaml").write_text(MANIFEST.replace("twice(", "other("))
        assert lib.twice.spec.schema.name == "twice"
        (folder / "ops.yaml").unlink()
        (folder / "twice.cpp").unlink()
        assert doubles(lib.twice)
        assert str(lib.twice.schema) == SCHEMA


class TestAot:
    def load(self, path: Path, function: str) -> ob.Op:
        return ob.aot(f"{path}:{function}", schema=SCHEMA, out="x")

    def test_its_return_value_and_exceptions_are_errors(self, library: Path) -> None:
        assert doubles(self.load(library, "works"))
        with pytest.raises(OpbridgeError, match="kernel fails returned 3"):
            self.load(library, "fails")(np.ones(1))
        with pytest.raises(OpbridgeError, match="kernel throws threw: boom"):
            self.load(library, "throws")(np.ones(1))

    def test_its_function_is_one(self, library: Path) -> None:
        with pytest.raises(OpbridgeError, match=r"no kernel 'wroks' in lib.so\n.*did you mean 'works'\?"):
            self.load(library, "wroks")(np.ones(1))
        with pytest.raises(OpbridgeError, match=r"'variable' in lib.so is a variable; expected a function"):
            self.load(library, "variable")(np.ones(1))

    def test_a_library_may_carry_its_version(self, library: Path) -> None:
        shutil.copy(library, library.with_name("lib.so.1.2"))
        assert doubles(self.load(library.with_name("lib.so.1.2"), "works"))

    def test_a_file_cut_short_does_not_end_the_process(self, library: Path) -> None:
        short = library.with_name("short.so")
        short.write_bytes(library.read_bytes()[:3000])
        with pytest.raises(OpbridgeError, match="was cut short"):
            self.load(short, "works")


LARGE = """
import sys
from collections import Counter
from pathlib import Path
import numpy as np
import opbridge as ob
from opbridge.frameworks.dispatch import operators

def load(count):
    path = Path(f"ops{count}.yaml")
    entry = "  - {{func: f{}(Tensor x) -> Tensor, out: x, kernels: {{cpu: 'twice.cpp:twice'}}}}\\n"
    path.write_text(f"namespace: large{count}\\nops:\\n" + "".join(entry.format(i) for i in range(count)))
    return ob.load(path)

def calls(count):
    seen = Counter()
    sys.setprofile(lambda frame, event, argument: event == "call" and seen.update([frame.f_code]))
    lib = load(count)
    sys.setprofile(None)
    return {code: times for code, times in seen.items() if "opbridge" in code.co_filename}, lib

for count in (10, 100, 400):
    load(count)
few, _ = calls(100)
many, lib = calls(400)
assert not [code for code, times in many.items() if times - few.get(code, 0) >= 300], "nothing is done for each"
assert not dict(operators), "nobody has asked for an operator"

assert lib.f7 is lib["f7"] is operators["large400::f7"] is list(lib)[7]
assert lib.f399(np.ones(1)).tolist() == [2]
assert {f"f{i}" for i in range(400)} < set(dir(lib)) and len(lib) == 400 and "f400" not in lib
assert not hasattr(lib, "f400") and "large400::f399" in operators and "large100::f99" in operators
assert repr(operators["large100::f99"]) == "<Op large100::f99(Tensor x) -> Tensor>"
"""


def test_a_large_library_makes_the_operators_that_are_asked_for(folder: Path) -> None:
    succeed(LARGE)
