"""Which errors more headers could mend, on a library that is never compiled."""

from __future__ import annotations

from pathlib import Path

import pytest

from opbridge.build.toolchains.interface import InstalledLibrary, SlimHeaders
from opbridge.build.toolchains.slim_header_failures import would_fail_anyway


@pytest.fixture
def library(tmp_path: Path) -> InstalledLibrary:
    """Whose big.h has, through another header, `rest` beside what the short one has."""
    for name, text in {
        "installed/big.h": "#include <vector>\n#include <more/rest.h>\n",
        "installed/more/rest.h": "namespace big { int rest(); }\n",
        "installed/apart.h": "namespace big { int never_included(); }\n",
        "shorter/big.h": "",
    }.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    slim = SlimHeaders(tmp_path / "shorter", tmp_path / "shorter/big.h", "big.h", ("big",))
    return InstalledLibrary(tmp_path / "installed", (), slim)


@pytest.mark.parametrize(
    "error",
    [
        "call of overloaded ‘min(long int&, int)’ is ambiguous",
        "cannot convert ‘float’ to ‘float*’ in assignment",
        "too few arguments to function ‘int f(int)’",
        "‘never_included’ was not declared in this scope",
        "‘never_included’ is not a member of ‘big’",
        "use of undeclared identifier 'misspelt'",
        "‘class std::tuple<at::Tensor, at::Tensor>’ has no member named ‘values’",
        "no member named 'values' in 'std::tuple<at::Tensor, at::Tensor>'",
        "`tcgen05` of inline PTX assembly: not supported by the CUDA twin, which docs/cuda.md says more about",
        "never_there.h: No such file or directory",
        "'never_there.h' file not found",
        "#error C++17 or later compatible compiler is required to use ATen.",
    ],
)
def test_what_no_header_mends(library: InstalledLibrary, error: str) -> None:
    assert would_fail_anyway(f"a.cu:3:5: error: {error}\na.cu:9:1: error: expected ‘;’", library)


@pytest.mark.parametrize(
    "error",
    [
        "‘rest’ was not declared in this scope",
        "‘rest’ is not a member of ‘big’",
        "‘vector’ was not declared in this scope",  # of what the library's headers include
        "‘accumulate’ is not a member of ‘std’",
        "expected constructor, destructor, or type conversion before ‘(’ token",  # as of an unknown macro
        "expected ‘;’ before ‘x’\na.cu:9:1: error: ‘misspelt’ was not declared in this scope",
    ],
)
def test_what_one_may(library: InstalledLibrary, error: str) -> None:
    assert not would_fail_anyway(f"a.cu:3:5: error: {error}\n", library)


def test_a_warning_is_no_error(library: InstalledLibrary) -> None:
    assert not would_fail_anyway("a.cu:3:5: warning: cannot convert ‘float’ to ‘float*’ in assignment", library)
