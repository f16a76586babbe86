"""Compiler sanitizers: how to build kernels for them, how to run a process with one, and how to read their reports.

The kernels run in NumPy, which has the least code of its own around them. They are the same in every
framework.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from opbridge.base.errors import ToolchainError
from opbridge.build.toolchains import toolchain_for
from opbridge.build.toolchains.interface import INCLUDE

_LIBRARIES = {"address": "libasan.so", "undefined": "libubsan.so", "thread": "libtsan.so"}
_EXCEPTIONS = "libstdc++.so"
"""A sanitizer looks up the function that throws at its start; without it the first exception ends the process."""
_OPTIONS = {
    # Python keeps memory until the process ends, which a leak detector would report.
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
"""A false report: the C library frees the thread-local variables of a thread that has ended.

The sanitizer does not see that the thread ended before. For a running thread it would be a real race."""
_ACCESS = re.compile(r"^\s*(?P<access>(?:READ|WRITE|Read|Write) of size \d+)", re.MULTILINE)


@dataclass(frozen=True)
class Report:
    """One finding, at a line of the user's source."""

    what: str
    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.what} at {self.file}:{self.line}{_source_line(self.file, self.line)}"


def environment(sanitizer: str, *, preload: bool) -> Mapping[str, str]:
    """Return the variables for a process that builds kernels for a sanitizer and, with `preload`, runs them."""
    flags = f"-fsanitize={sanitizer} -g -fno-omit-frame-pointer"
    variables = {
        "CXXFLAGS": f"{os.environ.get('CXXFLAGS', '')} {flags}",
        "LDFLAGS": f"{os.environ.get('LDFLAGS', '')} -fsanitize={sanitizer}",
    }
    own = {"OPBRIDGE_CRASH_HANDLER": "0"}  # sanitizers report crashes themselves
    return (
        {**variables, **_OPTIONS, **own, "LD_PRELOAD": f"{_library(_LIBRARIES[sanitizer])} {_library(_EXCEPTIONS)}"}
        if preload
        else variables
    )


def _library(name: str) -> str:
    """Return the compiler's copy of a library that must be loaded into a process before all others.

    Raises:
        ToolchainError: The compiler does not have the library.
    """
    command = [*toolchain_for("c++").find(), f"-print-file-name={name}"]
    found = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    if not os.path.isabs(found) or not os.path.exists(found):
        raise ToolchainError(
            f"--sanitize needs {name}, which {command[0]} does not find\n"
            "  it comes with g++: sudo apt install g++, and export CXX=g++"
        )
    return found


def reports(log: str) -> list[Report]:
    """Return the findings that contain a line of the user's source, the first of each kind and line."""
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
