"""Import on import the frameworks that the demo shows.

If an import fails here, the processes that need the framework report why.
"""

from __future__ import annotations

import importlib
import os
from contextlib import suppress

for name in filter(None, os.environ.get("OPBRIDGE_DEMO_IMPORTS", "").split(",")):
    with suppress(Exception):
        importlib.import_module(name)
