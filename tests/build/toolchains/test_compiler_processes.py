from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from forked_python import PYTHON

from opbridge.base.errors import BuildError, CacheError, ToolchainError
from opbridge.build.cache import Cache
from opbridge.build.toolchains import BuildRequest, build

MakeRequest = Callable[..., BuildRequest]
InstallWrapper = Callable[..., object]

# Only compiling fails: asked for its version, a wrapper answers as g++ does.
WHEN_COMPILING = 'case "$*" in *" -c "*) %s;; esac'


def test_a_compiler_that_takes_too_long_is_ended_with_all_it_started(
    cache: Cache, tmp_path: Path, request_for: MakeRequest, wrapper: InstallWrapper, monkeypatch: pytest.MonkeyPatch
) -> None:
    pid = tmp_path / "pid"
    wrapper(WHEN_COMPILING % f"sleep 100 & echo $! > {pid}; wait")
    monkeypatch.setenv("OPBRIDGE_BUILD_TIMEOUT", "0.5")
    with pytest.raises(BuildError, match=r"compiling kernel\.cpp took too long.*OPBRIDGE_BUILD_TIMEOUT"):
        build(request_for(""), cache)
    assert is_gone(int(pid.read_text()))


def test_a_killed_process_leaves_no_compiler(tmp_path: Path, wrapper: InstallWrapper) -> None:
    begun = tmp_path / "pid"
    wrapper(WHEN_COMPILING % f"sleep 100 & echo $! > {begun}.part; mv {begun}.part {begun}; wait")
    source = tmp_path / "kernel.cpp"
    source.write_text("")
    builds = (
        "import sys, pathlib; from opbridge.build.toolchains import BuildRequest, build; "
        "build(BuildRequest((pathlib.Path(sys.argv[1]),), 'kernel.so'))"
    )
    killed = subprocess.Popen([sys.executable, "-c", builds, source])
    while not begun.exists() and killed.poll() is None:
        time.sleep(0.02)
    time.sleep(1)  # a compiler counts from its announcement, a moment after its start
    killed.kill()
    killed.wait()
    assert is_gone(int(begun.read_text()))


def is_gone(pid: int) -> bool:
    for _ in range(200):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return True
        if state == "Z":
            return True
        time.sleep(0.02)
    return False


def test_a_timeout_that_is_none(cache: Cache, request_for: MakeRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPBRIDGE_BUILD_TIMEOUT", "soon")
    with pytest.raises(ToolchainError, match="OPBRIDGE_BUILD_TIMEOUT is 'soon'; expected a number of seconds"):
        build(request_for(""), cache)


@pytest.mark.parametrize(
    ("end", "message"),
    [
        ("kill -KILL $$", r"was ended by SIGKILL\n  .*ran out of memory: build with fewer jobs"),
        ("kill -SEGV $$", r"was ended by SIGSEGV\n  .*fault of the compiler"),
        (
            'echo "g++: fatal error: Killed signal terminated program cc1plus" >&2; exit 1',
            r"Killed signal terminated program cc1plus\n  .*ran out of memory",
        ),
        ('echo "virtual memory exhausted: Cannot allocate memory" >&2; exit 1', "ran out of memory"),
    ],
)
def test_a_compiler_that_is_killed(
    cache: Cache, request_for: MakeRequest, wrapper: InstallWrapper, end: str, message: str
) -> None:
    wrapper(WHEN_COMPILING % end)
    with pytest.raises(BuildError, match=message):
        build(request_for(""), cache)


def test_a_compiler_that_finds_the_disk_full(cache: Cache, request_for: MakeRequest, wrapper: InstallWrapper) -> None:
    wrapper(WHEN_COMPILING % 'echo "0.o: No space left on device" >&2; exit 1')
    with pytest.raises(CacheError, match="No space left on device\n  free some: opbridge cache gc"):
        build(request_for(""), cache)


@pytest.mark.parametrize("wait", ["build_many(requests, jobs=2)", "begin(requests[0], Cache())()"])
def test_an_interrupt_ends_the_compilers(
    cache: Cache, tmp_path: Path, request_for: MakeRequest, wrapper: InstallWrapper, wait: str
) -> None:
    pid = tmp_path / "pid"
    wrapper(WHEN_COMPILING % f"echo $$ > {pid}.new; mv {pid}.new {pid}; sleep 100")
    sources = [request_for("", f"k{i}.cpp").sources[0] for i in range(4)]
    script = (
        "import signal, sys; from pathlib import Path\n"
        "from opbridge.build.cache import Cache; from opbridge.build.toolchains import BuildRequest, begin, "
        "build_many\n"
        # Shells let what they start in the background ignore it.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "requests = [BuildRequest((Path(name),), Path(name).stem + '.so') for name in sys.argv[1:]]\n"
        f"{wait}"
    )
    process = subprocess.Popen(
        [PYTHON, "-c", script, *map(str, sources)],
        env={**os.environ, "OPBRIDGE_CACHE_DIR": str(cache.root)},
        stderr=subprocess.PIPE,
        text=True,
    )
    while not pid.exists():
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert said.rstrip().endswith("KeyboardInterrupt")
    assert is_gone(int(pid.read_text()))
