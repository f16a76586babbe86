"""opbridge new: create a small library that builds and passes its tests, as a starting point."""

from __future__ import annotations

import argparse
import keyword
import re
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from opbridge.base.errors import InputError
from opbridge.base.names import is_cpp_name
from opbridge.waist.manifest import Manifest

_TEMPLATES = Path(__file__).with_name("templates")
_CHOICES = {
    "formula": "a formula, with generated kernels and gradient (default)",
    "cpp": "a C++ kernel, forward and gradient",
    "cuda": "the same in CUDA, which runs on a GPU, or checked on the CPU",
    "cuda-program": "a first CUDA program, with a bug that is found without a GPU",
    "ascend": "the same in Ascend C, which runs on an NPU, or checked on the CPU",
    "aten": "a PyTorch operator for the other frameworks",
    "torch-extension": "a PyTorch extension with its gradient, built on import",
}
_NAME = re.compile(r"[a-z][a-z0-9_]*")
# The word NAME, but not in TORCH_EXTENSION_NAME.
_PLACEHOLDER = re.compile("(?<![A-Z]_)NAME")
_OURS = ("main", "ob", "std")
"""Names that the templates' C++ code already uses."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `opbridge new`."""
    parser.add_argument(
        "name", metavar="NAME", help="the name of the operator and of its folder, in lower case, as in scaled_add"
    )
    parser.add_argument(
        "--template",
        choices=_CHOICES,
        default="formula",
        help="; ".join(f"{name}: {text}" for name, text in _CHOICES.items()),
    )


def run(options: argparse.Namespace) -> int:
    """Create a library from a template, and print its files and the next step; return 0."""
    files = _render(options.name, _TEMPLATES / options.template)
    folder = Path(options.name)
    _write(folder, files)
    for name in files:
        print(folder / name)
    print(f"next: cd {folder} && {_first_step(files)}")
    return 0


def _first_step(files: Mapping[str, str]) -> str:
    if "Makefile" in files:
        return "make run"
    # The tests of a template need pytest, which opbridge does not install.
    steps = ["opbridge build ops.yaml"] * ("ops.yaml" in files) + ["pip install pytest"] * (find_spec("pytest") is None)
    return " && ".join([*steps, "python -m pytest"])


def _render(name: str, template: Path) -> Mapping[str, str]:
    if not _NAME.fullmatch(name) or not is_cpp_name(name) or name in _OURS or keyword.iskeyword(name):
        hint = "use a lower-case letter, then letters, digits and underscores; no keyword of C++ or Python"
        raise InputError(f"'{name}' cannot be the name of an operator", hint=hint)
    files = {
        _PLACEHOLDER.sub(name, path.name.removesuffix(".in")): _PLACEHOLDER.sub(name, path.read_text(encoding="utf-8"))
        for path in sorted(template.glob("*.in"))
    }
    # Reject a name that PyTorch reserves before writing anything.
    Manifest.parse(files.get("ops.yaml", f"namespace: {name}\nops: []\n"))
    return files


def _write(folder: Path, files: Mapping[str, str]) -> None:
    try:
        folder.mkdir()
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
    except FileExistsError:
        raise InputError(f"{folder} exists already", hint="choose another name, or remove it") from None
    except OSError as error:
        raise InputError(f"cannot write {folder}: {error.strerror}") from None
