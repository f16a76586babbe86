"""Import frameworks and the command line, then fork one program after another.

    python parent.py SOCKET FRAMEWORK...

Between this process and each program stands a keeper, which waits for the program, tells the client how it ended, and
ends it when the client is gone.
"""

from __future__ import annotations

import atexit
import ctypes
import gc
import importlib
import io
import json
import logging  # noqa: F401 - registers something for the exit, as the next does
import multiprocessing.util  # noqa: F401
import os
import runpy
import select
import signal
import socket
import struct
import sys
import types
import warnings
import weakref
from contextlib import suppress
from typing import Any

_MOST_FILES = 65
LATER = {"torch": ("torch._dynamo", "torch.export")}
"""What a framework imports when an optimizer takes its first step or a model is exported: as much again as before."""
COSTS = "OPBRIDGE_TESTS_FORK_COSTS"


def import_commands() -> None:
    """Import the modules of opbridge's commands, which import no framework and read no variable that a test sets."""
    from opbridge.cli import COMMANDS, module_of

    for name in COMMANDS:
        module_of(name)


def next_start(requests: socket.socket) -> tuple[dict[str, Any], socket.socket]:
    """Wait for requests and fork for each; return in the program's process alone."""
    while True:
        header, files, _, _ = socket.recv_fds(requests, 4, _MOST_FILES)
        if not header:
            os._exit(0)
        data, size = b"", struct.unpack("I", header)[0]
        while len(data) < size:
            data += requests.recv(size - len(data))  # not into the next request
        start = json.loads(data.decode("utf-8", "surrogateescape"))
        start["given"] = files[1:]
        if os.fork() == 0:
            requests.close()
            connection = socket.socket(fileno=files[0])
            keep(start, connection)
            return start, connection
        for file in files:
            os.close(file)


