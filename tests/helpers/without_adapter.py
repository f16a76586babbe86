"""A plugin of pytest: PyTorch as it is where nothing can compile the native adapter."""

from __future__ import annotations

import pytest

import opbridge.frameworks.torch.native as native
from opbridge.base.errors import ToolchainError

_REASON = ToolchainError("no C++ compiler, as the tests have it")


def pytest_configure(config: pytest.Config) -> None:
    native.native_or_reason = lambda: _REASON  # type: ignore[assignment]
    warning = "opbridge.frameworks.torch.uncompiled.library_registration.UncompiledWarning"
    config.addinivalue_line("filterwarnings", f"ignore::{warning}")
