"""Report what a machine lacks before anything is installed, and how to install it.  Standard library only."""

import importlib.util
import os
import shutil
import sys
import sysconfig


def missing() -> list[str]:
    found = []
    if sys.version_info < (3, 10):  # noqa: UP036 - this runs before pip could refuse an old Python
        found.append(f"expected Python 3.10 or newer, got {sys.version.split()[0]}; try `make PYTHON=python3.11`")
    if importlib.util.find_spec("ensurepip") is None:
        found.append("Python cannot make virtual environments; `apt-get install python3-venv`")
    if not os.path.isfile(os.path.join(sysconfig.get_path("include"), "Python.h")):
        found.append("Python's C headers are not installed; `apt-get install python3-dev`")
    compiler = os.environ.get("CXX", "").split() or ["g++"]
    if not shutil.which(compiler[0]) and not shutil.which("clang++"):
        found.append(f"there is no C++ compiler ({compiler[0]}, clang++); `apt-get install g++`")
    return found


if __name__ == "__main__":
    problems = missing()
    for problem in problems:
        print(f"opbridge: {problem}", file=sys.stderr)
    sys.exit(3 if problems else 0)
