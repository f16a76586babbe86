"""Make an environment of every supported PyTorch, for which the build of a wheel compiles modules.

python tools/make_environments.py FOLDER

A version of PyTorch that is not available for this Python is left out with a line.  pip's configuration selects the
package index.
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
        # It is only compiled against and never imported, so its dependencies, gigabytes of CUDA, are left out.
        if subprocess.run([*pip, "--no-deps", f"torch=={version}"]).returncode:
            print(f"no PyTorch {version} for Python {sys.version.split()[0]}")
            shutil.rmtree(environment)
        else:
            subprocess.run([*pip, "numpy", "PyYAML", "jax"], check=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
