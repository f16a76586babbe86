"""What `make demo` runs while pip still brings the frameworks works in the environment it makes."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest
from subprocesses import succeed

SCRIPT = Path(__file__).parents[2] / "tools" / "install_demo.py"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("install_demo", SCRIPT)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.real_process
def test_the_first_operator_needs_no_framework(script: ModuleType) -> None:
    loaded = "import sys; print([name for name in ('torch', 'mindspore', 'jax') if name in sys.modules])"
    first, frameworks = succeed(f"{script.FIRST}{loaded}").splitlines()
    assert "[0.  2.5 5.  7.5]" in first
    assert frameworks == "[]"


@pytest.mark.matrix("test_the_first_operator_needs_no_framework, and tests/frameworks/torch uses the adapter")
def test_the_adapter_is_where_the_demo_looks_for_it(script: ModuleType) -> None:
    """A second time, nothing is compiled, and nothing said."""
    assert succeed(f"{script.ADAPTER}{script.ADAPTER}") == ""


def test_a_step_that_fails_ends_it(script: ModuleType) -> None:
    steps = script.Steps(Path(sys.executable))
    with pytest.raises(SystemExit, match="7"):
        script.finished(steps.start("failing", "-c", "raise SystemExit(7)"))
