"""The platform tag, held against auditwheel and its policies."""

from __future__ import annotations

import importlib.resources
import json
import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from opbridge.authoring.wheel.build_wheel import Made
from opbridge.authoring.wheel.platform import Needs, platform_tag
from opbridge.base.errors import KernelError


@pytest.mark.parametrize(
    ("versions", "glibc"),
    [
        ((), (2, 17)),
        (("GLIBC_2.2.5", "GLIBC_2.14"), (2, 17)),
        (("GLIBC_2.3", "GLIBC_2.29"), (2, 29)),
        (("GLIBC_2.9", "GLIBC_2.34", "GLIBC_PRIVATE"), (2, 34)),
        (("GLIBC_2.17", "GLIBC_ABI_DT_RELR"), (2, 36)),
        (("GLIBCXX_3.4.21", "CXXABI_1.3"), (2, 24)),
        (("GLIBCXX_3.4.19", "CXXABI_1.3.13"), (2, 34)),
        (("GLIBCXX_3.4.30", "GCC_3.0", "OTHER_9.9", "CXXABI_TM_1"), (2, 35)),
    ],
)
def test_the_oldest_system_that_has_it_all(versions: tuple[str, ...], glibc: tuple[int, int]) -> None:
    assert Needs((), versions).glibc == glibc


def test_a_library_that_no_distribution_can_run() -> None:
    with pytest.raises(KernelError, match=r"needs GLIBCXX 3\.4\.99, newer than any"):
        _ = Needs((), ("GLIBCXX_3.4.99",)).glibc


def test_the_tag_is_that_of_the_library_that_needs_most() -> None:
    needs = [Needs((), ("GLIBC_2.29",)), Needs((), ("GLIBC_2.31",)), Needs((), ())]
    assert platform_tag(needs) == f"manylinux_2_31_{os.uname().machine}"
    assert platform_tag([]) == "any"


def test_the_versions_of_a_real_library_are_those_that_objdump_shows() -> None:
    library = next((Path(sysconfig.get_path("purelib")) / "numpy" / "core").glob("_multiarray_umath*.so"))
    said = subprocess.run(["objdump", "-p", library], capture_output=True, text=True, check=True).stdout
    needs = Needs.of(library)
    references = said.partition("Version References:")[2]
    assert needs.versions
    assert sorted(needs.versions) == sorted(re.findall(r"0x\w+ 0x\w+ \d+ (\S+)", references))
    assert list(needs.libraries) == re.findall(r"NEEDED\s+(\S+)", said)


def test_libraries_that_a_wheel_does_not_bring() -> None:
    needs = Needs(("libc.so.6", "libstdc++.so.6", "ld-linux-x86-64.so.2", "libtorch_cpu.so", "libopenblas.so.0"), ())
    assert needs.strangers == ("libopenblas.so.0",)


def test_auditwheel_agrees(second_version: Made) -> None:
    pytest.importorskip("auditwheel")
    command = [sys.executable, "-m", "auditwheel", "show", "--disable-isa-ext-check", str(second_version.path)]
    said = " ".join(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())
    (tag,) = re.findall(r'following platform tag: "(\w+)"', said)
    ours = re.search(r"manylinux_2_(\d+)_", second_version.path.name)
    theirs = re.search(r"manylinux_2_(\d+)_", tag)
    # auditwheel knows some of the C library's versions, and names the next one.
    assert ours
    assert theirs
    assert int(ours[1]) <= int(theirs[1])


def test_the_releases_of_the_cxx_library_are_those_of_the_manylinux_policies() -> None:
    pytest.importorskip("auditwheel")
    policies = json.loads(importlib.resources.files("auditwheel.policy").joinpath("manylinux-policy.json").read_text())
    for policy in policies:
        allowed = policy["symbol_versions"].get("x86_64")
        if not allowed or policy["name"] in ("manylinux_2_5", "manylinux_2_12"):
            continue
        glibc = tuple(map(int, re.findall(r"\d+", policy["name"])))
        for library in ("GLIBCXX", "CXXABI"):
            numbered = [version for version in allowed[library] if version[0].isdigit()]
            newest = max(numbered, key=lambda version: tuple(map(int, version.split("."))))
            assert Needs((), (f"{library}_{newest}",)).glibc <= glibc, (policy["name"], library, newest)
