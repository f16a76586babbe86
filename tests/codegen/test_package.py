"""What makes a package of generated sources; test_sample.py builds one with it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from opbridge.base import floating_point
from opbridge.cli import main
from opbridge.codegen.generator import sources
from opbridge.codegen.inputs import Inputs, Wish

DECLARED = """\
- func: mine::f(Tensor x) -> Tensor
  dispatch: {PrivateUse1: f}
- func: other::g(Tensor x) -> Tensor
  dispatch: {PrivateUse1: g, CompositeExplicitAutograd: g_anywhere}
"""


def made(folder: Path) -> dict[str, str]:
    path = folder / "functions.yaml"
    path.write_text(DECLARED)
    return sources(Inputs.read([path], Wish(namespace="mine")).backend())


def test_a_python_package_for_each_namespace(tmp_path: Path) -> None:
    files = made(tmp_path)
    assert 'packages=["mine_ops", "other_ops"]' in files["setup.py"]
    for name in ("mine", "other"):
        assert "_mine.so" in files[f"python/{name}_ops/__init__.py"]


def test_it_is_compiled_as_all_kernels_are(tmp_path: Path) -> None:
    files = made(tmp_path)
    for flag in floating_point.FLAGS:
        assert flag in files["setup.py"]
        assert flag in files["CMakeLists.txt"]


def test_the_readme_says_what_is_left_to_write(sample_sources: Mapping[str, str]) -> None:
    kernels, _, functions = sample_sources["README.md"].partition("## Functions of the library")
    assert "- `sample::native::scaled_add`\n" in kernels
    assert "soft_shift" not in kernels
    assert "- `sampleSoftShift`\n" in functions


def test_the_tests_are_for_schemas_and_kernels(tmp_path: Path) -> None:
    text = made(tmp_path)["tests/test_operators.py"]
    assert "'mine::f(Tensor x) -> Tensor'" in text
    assert "('other::g', 'PrivateUse1')" in text
    assert "CompositeExplicitAutograd" not in text


def test_python_takes_what_is_python(sample_sources: Mapping[str, str]) -> None:
    for name, text in sample_sources.items():
        if name.endswith(".py"):
            compile(text, name, "exec")


def test_a_build_that_is_stale_is_found_and_a_launcher_is_its_owners(tmp_path: Path) -> None:
    path, out = tmp_path / "plugin.yaml", tmp_path / "out"
    path.write_text(
        "all_version: [v2.7]\ncustom:\n  - func: f(Tensor x) -> Tensor\n"
        "    gen_opapi: {y: {size: x, dtype: x}, exec: deviceF}\n"
    )
    command = ["codegen", str(path), "--namespace", "mine", "-o", str(out)]
    assert main(command) == 0
    (out / "Launcher.h").write_text("// mine\n")
    assert main([*command, "--check"]) == 0
    (out / "setup.py").write_text((out / "setup.py").read_text() + "\n")
    assert main([*command, "--check"]) == 1
    assert main(command) == 0
    assert main([*command, "--check"]) == 0
    assert (out / "Launcher.h").read_text() == "// mine\n"
