"""Programs in processes of their own: they may end as they like, and import what this process must not."""

from __future__ import annotations

import pickle
import subprocess
from typing import Any

from forked_python import PYTHON


def python(code: str, *arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """Runs a program as text with this Python, to its end; `options` are subprocess.run's."""
    return subprocess.run([PYTHON, "-c", code, *arguments], capture_output=True, text=True, **options)


def opened(thing: object, code: str) -> str:
    """What a program prints that has unpickled `thing` under this name."""
    unpickling = "import pickle, sys; thing = pickle.loads(bytes.fromhex(sys.stdin.read()))"
    return succeed(f"{unpickling}\n{code}", input=pickle.dumps(thing).hex())


def succeed(code: str, *arguments: str, **options: Any) -> str:
    """What a program prints that has to end well; what it says of itself where it does not."""
    done = python(code, *arguments, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
