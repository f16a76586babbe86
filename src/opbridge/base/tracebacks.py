"""Tracebacks that show users their own code without the frames of opbridge.

Notebooks (by IPython) and pytest can be told to omit frames.  Plain Python cannot, so the functions that users call
(`errors.for_users`) drop the frames below them from the traceback itself.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from types import ModuleType, TracebackType
from typing import Any

FULL = "OPBRIDGE_TRACEBACK"
"""The environment variable that keeps all frames if it is "full"."""
_PACKAGE = os.path.dirname(os.path.dirname(__file__))
_HIDDEN = "__tracebackhide__"
"""The module attribute by which pytest decides whether to omit its frames: a bool or a function."""
_modules_seen = 0


def rendered(error: BaseException) -> list[str]:
    """Return the error as IPython shows it, with the user's frames alone."""
    shell: Any = sys.modules["IPython"].get_ipython()
    lines: list[str] = shell.InteractiveTB.structured_traceback(type(error), error, users_part(error.__traceback__))
    return lines


def users_part(traceback: TracebackType | None) -> TracebackType | None:
    """Return the traceback without the frames of opbridge and of the libraries that it called."""
    frames: list[TracebackType] = []
    entered = False
    while traceback is not None:
        file = traceback.tb_frame.f_code.co_filename
        ours = file.startswith(_PACKAGE + os.sep)
        entered = entered or ours
        if not ours and not (entered and _is_librarys(file)):
            frames.append(traceback)
        traceback = traceback.tb_next
    kept: TracebackType | None = None
    for frame in reversed(frames):
        kept = TracebackType(kept, frame.tb_frame, frame.tb_lasti, frame.tb_lineno)
    return kept


def hide_from_pytest(kind: type[BaseException]) -> None:
    """Make pytest omit opbridge frames for errors of this kind; repeated calls are cheap."""
    global _modules_seen
    if "_pytest" not in sys.modules or len(sys.modules) == _modules_seen:
        return
    _modules_seen = len(sys.modules)

    def hidden(info: Any) -> bool:
        return info is not None and isinstance(info.value, kind)

    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "opbridge" and isinstance(module, ModuleType):
            vars(module).setdefault(_HIDDEN, hidden)


def _is_librarys(file: str) -> bool:
    folders = {sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")}
    return file.startswith(("<frozen", *(f"{folder}{os.sep}" for folder in folders)))
