"""Build the PyTorch adapters that a wheel includes: one for each environment that the author names by its Python."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from opbridge.base.errors import InputError, ToolchainError
from opbridge.build.cache import Cache
from opbridge.build.toolchains.torch_install import TorchInstall
from opbridge.frameworks.torch.native import Interpreter, build_adapter, prebuilt_name

_QUESTION = """
import importlib.util, json, os, sysconfig
torch = importlib.util.find_spec("torch")
print(json.dumps([
    sysconfig.get_path("include"), sysconfig.get_config_var("EXT_SUFFIX"), torch and os.path.dirname(torch.origin)
]))
"""


def build_for(python: str, cache: Cache) -> tuple[str, Path]:
    """Build the adapter for an interpreter and its PyTorch; return its file name in the wheel and the library.

    Raises:
        InputError: The interpreter does not run or has no PyTorch.
        ToolchainError: The C headers of the interpreter are missing.
    """
    headers, suffix, torch = _asked(python)
    if torch is None:
        raise InputError(f"{python} has no PyTorch to make an adapter for", hint=f"{python} -m pip install torch")
    if not (Path(headers) / "Python.h").is_file():
        raise ToolchainError(f"expected the C headers of {python} in {headers}; a python3-dev package has them")
    install = TorchInstall.at(Path(torch))
    library = build_adapter(install, cache, python=Interpreter(Path(headers), suffix))
    return prebuilt_name(install, suffix), library


def _asked(python: str) -> tuple[str, str, str | None]:
    try:
        # Isolated: the current folder may hold a file called torch.py.
        answer = subprocess.run([python, "-I", "-c", _QUESTION], capture_output=True, text=True)
    except OSError as error:
        raise InputError(f"cannot run {python}: {error.strerror}", hint="name a Python, as in env/bin/python") from None
    try:
        headers, suffix, torch = json.loads(answer.stdout)
    except ValueError:
        said = answer.stderr.strip() or f"it exits with {answer.returncode}"
        raise InputError(f"{python} does not work as a Python does: {said}") from None
    return headers, suffix, torch
