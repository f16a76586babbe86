"""Makes environments of every PyTorch that opbridge supports, for a wheel's build to make ready-made modules for.

python tools/make_environments.py FOLDER

A version of PyTorch that is not to be had for this Python is left out, and a line says so.  Where packages come from,
pip's own configuration says.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import venv
from pathlib import Path

from torch_releases import RELEASES


def main(folder: Path) -> None:
    for version in RELEASES:
        environment = folder / version
        venv.create(environment, with_pip=True, clear=True)
        pip = [environment / "bin" / "python", "-m", "pip", "install", "--quiet", "--no-cache-dir"]
        # It is compiled against and never imported: without what it runs with, which is gigabytes of CUDA.
        if subprocess.run([*pip, "--no-deps", f"torch=={version}"]).returncode:
            print(f"no PyTorch {version} for Python {sys.version.split()[0]}")
            shutil.rmtree(environment)
        else:
            subprocess.run([*pip, "numpy", "PyYAML", "jax"], check=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
