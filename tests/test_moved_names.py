"""Names that modules had before they moved into wings: what was typed or pickled then goes on working."""

from __future__ import annotations

import json
import pickle
from importlib import import_module
from pathlib import Path

import pytest
from subprocesses import succeed

import opbridge
from opbridge._moved_names import MOVED

PACKAGE = Path(opbridge.__file__).parent
LIGHT = sorted(MOVED.keys() - {"npu", "cuda_twin"})
"""Those that may be imported into a process of tests: the others bring devices."""


@pytest.mark.parametrize("former", LIGHT)
def test_both_names_are_of_one_module(former: str) -> None:
    assert import_module(f"opbridge.{former}") is import_module(f"opbridge.{MOVED[former]}")


@pytest.mark.parametrize("former", MOVED)
def test_every_row_names_a_module_that_is_there(former: str) -> None:
    home = PACKAGE / MOVED[former].replace(".", "/")
    assert home.with_suffix(".py").is_file() or (home / "__init__.py").is_file()
    assert not (PACKAGE / former).exists()


@pytest.mark.parametrize("first", ["opbridge.compat.cpp_extension", "opbridge.authoring.compat.cpp_extension"])
def test_modules_inside_of_a_moved_package_are_imported_once_whichever_name_comes_first(first: str) -> None:
    code = (
        f"import importlib, sys; importlib.import_module({first!r})\n"
        "import opbridge.compat.cpp_extension as former, opbridge.authoring.compat.cpp_extension as now\n"
        "assert former is now\n"
        "assert former.__name__ == former.__spec__.name == 'opbridge.authoring.compat.cpp_extension'\n"
        "assert sys.modules['opbridge.compat'] is opbridge.compat"
    )
    succeed(f"import opbridge\n{code}")


def test_every_way_of_importing() -> None:
    succeed(
        "import opbridge.errors\nfrom opbridge import rules\nfrom opbridge.schema import Schema\n"
        "import opbridge.waist.rules, opbridge.waist.schema\n"
        "assert opbridge.errors is opbridge.base.errors and rules is opbridge.waist.rules\n"
        "assert Schema is opbridge.waist.schema.Schema"
    )


def test_modules_are_attributes_that_nobody_has_to_import() -> None:
    assert succeed("import opbridge as ob; print(ob.errors.CallError.__name__, ob.schema.__name__)").split() == [
        "CallError",
        "opbridge.waist.schema",
    ]


def test_pickles_made_before_load() -> None:
    from opbridge.base.errors import CallError

    assert pickle.loads(b"copbridge.errors\nCallError\n.") is CallError
    # Whoever has not moved yet reads what is pickled now.
    assert b"opbridge.errors" in pickle.dumps(CallError("no"))


def test_a_name_that_never_was_is_told_as_python_tells_it() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"^No module named 'opbridge\.never'$"):
        import_module("opbridge.never")
    with pytest.raises(ModuleNotFoundError, match=r"never"):
        import_module("opbridge.rules.never")


def test_importing_opbridge_imports_no_wing_but_the_base() -> None:
    loaded = json.loads(succeed("import json, sys, opbridge; print(json.dumps(sorted(sys.modules)))"))
    ours = {name.split(".")[1] for name in loaded if name.startswith("opbridge.")}
    assert ours == {"_moved_names", "_version", "base"}
