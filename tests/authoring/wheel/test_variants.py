"""Which copy of the kernels a processor gets."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from opbridge.authoring.wheel.variants import processor_features, suitable, variants

X86 = "fpu cx16 lahf_lm popcnt sse4_1 sse4_2 ssse3 "
HASWELL = X86 + "abm avx avx2 bmi1 bmi2 f16c fma movbe xsave "
SKYLAKE_X = HASWELL + "avx512f avx512bw avx512cd avx512dq avx512vl"

on_x86 = pytest.mark.skipif(os.uname().machine != "x86_64", reason="the copies are those of x86-64")


@on_x86
@pytest.mark.parametrize(
    ("features", "name"),
    [
        ("", "portable"),
        (X86, "portable"),
        (HASWELL.replace("fma ", ""), "portable"),
        (HASWELL, "avx2"),
        (HASWELL + "avx512f", "avx2"),
        (SKYLAKE_X, "avx512"),
    ],
)
def test_the_fastest_that_it_can_run(features: str, name: str) -> None:
    assert suitable(frozenset(features.split()))[0].name == name


@on_x86
def test_the_levels_are_those_that_compilers_know_by_name(tmp_path: Path) -> None:
    def macros(*flags: str) -> set[str]:
        said = subprocess.run(
            ["g++", "-dM", "-E", "-xc++", *flags, "/dev/null"], capture_output=True, text=True, check=True
        )
        return {line for line in said.stdout.splitlines() if not re.search(r"__(k8|tune|REGISTER|OPTIMIZE)", line)}

    avx512, avx2, portable = variants()
    for variant, level in ((avx512, "-v4"), (avx2, "-v3"), (portable, "")):
        assert macros(*variant.flags) == macros(f"-march=x86-64{level}"), variant.name


def test_the_portable_one_runs_anywhere() -> None:
    assert suitable(frozenset())[-1] == variants()[-1]
    assert not variants()[-1].features


def test_the_features_are_those_of_the_first_processor(tmp_path: Path) -> None:
    (tmp_path / "cpuinfo").write_text("processor\t: 0\nflags\t\t: fpu avx2\n\nprocessor\t: 1\nflags\t\t: fpu\n")
    assert processor_features(tmp_path / "cpuinfo") == {"fpu", "avx2"}
    (tmp_path / "arm").write_text("processor\t: 0\nFeatures\t: fp asimd\n")
    assert processor_features(tmp_path / "arm") == {"fp", "asimd"}


def test_nothing_is_taken_for_granted_where_linux_does_not_say(tmp_path: Path) -> None:
    assert processor_features(tmp_path / "no such file") == frozenset()
    (tmp_path / "empty").write_text("")
    assert processor_features(tmp_path / "empty") == frozenset()
