"""The properties of this machine that affect what a compiler produces."""

from __future__ import annotations

import functools
import os
import shutil
from pathlib import Path

from opbridge.base.errors import ToolchainError
from opbridge.build.cache import Cache, KeyBuilder

PROCESSOR = "OPBRIDGE_MARCH"
"""The environment variable that names the target processor, for builds that run on other machines."""

CPUINFO = Path("/proc/cpuinfo")
_CPU_FIELDS = ("vendor_id", "cpu family", "model", "flags", "CPU implementer", "CPU part", "CPU variant", "Features")
_ENVIRONMENT = (
    "COMPILER_PATH",
    "CPATH",
    "CPLUS_INCLUDE_PATH",
    "C_INCLUDE_PATH",
    "GCC_EXEC_PREFIX",
    "LD_RUN_PATH",
    "LIBRARY_PATH",
    "MACOSX_DEPLOYMENT_TARGET",
    "SDKROOT",
    "SOURCE_DATE_EPOCH",
)


def target_machine() -> str:
    """Return the architecture that builds are for: this machine's, or ARM's where the target processor is one."""
    return "aarch64" if os.environ.get(PROCESSOR, "").startswith("arm") else os.uname().machine


def compiler(command: tuple[str, ...], cache: Cache, ask: str = "-v") -> str:
    """Return the executables in the command and what the compiler prints for `ask`: version, target, configuration.

    The command may begin with a wrapper such as ccache. The compiler runs once for each state of the executables;
    the answer is cached.

    Raises:
        ToolchainError: The compiler cannot be run or fails.
    """
    found = [path for word in command if (path := shutil.which(word))]
    stamps = "\n".join(
        f"{os.path.realpath(path)} {os.stat(path).st_size} {os.stat(path).st_mtime_ns}" for path in found
    )
    key = KeyBuilder("compiler").add("command", *command, ask).add("stamps", stamps).key()
    return f"{stamps}\n{cache.fetch_value(key, lambda: _answer(*command, ask)).decode('utf-8', 'replace')}"


def _answer(*asked: str) -> bytes:
    import subprocess

    try:
        answer = subprocess.run(asked, stdin=subprocess.DEVNULL, capture_output=True, env={**os.environ, "LC_ALL": "C"})
    except OSError as error:
        raise ToolchainError(f"{asked[0]} cannot be run: {error.strerror}") from error
    if answer.returncode != 0:
        said = answer.stderr.decode("utf-8", "replace").strip() or "it said nothing"
        raise ToolchainError(f"the compiler does not work: {' '.join(asked)} exits with {answer.returncode}\n  {said}")
    return answer.stderr + answer.stdout


def environment() -> tuple[str, ...]:
    """Return the variables, as NAME=value, that change where a compiler searches."""
    return tuple(f"{name}={os.environ[name]}" for name in _ENVIRONMENT if name in os.environ)


def processor() -> str:
    """Return a description of the processor, as detailed as `-march=native` sees it."""
    return _processor(CPUINFO)


@functools.cache
def _processor(cpuinfo: Path) -> str:
    fields = [os.uname().machine]
    try:
        with cpuinfo.open(encoding="utf-8", errors="replace") as lines:
            # An empty line ends the first processor. The others are the same, and reading them all is slow.
            for line in iter(lines.readline, "\n"):
                name, colon, value = line.partition(":")
                if not colon:
                    break
                if name.strip() in _CPU_FIELDS:
                    fields.append(f"{name.strip()}={value.strip()}")
    except OSError:
        # Not Linux: use the machine's name to distinguish processors.
        fields.append(os.uname().nodename)
    return "\n".join(fields)
