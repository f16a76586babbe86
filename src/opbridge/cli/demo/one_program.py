"""Run a module in a folder as `python -m MODULE WORDS`, in a process that `programs.program` starts."""

from __future__ import annotations

import os
import pickle
import runpy
import sys


def main() -> None:
    """Run the program that the file with the job names."""
    with open(sys.argv[1], "rb") as file:
        sys.path[:] = pickle.load(file)
        folder, module, *words = pickle.load(file)
    os.chdir(folder)
    sys.argv[1:] = words
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
