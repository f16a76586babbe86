"""The arguments and checks shared by commands that work on a manifest's operators."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import opbridge as ob
from opbridge.authoring.loading import MANIFEST_SUFFIXES
from opbridge.base.errors import InputError
from opbridge.frameworks import FRAMEWORKS
from opbridge.waist.manifest.kernel_origins import DEVICES, TWINS
from opbridge.waist.op import Op, OpLibrary


class _Manifest(argparse.Action):
    """Parse `ops.yaml:NAME` as `ops.yaml --op NAME`."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option: str | None = None
    ) -> None:
        manifest, name = manifest_and_operator(values)
        namespace.manifest = manifest
        if name:
            namespace.op = [*(namespace.op or ()), name]


def manifest_and_operator(text: str) -> tuple[Path, str]:
    """Split `ops.yaml:NAME`; the name is empty if there is none."""
    path, _, name = text.partition(":")
    return (Path(path), name) if Path(path).suffix in MANIFEST_SUFFIXES else (Path(text), "")


def add_selection(parser: argparse.ArgumentParser, done: str, by_default: str | None = None) -> None:
    """Add the arguments that select a manifest, its operators, frameworks and a device.

    `done` is the participle for the help texts, for example "checked". `by_default` makes the manifest optional.
    """
    parser.add_argument(
        "manifest",
        action=_Manifest,
        nargs="?" if by_default else None,
        default=by_default,
        metavar="ops.yaml[:NAME]",
        help=f"the manifest whose operators are {done}, or one of them",
    )
    parser.add_argument("--op", action="append", metavar="NAME", help="only this operator; may be repeated")
    parser.add_argument(
        "--framework",
        action="append",
        choices=tuple(FRAMEWORKS),
        help="only this framework (default: all that are installed)",
    )
    parser.add_argument(
        "--device", choices=DEVICES, default="cpu", help=f"the device whose kernels are {done} (default: cpu)"
    )


def load_library(manifest: Path, device: str) -> OpLibrary:
    """Load a manifest's operators with the kernels that run for a device.

    Raises:
        InputError: The file is not a manifest, or it declares no operators.
    """
    if manifest.suffix not in MANIFEST_SUFFIXES:
        hint = "a kernel alone goes through Python: opbridge.check.check(ob.load(...)), opbridge.bench.bench(...)"
        raise InputError(f"{manifest} is not a manifest; expected a name such as ops.yaml", hint=hint)
    sys.path.insert(0, os.getcwd())  # the folder of the user's own modules, as with `python -m`
    library: OpLibrary = ob.load(manifest, device=device if device in TWINS else "cpu")
    if not len(library):
        raise InputError(f"{manifest} declares no operators")
    return library


def chosen(library: OpLibrary, names: Sequence[str] | None) -> list[Op]:
    """Return the operators with these names, or all operators if there are no names."""
    return [library[name] for name in dict.fromkeys(names)] if names else list(library)
