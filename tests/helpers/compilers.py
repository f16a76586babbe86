"""The compilers that hosts have, for tests that hold for each of them."""

from __future__ import annotations

import shutil

import pytest

needs_clang = pytest.mark.skipif(shutil.which("clang++") is None, reason="no clang++ on PATH")
COMPILERS = ("g++", pytest.param("clang++", marks=[needs_clang, pytest.mark.matrix("the same test with g++")]))
