"""Save runs in a folder next to the manifest, excluded from version control: they hold for one machine only."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

from opbridge.analysis.bench.measurement import Run
from opbridge.base.errors import InputError, did_you_mean
from opbridge.base.safe_open import read_json

_NAME = re.compile(r"[A-Za-z0-9][\w.-]*", re.ASCII)
_FORMAT = 1


def folder_of(manifest: Path) -> Path:
    """Return the folder of the saved runs of a manifest."""
    return manifest.absolute().parent / ".opbridge" / "bench"


def check_name(name: str) -> None:
    """Raise InputError if `name` cannot name a run."""
    if not _NAME.fullmatch(name):
        raise InputError(f"'{name}' cannot name a run; expected letters, digits, '.', '_' and '-', as in 'before-1.2'")


def to_json(run: Run) -> str:
    """Return the run as JSON, with the version of the format."""
    return json.dumps({"format": _FORMAT, **run.fields()}, indent=2, allow_nan=False) + "\n"


def read_run(file: Path) -> Run:
    """Return the run that a file of `opbridge bench --json` has."""
    try:
        fields: Mapping[str, object] = read_json(file)
        if fields["format"] == _FORMAT:
            return Run.of({name: value for name, value in fields.items() if name != "format"})
    except (ValueError, TypeError, KeyError, AttributeError):
        pass
    hint = "remove it, or measure again: opbridge bench ops.yaml --json FILE, or --save NAME"
    raise InputError(f"{file} is not a run of this version's `opbridge bench`", hint=hint)


def save(run: Run, name: str, folder: Path) -> Path:
    """Save a run under a name, replacing an earlier one, and return its file."""
    check_name(name)
    folder.mkdir(parents=True, exist_ok=True)
    (folder.parent / ".gitignore").write_text("*\n")
    file = folder / f"{name}.json"
    file.write_text(to_json(run), encoding="utf-8")
    return file


def saved(name: str, folder: Path) -> Run:
    """Return the run saved under a name; raise InputError if there is none."""
    check_name(name)
    names = [file.stem for file in folder.glob("*.json")]
    if name not in names:
        known = f"there are {', '.join(sorted(names))}" if names else "save one: opbridge bench ops.yaml --save NAME"
        raise InputError(f"no run '{name}' was saved in {folder}", hint=did_you_mean(name, names) or known)
    file = folder / f"{name}.json"
    return read_run(file)


def history(folder: Path) -> dict[str, Run]:
    """Return all saved runs by name, the oldest first."""
    runs = {file.stem: read_run(file) for file in folder.glob("*.json")}
    return dict(sorted(runs.items(), key=lambda item: item[1].date))
