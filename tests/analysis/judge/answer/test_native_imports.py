"""Native libraries that an answer may not load, by what they need from others."""

from __future__ import annotations

import _ctypes
import _json
from pathlib import Path

import pytest

from opbridge.analysis.judge.answer.native_imports import RefusedCodeError, check_imports


def test_a_library_that_looks_for_functions_is_refused() -> None:
    with pytest.raises(RefusedCodeError, match=r"calls dl\w+, dl\w+, dl\w+, which reaches what records it"):
        check_imports(_ctypes.__file__)


def test_an_answer_for_an_npu_finds_its_operators_by_name() -> None:
    with pytest.raises(RefusedCodeError, match="calls dlclose, which"):
        check_imports(_ctypes.__file__, may_find_by_name=True)


def test_what_computes_or_is_no_library_is_left_to_the_loader(tmp_path: Path) -> None:
    check_imports(_json.__file__)
    (tmp_path / "text.so").write_text("no library")
    check_imports(str(tmp_path / "text.so"))
    check_imports(str(tmp_path / "missing.so"))
