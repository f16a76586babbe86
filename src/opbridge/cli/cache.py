"""opbridge cache: list, trim or empty the cache of builds, and make keys for a shared one."""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Sequence
from pathlib import Path

from opbridge.base.errors import InputError
from opbridge.build.cache import Cache, StoredEntry
from opbridge.build.toolchains.interface import LOG
from opbridge.cli.json_output import add_json, print_json
from opbridge.cli.terminal import size

_KEY = re.compile("[0-9a-f]{8,}")

_ACTIONS = {
    "ls": "list the entries, most recently used first",
    "gc": "remove the least recently used entries until the rest fits OPBRIDGE_CACHE_SIZE (default: 5 GiB)",
    "clear": "remove everything except running builds",
    "key": "make a key in FILE that signs what `opbridge build --publish` adds, or show the public half of one",
    "log": "show the complete compiler output of a failed build, by the KEY at the end of its error",
}
_NAMED = {"key": "FILE", "log": "KEY"}
"""The argument of the actions that take one."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `opbridge cache`."""
    help_text = "; ".join(f"{name}: {does}" for name, does in _ACTIONS.items())
    parser.add_argument("action", choices=_ACTIONS, help=help_text)
    help_text = "with `key`: the FILE of the key; with `log`: the KEY of the build"
    parser.add_argument("name", nargs="?", metavar="FILE|KEY", help=help_text)
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Execute the action on the cache; return 0."""
    if (options.action in _NAMED) != (options.name is not None):
        forms = ", ".join(f"{action} {_NAMED.get(action, '')}".strip() for action in _ACTIONS)
        raise InputError(f"cache {options.action}: expected one of: {forms}")
    if options.json and options.action != "ls":
        raise InputError("--json works with `cache ls` only", hint=f"opbridge cache {options.action}")
    if options.action == "key":
        _key(Path(options.name))
        return 0
    cache = Cache()
    if options.action == "log":
        _show_log(cache, options.name)
    elif options.action == "ls":
        _list(cache, options.json)
    else:
        _report_removed(cache.gc() if options.action == "gc" else cache.clear(), cache)
    return 0


def _key(path: Path) -> None:
    # Import here: listing the cache does not need it.
    from opbridge.build.cache.shared import SigningKey

    key = SigningKey.read(path) if path.exists() else SigningKey.make(path)
    print(f"to sign what you publish:  opbridge build ops.yaml --publish DIR --sign {path}")
    print(f"to take nothing else:      export OPBRIDGE_SHARED_CACHE_KEYS={key.public}")


def _show_log(cache: Cache, key: str) -> None:
    log = cache.kept(LOG, key) if _KEY.fullmatch(key) else None
    if log is None:
        raise InputError(
            f"no output of a compiler is kept for '{key}' in {cache.root}; expected the key that the error ends with, "
            "and the OPBRIDGE_CACHE_DIR of the build"
        )
    print(log.read_text(encoding="utf-8", errors="replace"), end="")


def _list(cache: Cache, as_json: bool) -> None:
    now = time.time()
    entries = list(reversed(cache.entries()))
    if as_json:
        listed = [{"files": entry.files, "bytes": entry.bytes, "used": entry.used} for entry in entries]
        print_json({"folder": str(cache.root), "bytes": cache.size(), "entries": listed})
        return
    for entry in entries:
        print(f"{size(entry.bytes):>8}  {_age(now - entry.used):>8} ago  {', '.join(entry.files)}")
    print(f"{size(cache.size())} in {cache.root}")


def _report_removed(removed: Sequence[StoredEntry], cache: Cache) -> None:
    freed = size(sum(entry.bytes for entry in removed))
    entries = "1 entry" if len(removed) == 1 else f"{len(removed)} entries"
    print(f"removed {entries}, {freed}; {size(cache.size())} left in {cache.root}")


def _age(seconds: float) -> str:
    for unit, length in (("days", 86400), ("hours", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{max(seconds, 0):.0f} s"
