"""Makes environments of every PyTorch that opbridge supports, for a wheel's build to make ready-made modules for.

python tools/make_environments.py FOLDER

A version of PyTorch that is not to be had for this Python is left out, and a line says so.  Where packages come from,
pip's own configuration says: an index of PyTorch's builds for the CPU saves gigabytes.
"""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

VERSIONS = ("2.10.0", "2.11.0", "2.12.1", "2.13.0")


def main(folder: Path) -> None:
    for version in VERSIONS:
        environment = folder / version
        venv.create(environment, with_pip=True, clear=True)
        pip = [environment / "bin" / "python", "-m", "pip", "install", "--quiet"]
        if subprocess.run([*pip, f"torch=={version}", "numpy", "PyYAML", "jax"]).returncode:
            print(f"no PyTorch {version} for Python {sys.version.split()[0]}")
            venv.create(environment, clear=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
