"""Wrong declarations: all errors of all files in one run, none that only follows from another, and nothing written."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opbridge.base.errors import InputError, OpbridgeError
from opbridge.cli import main
from opbridge.codegen.generator import sources
from opbridge.codegen.inputs import Inputs, Wish
from opbridge.codegen.inputs.dialect_reader import Source
from opbridge.waist.manifest import ManifestErrors

DATA = Path(__file__).parent / "data"
PLUGIN = (DATA / "op_plugin.yaml").read_bytes()


def errors_of(folder: Path, **files: str) -> list[str]:
    paths = []
    for name, text in files.items():
        paths.append(folder / f"{name}.yaml")
        paths[-1].write_text(text)
    with pytest.raises(InputError) as caught:
        sources(Inputs.read(paths, Wish(namespace="mine")).backend())
    found = caught.value.errors if isinstance(caught.value, ManifestErrors) else (caught.value,)
    return [error.message for error in found]


def test_every_phase_says_what_it_found(tmp_path: Path) -> None:
    found = errors_of(
        tmp_path,
        functions="- func: mine::f(Tensr x) -> ()\n- func: mine::g(Tensor x) -> Tensor\n  structured_delegate: g.out\n",
        plugin="all_version: [v2.7]\ncustom:\n  - func: h(Tensor x) -> Tensor\n    op_api: [v2.9, newest]\n",
        derivatives="- name: k(Tensor x) -> Tensor\n  x: grad\n",
    )
    assert [message.split("'")[0] for message in found] == [
        "unknown type ",
        "mine::g delegates to g.out, which is not declared",
        "unknown version ",
        "k has a derivative and is not declared",
    ]


def test_what_only_follows_is_left_out(tmp_path: Path) -> None:
    found = errors_of(
        tmp_path,
        plugin="all_version: [v2.7]\ncustom:\n  - func: f(Tensr x) -> Tensor\n",
        derivatives="- name: f(Tensor x) -> Tensor\n  x: grad\n",
        deprecated="deprecated:\n  - name: f\n",
    )
    assert len(found) == 1


def test_every_formula_of_an_entry_is_looked_at(tmp_path: Path) -> None:
    found = errors_of(
        tmp_path,
        functions="- func: mine::f(Tensor x, Tensor y) -> Tensor\n  dispatch: {PrivateUse1: f}\n",
        derivatives="- name: f(Tensor x, Tensor y) -> Tensor\n  x: grda\n  y: garda\n",
    )
    assert found == ["the formula names 'grda', which is not known", "the formula names 'garda', which is not known"]


def test_every_operator_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    functions = "".join(
        f"- func: mine::{name}(Tensor x) -> int\n  dispatch: {{PrivateUse1: {name}}}\n" for name in "fg"
    )
    derivatives = "".join(f"- name: {name}(Tensor x) -> int\n  x: grad\n" for name in "fg")
    found = errors_of(tmp_path, functions=functions, derivatives=derivatives)
    assert [message.split()[0] for message in found] == ["mine::f", "mine::g"]


def test_a_type_without_a_cpp_type_is_an_error_of_its_operator(tmp_path: Path) -> None:
    [message] = errors_of(tmp_path, functions="- func: mine::f(Any x) -> ()\n  dispatch: {PrivateUse1: f}\n")
    assert message == "mine::f: no C++ type is known for Any"


def test_every_file_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(ManifestErrors, match="2 errors"):
        Inputs.read([tmp_path / "a.yaml", tmp_path / "b.yaml"], Wish())


def test_nothing_is_written_where_something_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("- func: mine::f(Tensr x) -> Tensor\n")
    assert main(["codegen", str(tmp_path / "bad.yaml"), "-o", str(tmp_path / "out")]) == 2
    assert os.listdir(tmp_path) == ["bad.yaml"]


@settings(deadline=None)  # The first reads PyTorch's own list.
@given(st.integers(0, len(PLUGIN)), st.binary(max_size=3))
def test_a_damaged_file_gives_sources_or_an_error(cut: int, instead: bytes) -> None:
    """Cut off there, or with something else in its place."""
    for data in (PLUGIN[:cut], PLUGIN[:cut] + instead + PLUGIN[cut + len(instead) :]):
        with suppress(OpbridgeError):
            sources(Inputs((Source(Path("plugin.yaml"), data),), Wish(namespace="mine")).backend())
