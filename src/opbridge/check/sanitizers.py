"""Compilers' sanitizers: how kernels are built for them, how a process runs with one, and what their reports say.

The kernels run in NumPy, which has least of its own around them; they are the same in every framework.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from opbridge.errors import ToolchainError
from opbridge.toolchains import toolchain_for
from opbridge.toolchains.model import INCLUDE

_LIBRARIES = {"address": "libasan.so", "undefined": "libubsan.so", "thread": "libtsan.so"}
_EXCEPTIONS = "libstdc++.so"
"""A sanitizer looks when it starts for what throws, and ends the process at the first exception where it found none."""
_OPTIONS = {
    # Python keeps what it has until the process ends, which no leak detector can know.
    "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=0:exitcode=99",
    "UBSAN_OPTIONS": "print_stacktrace=1",
    "TSAN_OPTIONS": "exitcode=0:report_signal_unsafe=0",
}
_REPORT = re.compile(
    r"(?:ERROR|WARNING): (?:Address|Thread)Sanitizer: (?P<kind>[^\n(]+?)(?: on (?:unknown )?address| \(pid|$)"
    r"|runtime error: (?P<undefined>[^\n]+)$",
    re.MULTILINE,
)
_FRAME = re.compile(r"^\s+#\d+ .*?(?P<file>/[^\s:]+):(?P<line>\d+)(?::\d+)?", re.MULTILINE)
_PLACE = re.compile(r"^(?P<file>/[^\s:]+):(?P<line>\d+):\d+: runtime error", re.MULTILINE)
_ENDED_THREAD = re.compile(
    r"_dl_deallocate_tls\b.*?Previous [\w ]+ of size [^\n]* by thread (?P<thread>T\d+)"
    r".*?Thread (?P=thread) \([^)\n]*finished\)",
    re.DOTALL,
)
"""The C library gives back the thread-local variables of a thread that has ended, which a sanitizer does not see end
before.  Of a thread that runs it would be a race."""
_ACCESS = re.compile(r"^\s*(?P<access>(?:READ|WRITE|Read|Write) of size \d+)", re.MULTILINE)


@dataclass(frozen=True)
class Report:
    """One finding, at a line of the user's."""

    what: str
    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.what} at {self.file}:{self.line}{_source_line(self.file, self.line)}"


def environment(sanitizer: str, *, preload: bool) -> Mapping[str, str]:
    """What a process needs to build its kernels for a sanitizer, and, with `preload`, to run them."""
    flags = f"-fsanitize={sanitizer} -g -fno-omit-frame-pointer"
    variables = {
        "CXXFLAGS": f"{os.environ.get('CXXFLAGS', '')} {flags}",
        "LDFLAGS": f"{os.environ.get('LDFLAGS', '')} -fsanitize={sanitizer}",
    }
    own = {"OPBRIDGE_CRASH_HANDLER": "0"}  # they tell of crashes themselves
    return (
        {**variables, **_OPTIONS, **own, "LD_PRELOAD": f"{_library(_LIBRARIES[sanitizer])} {_library(_EXCEPTIONS)}"}
        if preload
        else variables
    )


def _library(name: str) -> str:
    """Which the compiler knows; it has to be in a process before anything else is."""
    command = [*toolchain_for("c++").find(), f"-print-file-name={name}"]
    found = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    if not os.path.isabs(found) or not os.path.exists(found):
        raise ToolchainError(
            f"--sanitize needs {name}, which {command[0]} does not find\n"
            "  it comes with g++: sudo apt install g++, and export CXX=g++"
        )
    return found


def reports(log: str) -> list[Report]:
    """The findings that have a line of the user's in them, the first of each kind and line."""
    found: dict[Report, None] = {}
    starts = [match.start() for match in _REPORT.finditer(log)]
    for start, end in zip(starts, [*starts[1:], len(log)], strict=False):
        begin = log.rfind("\n", 0, start) + 1
        text = log[begin:end]
        place = next(
            (match for match in (*_PLACE.finditer(text), *_FRAME.finditer(text)) if _is_users(match["file"])), None
        )
        head = _REPORT.search(text)
        if place is None or head is None or _ENDED_THREAD.search(text):
            continue
        access = _ACCESS.search(text)
        what = head["undefined"] or f"{head['kind'].strip()}{f', {access[1].lower()}' if access else ''}"
        found[Report(what, place["file"], int(place["line"]))] = None
    return list(found)


def _is_users(file: str) -> bool:
    path = Path(file)
    return path.is_file() and not path.is_relative_to(INCLUDE) and not file.startswith(("/usr/", "../"))


def _source_line(file: str, line: int) -> str:
    lines = Path(file).read_text(errors="replace").splitlines()
    return f": {lines[line - 1].strip()}" if line <= len(lines) else ""
