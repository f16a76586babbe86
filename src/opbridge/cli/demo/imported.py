"""Import on import the frameworks that the demo shows.

If an import fails here, the processes that need the framework report why.
"""

from __future__ import annotations

import importlib
import os
from contextlib import suppress

_NAMES = "OPBRIDGE_DEMO_IMPORTS"
"""The variable by which `programs` names the packages; not a setting for users."""

for name in filter(None, os.environ.get(_NAMES, "").split(",")):
    with suppress(Exception):
        importlib.import_module(name)
