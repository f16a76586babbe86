"""What an installed opbridge has to do on any machine with NumPy and a compiler: make a library, build it, call it."""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import opbridge as ob


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "opbridge", "new", "scaled_add"], cwd=folder, check=True)
        library = ob.load(Path(folder) / "scaled_add" / "ops.yaml")
        result = library.scaled_add(np.ones(2), np.ones(2), alpha=2.0)
    assert result.tolist() == [3, 3], result
    print(f"opbridge {ob.__version__} on Python {sys.version.split()[0]}: {result}")


if __name__ == "__main__":
    main()
