"""Conversion tries operators in processes of its own, as the scan does."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="module", autouse=True)
def _forked(forked_trials: None) -> None:
    """Start those processes as forks."""
