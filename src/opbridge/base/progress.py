"""Report on stderr what a user waits for: the one mechanism of every build and every long preparation.

A step that is shorter than its patience prints nothing.  On a terminal a longer step has one line, renewed each second;
elsewhere it has one line once its patience is over, and one at its end.  `OPBRIDGE_PROGRESS=0` prints none of them.
Steps inside a step are its details, in other threads too, if `carried` takes them there.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar, copy_context
from pathlib import Path
from threading import Event, Lock, Thread
from typing import ParamSpec, TypeVar

QUIET = {"OPBRIDGE_PROGRESS": "0"}
"""The environment of a process whose stderr is read by a program."""

DONE, FAILED, STOPPED = "done in", "failed after", "stopped after"
"""How a step came to its end."""

_PATIENCE, _TICK = 2.0, 1.0
"""Seconds before a step is reported, and between two reports of it on a terminal."""
_COLUMNS = 80
"""The width of a terminal that does not report it."""

P = ParamSpec("P")
R = TypeVar("R")


class Step:
    """Something that may take long.  Its `kept` folder has how long it took before."""

    def __init__(self, what: str, kept: Path | None = None, patience: float = _PATIENCE) -> None:
        self.what, self.detail = what, ""
        self.is_announced = self.is_over = False
        self._kept, self._patience = kept, patience
        self._began = time.monotonic()
        outer = _current.get()
        self._outer = outer if outer and not outer.is_over else None
        if self._outer:
            self._outer.detail = what
        elif os.environ.get("OPBRIDGE_PROGRESS") != "0":
            _board.add(self)

    @property
    def outermost(self) -> Step:
        """The outermost step around this one."""
        return self._outer.outermost if self._outer else self

    @property
    def is_long(self) -> bool:
        """Whether the step has lasted long enough to be reported: sooner on a terminal, whose line is replaced."""
        patience = min(self._patience, _PATIENCE) if _is_terminal() else self._patience
        return time.monotonic() - self._began >= patience

    def announced(self) -> str:
        """Return what is said where no terminal is, once."""
        self.is_announced = True
        return f"{self.what}{self._before()} ..."

    def line(self) -> str:
        """Return the line of a terminal."""
        self.is_announced = True
        detail = f": {self.detail}" if self.detail else ""
        return f"{self.what}, {_time(time.monotonic() - self._began)}{self._before()}{detail}"

    def end(self, how: str = DONE) -> None:
        """Report the end; `how` says how it came about."""
        seconds, self.is_over = time.monotonic() - self._began, True
        if self._outer:
            self._outer.detail = ""
        else:
            _board.remove(self, f"{self.what}: {how} {_time(seconds)}")
        if self._kept and how == DONE and seconds >= self._patience:
            from opbridge.base.durations import keep

            keep(self._kept, self.what, seconds)

    def _before(self) -> str:
        from opbridge.base.durations import kept

        last = kept(self._kept, self.what) if self._kept else None
        return f" ({_time(last)} last time)" if last is not None else ""


class _Board:
    """The outermost steps of this process, and the thread that reports them."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Begin anew, as in a fork, which has no thread of its parent's."""
        self._lock = Lock()
        self._steps: list[Step] = []
        self._stop: Event | None = None
        self._thread: Thread | None = None

    def add(self, step: Step) -> None:
        with self._lock:
            self._steps.append(step)
            if self._thread is None:
                self._stop = Event()
                self._thread = Thread(target=self._report, args=(self._stop,), name="opbridge progress", daemon=True)
                self._thread.start()

    def remove(self, step: Step, said: str) -> None:
        """Print the last line of a step that was announced.  No thread is left after the last step."""
        with self._lock:
            if step not in self._steps:
                return
            self._steps.remove(step)
            if step.is_announced:
                _write(f"{_clear()}opbridge: {said}\n")
            thread, stop = (None, None) if self._steps else (self._thread, self._stop)
            if stop is not None:
                self._thread = self._stop = None
        if thread is not None and stop is not None:
            stop.set()
            thread.join()

    def _report(self, stop: Event) -> None:
        while not stop.wait(_TICK):
            with self._lock:
                long = [step for step in self._steps if step.is_long]
                if long and not stop.is_set():
                    self._write(long)

    def _write(self, steps: list[Step]) -> None:
        if _is_terminal():
            more = f" (and {len(steps) - 1} more)" if len(steps) > 1 else ""
            show(f"opbridge: {steps[0].line()}{more}")
            return
        for step in steps:
            if not step.is_announced:
                _write(f"opbridge: {step.announced()}\n")


_current: ContextVar[Step | None] = ContextVar("opbridge progress", default=None)
_board = _Board()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_board.forget)


@contextmanager
def step(what: str, kept: Path | None = None, patience: float = _PATIENCE) -> Iterator[None]:
    """Report what is done inside, if it takes longer than `patience` seconds."""
    begun = Step(what, kept, patience)
    token = _current.set(begun)
    how = STOPPED
    try:
        yield
        how = DONE
    except Exception:
        how = FAILED
        raise
    finally:
        _current.reset(token)
        begun.end(how)


def detail(text: str) -> None:
    """Say what the step of the caller is at, on a terminal."""
    if current := _current.get():
        current.outermost.detail = text


def carried(function: Callable[P, R]) -> Callable[P, R]:
    """Return a function for other threads, whose steps are details of the step that the caller is in."""
    context = copy_context()

    def call(*args: P.args, **keywords: P.kwargs) -> R:
        return context.copy().run(function, *args, **keywords)

    return call


def show(text: str = "") -> None:
    """Write one line on a terminal, which the next one takes the place of; an empty one clears it."""
    if _is_terminal():
        _write(f"{_clear()}{_cut(text)}\r" if text else _clear())


def _cut(text: str) -> str:
    """Return as much of a line as a terminal shows without a second one."""
    columns = _COLUMNS
    with suppress(OSError, ValueError):
        columns = os.get_terminal_size(sys.stderr.fileno()).columns or _COLUMNS
    text = " ".join(text.split())
    return text if len(text) < columns else f"{text[: columns - 4]}..."


def _is_terminal() -> bool:
    with suppress(ValueError):  # a stream that is closed
        return sys.stderr is not None and sys.stderr.isatty()
    return False


def _clear() -> str:
    return "\r\033[K" if _is_terminal() else ""


def _write(text: str) -> None:
    """Write at once, so that lines of several threads and processes stay whole; ignore a closed stderr."""
    with suppress(OSError, ValueError, AttributeError):
        encoding = getattr(sys.stderr, "encoding", None) or "utf-8"
        sys.stderr.write(text.encode(encoding, "backslashreplace").decode(encoding))
        sys.stderr.flush()


def _time(seconds: float) -> str:
    whole = round(seconds)
    return f"{whole} s" if whole < 120 else f"{whole // 60} min {whole % 60} s"
