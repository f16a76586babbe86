"""The table of toolchains by language; each module is imported on first use."""

from __future__ import annotations

import importlib
from typing import cast

from opbridge.base.errors import ToolchainError, did_you_mean
from opbridge.build.toolchains.interface import Toolchain

TOOLCHAINS: dict[str, str] = {
    "c++": "opbridge.build.toolchains.host",
    "cuda": "opbridge.build.toolchains.nvcc",
    "cuda-twin": "opbridge.twins.cuda.toolchain",
    "ascend": "opbridge.build.toolchains.bisheng",
    "ascend-twin": "opbridge.twins.ascend.toolchain",
}


def toolchain_for(language: str) -> Toolchain:
    """Return the toolchain for a language.

    Raises:
        ToolchainError: No toolchain compiles this language.
    """
    if language not in TOOLCHAINS:
        raise ToolchainError(
            f"no toolchain for the language {language!r}; expected one of {', '.join(TOOLCHAINS)}. "
            f"{did_you_mean(language, TOOLCHAINS)}".rstrip(". ")
        )
    return cast(Toolchain, importlib.import_module(TOOLCHAINS[language]))
