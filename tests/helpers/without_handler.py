"""A plugin of pytest: JAX as it is where nothing can compile the handler."""

from __future__ import annotations

import pytest

from opbridge.base.errors import ToolchainError


def pytest_configure(config: pytest.Config) -> None:
    from opbridge.frameworks.jax import handler

    handler._missing.append(ToolchainError("no C++ compiler, as the tests have it"))
    config.addinivalue_line("filterwarnings", "ignore::opbridge.frameworks.jax.uncompiled.UncompiledWarning")
