"""What arguments are called in kernels: neither as a macro is nor as something of the kernel's own."""

from __future__ import annotations

import re
import subprocess

import opbridge
from opbridge.build.toolchains.host import find
from opbridge.waist.formulas.printer import MACROS, own_name

HEADERS = "#include <opbridge/grid.h>\n#include <opbridge/kernel.h>\n#include <cmath>\n"


def test_no_macro_is_called_as_an_argument_is() -> None:
    include = f"-I{opbridge.include_dir()}" if hasattr(opbridge, "include_dir") else "-Isrc/opbridge/include"
    command = [*find(), "-std=gnu++17", include, "-dM", "-E", "-x", "c++", "-"]
    text = subprocess.run(command, input=HEADERS, capture_output=True, text=True, check=True).stdout
    macros = set(re.findall(r"^#define (\w+)", text, re.MULTILINE))
    assert len(macros) > 300
    assert {name for name in macros if re.fullmatch("[a-z]+[0-9]?", name)} <= MACROS
    assert not macros & {own_name(name.rstrip("_")) for name in macros}


def test_no_two_names_become_one() -> None:
    names = ["x", "x_", "x__", "x_row", "_x", "NULL", "M_PI", "double", "linux", "__linux_"]
    assert len({own_name(name) for name in names}) == len(names)
    assert all(own_name(name).endswith("_") for name in names[1:])
