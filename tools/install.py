"""Install packages into an environment: by uv where it would take the same wheels as pip, else by pip.

    python tools/install.py ENVIRONMENT ARGUMENT...

The arguments are those of `pip install`.  uv is several times faster, but does not read the configuration of pip, where
a site names its index, its wheels and its constraints.  Nothing is byte-compiled: most modules are never imported, and
Python keeps what it compiles of the others.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

_CHOOSES_WHEELS = ("index-url", "find-links", "constraint", "no-index", "only-binary", "no-binary", "prefer-binary")


def command(python: Path, uv: str | None, configuration: str, arguments: list[str]) -> list[str]:
    """Return the command that installs; `configuration` is what `pip config list` prints."""
    if uv and not any(name in configuration for name in _CHOOSES_WHEELS):
        return [uv, "pip", "install", "--quiet", "--python", str(python), *arguments]
    return [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile", *arguments]


def main(environment: str, *arguments: str) -> int:
    """Install, and return the exit status."""
    python = Path(environment, "bin", "python").absolute()
    listed = subprocess.run([python, "-m", "pip", "config", "list"], capture_output=True, text=True, check=True)
    return subprocess.call(command(python, shutil.which("uv"), listed.stdout, list(arguments)))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
