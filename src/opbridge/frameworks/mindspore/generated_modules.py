"""Create Python functions from text for MindSpore, whose Graph mode reads the source of what it compiles.

MindSpore finds the source of a function through its file, and its names through its module, so both must exist.
"""

from __future__ import annotations

import itertools
import sys
import weakref
from collections.abc import Mapping
from types import ModuleType

from opbridge.build.cache import Cache

_numbers = itertools.count()


def module_of(name: str, text: str, names: Mapping[str, object], owner: object) -> ModuleType:
    """Create a module from text, with `names` predefined; it is removed when its owner is."""
    path = Cache().keep(f"{name}.py", text)
    module = ModuleType(f"opbridge.frameworks.generated_{next(_numbers)}", f"Generated for {name}.")
    module.__file__ = str(path)
    vars(module).update(names)
    exec(compile(text, str(path), "exec"), vars(module))
    sys.modules[module.__name__] = module
    weakref.finalize(owner, sys.modules.pop, module.__name__, None)
    return module
