"""An ejected ops.yaml does what it did under opbridge: the same results, gradients and errors, from one build."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from forked_python import PYTHON

from opbridge.base import floating_point
from opbridge.base.errors import ManifestError
from opbridge.build.cache import Cache, Dependencies, KeyBuilder
from opbridge.build.toolchains.torch_install import TorchInstall
from opbridge.cli import main
from opbridge.codegen.generator import ejected
from opbridge.codegen.inputs import Inputs, Wish

ROOT = Path(__file__).parents[2]
CALLS = Path(__file__).parent / "data" / "eject" / "calls.py"


FEW = {
    *("product", "scaled_add", "scaled_add_", "scaled_add.out", "fused_product", "product_backward", "sine_cosine"),
    *("pile", "attributes", "sum_present", "checks", "rms_norm", "rms_norm_backward", "normed"),
}
"""Operators with one of each: several results, lists, what is written to, errors, and each way to say a gradient."""


def calls(table: str, operators: Collection[str] | None) -> list[str]:
    """Return the names in a table of calls.py, of all calls or of those that need these operators alone."""
    text = CALLS.read_text().split(f"\n{table}: ", 1)[1].split("\n}", 1)[0]
    called = {
        name: set(re.findall(r"\bops\.(\w+)", call))
        for name, call in re.findall(r'^    "([^"]+)":(.*?)(?=^    "|\Z)', text, re.MULTILINE | re.DOTALL)
    }
    return [name for name, those in called.items() if operators is None or (those and those <= set(operators))]


def names(operators: Collection[str] | None = None) -> list[str]:
    """Return what is compared, of all operators or of these."""
    text = CALLS.read_text()
    tables = {table: calls(table, operators) for table in ("RESULTS", "ERRORS", "DERIVATIVES")}
    twice, not_linear = (
        re.findall(r'"([^"]+)"', text.split(f"\n{table} = (", 1)[1].split(")\n", 1)[0])
        for table in ("TWICE", "NOT_LINEAR")
    )
    return [
        *(f"result: {name}" for name in tables["RESULTS"]),
        *(f"error: {name}" for name in tables["ERRORS"]),
        *(f"gradient: {name}" for name in tables["DERIVATIVES"]),
        *(f"tangent: {name}" for name in tables["DERIVATIVES"] if name not in not_linear),
        *(f"second derivative: {name}" for name in twice if name in tables["DERIVATIVES"]),
    ]


def write_manifest(folder: Path, operators: Collection[str] | None = None) -> Path:
    """Write the operators of tests/kernels and of the examples, or these of them, to one file, for one build."""
    sources = [ROOT / "tests" / "kernels", ROOT / "examples" / "rms_norm", ROOT / "examples" / "lltm"]
    text = (CALLS.parent / "formulas.yaml").read_text()
    (folder / "two_numbers.cpp").write_text((CALLS.parent / "two_numbers.cpp").read_text())
    for source in sources:
        for kernel in [*source.glob("*.cpp"), *source.glob("*.h")]:
            (folder / kernel.name).write_text(kernel.read_text())
        declared = (source / "ops.yaml").read_text().split("ops:\n", 1)[1]
        text += declared.replace("examples::", "obtest::")
    entries = re.findall(r'(^  - func: "?([\w.]+)\(.*?)(?=^  - func|\Z)', text, re.MULTILINE | re.DOTALL)
    if operators is not None:
        text = "".join(entry for entry, name in entries if name in operators)
    (folder / "ops.yaml").write_text(f"namespace: obtest\nops:\n{text}")
    return folder / "ops.yaml"


def eject(path: Path) -> Mapping[str, str]:
    return ejected(Inputs.read([path], Wish()))[1].files


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    return eject(write_manifest(tmp_path_factory.mktemp("ops")))


def library(package: Mapping[str, str]) -> Path:
    """Built as setup.py would, but for one unit instead of several, which is quicker without many cores."""
    torch_install = TorchInstall.found()
    files = {name: text for name, text in package.items() if name.endswith((".cpp", ".h"))}

    def compile_into(folder: Path) -> Dependencies:
        for name, text in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
        units = "".join(f'#include "{name}"\n' for name in files if "/" not in name and name.endswith(".cpp"))
        (folder / "all.cc").write_text(units)
        shared = ["g++", "-shared", "-fPIC", "-Iinclude"]
        strict = ["-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter"]
        includes = [option for path in torch_install.include_dirs for option in ("-isystem", str(path))]
        linked = [f"-L{torch_install.lib}", "-ltorch", "-ltorch_cpu", "-lc10", f"-Wl,-rpath,{torch_install.lib}"]
        commands = [[*shared, *strict, "-std=c++20", "-O0", "-I.", *includes, "all.cc", *linked, "-o", "_obtest.so"]]
        for name, source in re.findall(r'^    "(\w+)": "(kernels/.+)",$', package["setup.py"], re.MULTILINE):
            commands.append([*shared, "-std=c++17", "-O1", source, "-o", f"{name}.so"])
        for command in commands:
            subprocess.run(command, cwd=folder, check=True)
        return Dependencies()

    key = KeyBuilder("ejected").add("torch", torch_install.version).add("recipe", Path(__file__))
    for name, text in files.items():
        key.add(name, text)
    return Cache().fetch(key.key(), compile_into).path / "_obtest.so"


def run(kind: str, what: Path, folder: Path, called: list[str]) -> dict[str, Any]:
    result = folder / f"{kind}.pt"
    subprocess.run([PYTHON, CALLS, kind, what, result, *called], check=True)
    loaded: dict[str, Any] = torch.load(result)
    return loaded


@pytest.fixture(scope="module")
def answers(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """What the calls give by opbridge and by the ejected library, of these operators or of all."""
    operators, folder = request.param, tmp_path_factory.mktemp("ops")
    manifest = write_manifest(folder, operators)
    ran = (("opbridge", manifest), ("ejected", library(eject(manifest))))
    return [run(kind, what, folder, names(operators)) for kind, what in ran]


def same(name: str, by_opbridge: dict[str, Any], by_itself: dict[str, Any]) -> None:
    if name.startswith("error"):
        assert by_itself[name] == by_opbridge[name] != "no error"
    else:
        torch.testing.assert_close(by_itself[name], by_opbridge[name], equal_nan=True)


@pytest.mark.parametrize("answers", [FEW], indirect=True, ids=["few"])
@pytest.mark.parametrize("name", names(FEW))
def test_a_few_ejected_operators_do_the_same(name: str, answers: list[dict[str, Any]]) -> None:
    same(name, *answers)


@pytest.mark.matrix("test_a_few_ejected_operators_do_the_same; this builds four times as many")
@pytest.mark.parametrize("answers", [None], indirect=True, ids=["all"])
@pytest.mark.parametrize("name", names())
def test_ejected_operators_do_the_same(name: str, answers: list[dict[str, Any]]) -> None:
    same(name, *answers)


def test_nothing_of_opbridge_is_needed_but_what_is_copied(package: Mapping[str, str]) -> None:
    included = {name for text in package.values() for name in re.findall(r"#include <(opbridge/[^>]+)>", text)}
    assert {f"include/{name}" for name in included} <= package.keys()
    assert "Apache License" in package["include/opbridge/LICENSE"]
    assert not any("import opbridge" in text for text in package.values())


def test_kernels_are_compiled_as_they_were(package: Mapping[str, str]) -> None:
    for flag in floating_point.FLAGS:
        assert flag in package["setup.py"]
        assert flag in package["CMakeLists.txt"]


def test_the_functions_of_cmath_are_those_of_kernels_in_place(package: Mapping[str, str], tmp_path: Path) -> None:
    for name, text in package.items():
        if name.startswith("include/"):
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
    assert 'str(HERE / "include" / "vector"), str(HERE / "include")' in package["setup.py"]
    assert "PRIVATE include/vector include)" in package["CMakeLists.txt"]
    source = tmp_path / "silu.cpp"
    source.write_text("#include <cmath>\nfloat silu(float x) { return x / (1 + std::exp(-x)); }\n")
    where = [f"-I{tmp_path / folder}" for folder in ("include/vector", "include")]
    compiled = tmp_path / "silu.o"
    subprocess.run(["g++", "-std=c++17", "-O3", *where, "-c", source, "-o", compiled], check=True)
    called = subprocess.run(["nm", "--undefined-only", compiled], check=True, capture_output=True, text=True).stdout
    assert "expf" not in called


def test_a_kernel_brings_along_what_it_includes(package: Mapping[str, str]) -> None:
    assert "kernels/lanes.h" in package


REFUSED = {
    "cuda: f.cu": "mine::f has no kernel for the CPU, and others are not taken over",
    "cpu: aten::relu": "mine::f is PyTorch's own aten::relu, which is not taken over",
    "cpu: libf.so:f": "mine::f is the library libf.so, which is built already, which is not taken over",
}


@pytest.mark.parametrize("kernel", REFUSED)
def test_what_is_not_taken_over_is_refused(kernel: str, tmp_path: Path) -> None:
    out = "" if "aten" in kernel else "    out: x\n"
    path = tmp_path / "ops.yaml"
    path.write_text(f"namespace: mine\nops:\n  - func: f(Tensor x) -> Tensor\n{out}    kernels: {{{kernel}}}\n")
    with pytest.raises(ManifestError) as caught:
        eject(path)
    assert REFUSED[kernel] in str(caught.value)


def test_the_command_ejects_an_ops_yaml(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = ROOT / "examples" / "rms_norm" / "ops.yaml"
    assert main(["codegen", str(path), "-o", str(tmp_path)]) == 0
    assert "wrote  Kernels.cpp" in capsys.readouterr().out
    assert (tmp_path / "kernels" / "rms_norm.cpp").exists()
    assert main(["codegen", str(path), "-o", str(tmp_path), "--check"]) == 0


def test_a_formula_is_written_for_every_device(tmp_path: Path) -> None:
    (tmp_path / "ops.yaml").write_text("namespace: m\nops: [{func: f(Tensor x) -> Tensor, formula: sin(x)}]\n")
    written = eject(tmp_path / "ops.yaml")
    for suffix, word in ((".cpp", "ob::Grid grid"), (".cu", "ob::CudaGrid grid"), (".asc", "ob::NpuGrid<2> grid")):
        assert word in written[f"kernels/f{suffix}"]
        assert "OB_KERNEL(f_backward" in written[f"kernels/f_backward{suffix}"]
    assert "include/opbridge/npu_rows.h" in written
