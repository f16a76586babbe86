"""`make setup` installs by uv only where uv takes the wheels that pip would take."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "tools" / "install.py"
PYTHON = Path("environment/bin/python")
spec = importlib.util.spec_from_file_location("install", SCRIPT)
assert spec
assert spec.loader
install = importlib.util.module_from_spec(spec)
spec.loader.exec_module(install)


def test_uv_installs_where_pip_has_no_configuration_of_its_own() -> None:
    assert install.command(PYTHON, "/usr/bin/uv", "global.timeout='60'\n", ["torch"])[:3] == [
        *("/usr/bin/uv", "pip", "install")
    ]


@pytest.mark.parametrize("line", ["global.index-url='…'", ":env:.find-links='/wheels'", "global.constraint='c.txt'"])
def test_pip_installs_where_its_configuration_chooses_wheels(line: str) -> None:
    assert install.command(PYTHON, "/usr/bin/uv", f"{line}\n", ["torch"])[:3] == [str(PYTHON), "-m", "pip"]


def test_pip_installs_where_there_is_no_uv() -> None:
    assert install.command(PYTHON, None, "", ["torch"])[-1] == "torch"