def keep(start: dict[str, Any], connection: socket.socket) -> None:
    """Fork the program and return in it; the keeper itself waits for the program and exits."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    begun, begin = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(begin)
        os.setsid()
        os.read(begun, 1)
        os.close(begun)
        return
    os.close(begun)
    for file in start["given"]:
        os.close(file)
    with suppress(OSError):
        connection.sendall(struct.pack("i", pid))
    os.close(begin)
    watched = os.pidfd_open(pid)
    ready, _, _ = select.select([watched, connection.fileno()], [], [])
    if watched not in ready:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    _, status, usage = os.wait4(pid, 0)
    note(start, usage.ru_utime + usage.ru_stime)
    with suppress(OSError):
        connection.sendall(struct.pack("i", os.waitstatus_to_exitcode(status)))
    os._exit(0)


def note(start: dict[str, Any], seconds: float) -> None:
    """Note what the program cost, for the table of what tests cost."""
    test = start["variables"].get("PYTEST_CURRENT_TEST", "").rpartition(" (")[0]
    if test and (place := start["variables"].get(COSTS)):
        with open(place, "a") as costs:
            costs.write(f"{test}\t{seconds}\n")


def become(start: dict[str, Any], connection: socket.socket) -> list[str]:
    """Take on the files, folder, variables and options of the program; return what is left of the command line."""
    connection.close()
    place_files(start["given"], start["files"])
    os.chdir(start["folder"])
    os.environ.clear()
    os.environ.update(start["variables"])
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL if number != signal.SIGINT else signal.default_int_handler)
    if (threads := os.environ.get("OMP_NUM_THREADS", "")).isdecimal() and "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(int(threads))  # which PyTorch has read while it was imported
    words = list(start["arguments"])
    open_streams(words)
    sys.orig_argv = [sys.executable, *start["arguments"]]
    warnings.resetwarnings()
    sys.warnoptions[:] = warning_options(words)
    set_default_filters()
    return words


def place_files(given: list[int], wanted: list[int]) -> None:
    """Give the received files the numbers that they have in the client; close every other file of this process."""
    high = [os.dup2(file, 200 + place, inheritable=True) for place, file in enumerate(given)]
    os.closerange(0, 200)
    for file, number in zip(high, wanted, strict=True):
        os.dup2(file, number, inheritable=True)
    os.closerange(200, 200 + len(high))


def open_streams(words: list[str]) -> None:
    """Open standard input and output as Python does at its start, buffered by lines on a terminal."""
    write_through = bool(os.environ.get("PYTHONUNBUFFERED"))
    while words[0] == "-u":
        write_through = True
        del words[0]
    for name, number, errors in (("stdin", 0, "strict"), ("stdout", 1, "strict"), ("stderr", 2, "backslashreplace")):
        with suppress(OSError):
            mode, buffering = ("rb", -1) if number == 0 else ("wb", 0 if write_through else -1)
            raw = open(number, mode, buffering, closefd=False)  # noqa: SIM115 - open as long as the program runs
            by_line = number == 2 or os.isatty(number)
            stream = io.TextIOWrapper(
                raw, encoding="utf-8", errors=errors, line_buffering=by_line, write_through=write_through
            )
            setattr(sys, name, stream)
            setattr(sys, f"__{name}__", stream)


def warning_options(words: list[str]) -> list[str]:
    """Take `-W` options off the command line."""
    options = []
    while words and words[0].startswith("-W"):
        word = words.pop(0)
        options.append(words.pop(0) if word == "-W" else word[2:])
    return options


def set_default_filters() -> None:
    """Filter warnings as a Python that starts does, then by the options."""
    for category in (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning):
        warnings.simplefilter("ignore", category)
    warnings.filterwarnings("default", category=DeprecationWarning, module="__main__")
    warnings._processoptions(sys.warnoptions)  # type: ignore[attr-defined]


def run(words: list[str]) -> None:
    """Run the program as `__main__`."""
    main = types.ModuleType("__main__")
    main.__dict__["__builtins__"] = __builtins__
    sys.modules["__main__"] = main
    kind, *rest = words
    if kind == "-m":
        sys.argv[:] = ["-m", *rest[1:]]
        sys.path.insert(0, os.getcwd())
        runpy._run_module_as_main(rest[0])  # type: ignore[attr-defined]
        return
    if kind == "-c":
        sys.argv[:] = ["-c", *rest[1:]]
        sys.path.insert(0, "")
        exec(compile(rest[0], "<string>", "exec"), main.__dict__)
        return
    sys.argv[:] = words
    sys.path.insert(0, os.path.dirname(os.path.realpath(kind)))
    main.__file__ = kind
    try:
        with open(kind, "rb") as file:
            source = file.read()
    except OSError as error:
        print(f"{sys.executable}: can't open file '{os.path.abspath(kind)}': {error}", file=sys.stderr)
        sys.exit(2)
    exec(compile(source, kind, "exec"), main.__dict__)


def import_frameworks(names: list[str]) -> None:
    """Import the frameworks and what they import later, without what they register for the exit of the process."""
    # Only MindSpore's own exit ends the threads that it starts in a program: without it, C++ aborts.
    is_kept = "mindspore" in names
    weakref.finalize(names.__class__, id).detach()  # Python registers this for the exit when it is first used
    register = atexit.register
    if not is_kept:
        atexit.register = lambda function, *_, **__: function  # type: ignore[assignment]
    for name in (*names, *(later for framework in names for later in LATER.get(framework, ())), "numpy"):
        with suppress(ImportError):  # a program may name one that is not installed
            importlib.import_module(name)
    atexit.register = register
    for finalizer in weakref.finalize._registry:  # type: ignore[attr-defined]
        finalizer.atexit = finalizer.atexit and is_kept


def keep_what_is_imported(found: dict[str, types.ModuleType]) -> None:
    """Let every program end without taking apart what it finds imported, which takes longer than most programs run.

    What a program itself imports, makes and registers ends as in a process of its own.
    """
    if "mindspore" in sys.modules:
        return  # it ends by itself, see import_frameworks
    libc = ctypes.CDLL(None)
    # The last of these is called first, after what libraries register from now on.
    libc.on_exit(libc._exit, None)
    libc.__cxa_atexit(libc.fflush, None, None)
    found.update(sys.modules)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(found))  # for ever


def leave(found: dict[str, types.ModuleType]) -> None:
    """Hide the modules from Python, which clears those that it finds when it ends."""
    sys.modules.update(dict.fromkeys(found.keys() - {"__main__", "builtins", "sys"}))  # type: ignore[arg-type]


def show(kind: type[BaseException], error: BaseException, place: types.TracebackType | None) -> None:
    """Print an error without the frames of this file."""
    while place and place.tb_frame.f_code.co_filename == __file__:
        place = place.tb_next
    sys.__excepthook__(kind, error.with_traceback(place), place)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for keepers
    del sys.path[0]
    found: dict[str, types.ModuleType] = {}
    atexit.register(leave, found)  # called last
    import_frameworks(sys.argv[2:])
    import_commands()
    keep_what_is_imported(found)
    warnings.simplefilter("ignore")  # JAX warns of each fork
    gc.collect()
    gc.freeze()  # a collection in a fork would touch, and so copy, the memory of everything that is imported
    words = become(*next_start(socket.socket(fileno=int(sys.argv[1]))))
    sys.excepthook = show
    run(words)
