"""Serve forks of processes that have imported frameworks, to the client beside this file.

    python server.py SOCKET

One process imports each set of frameworks when a program first needs the set, and every such program is a fork of
that process.  The client runs the interpreter itself where a fork could not imitate the start: for interpreter options
and for variables that are read while something is imported.
"""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

FRAMEWORKS = ("torch", "mindspore", "jax", "paddle", "setuptools")
"""What takes long to import."""
_IMPORTING = {"opbridge.models.scan.trial_process": "torch"}
"""Modules that are run as programs and import a framework which their command line does not name."""
_MOST_FILES = 64
_OPTIONS = re.compile(r"-W.*|-u$")
_HARMLESS = re.compile(
    r"OPBRIDGE_.*|PYTEST_.*|XDG_.*|HOME|TMPDIR|PWD|OLDPWD|SHLVL|_|PATH|COLUMNS|LINES|TERM|NO_COLOR|FORCE_COLOR|CLICOLOR.*"
    r"|CC|CXX|CFLAGS|CXXFLAGS|CPPFLAGS|LDFLAGS|CPATH|C(PLUS)?_INCLUDE_PATH|LIBRARY_PATH|CUDA_HOME|CUDA_PATH|MAX_JOBS"
    r"|ASCEND_.*|SOC_VERSION|EDITOR|VISUAL|PAGER|SHELL|USER|LOGNAME|RAY_.*|PROFILE|DISPLAY|PYTHONUNBUFFERED"
    # MindSpore, JAX and PyTorch's compiler set these for themselves when a test imports them.
    r"|GLOG_v|TORCHINDUCTOR_CACHE_DIR|TPU_SKIP_MDS_QUERY|TF_CPP_MIN_LOG_LEVEL|PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION"
    # MindSpore sets the number of threads for itself, in C; a fork does as it says.
    r"|HCCL_CONNECT_TIMEOUT|OMP_NUM_THREADS"
    # What torchrun tells its processes, and JAX reads when it first looks for devices.
    r"|(LOCAL_|GROUP_|ROLE_)?(RANK|WORLD_SIZE)|ROLE_NAME|MASTER_(ADDR|PORT)|TORCHELASTIC_.*|TORCH_NCCL_.*|PYTHON_EXEC"
    r"|XLA_FLAGS|JAX_USE_SHARDY_PARTITIONER|TRAINED"
)
"""Variables that nothing reads while it is imported: a fork may have others than the process it comes from."""
_MINDSPORES = re.compile(r"[^:]*/mindspore/lib/plugin/cpu:?")


@dataclass
class Start:
    """A program as it was to be started."""

    folder: str
    arguments: list[str]
    variables: dict[str, str]
    files: list[int]

    def frameworks(self) -> tuple[str, ...]:
        """Return the frameworks whose names stand in the program."""
        imported = [_IMPORTING.get(word, "") for word in self.arguments]
        text = "\n".join([*self.arguments, *imported, *map(self._source, self.arguments)])
        return tuple(name for name in FRAMEWORKS if re.search(rf"\b{name}\b", text))

    def _source(self, argument: str) -> str:
        path = Path(self.folder, argument.split("::")[0])
        with suppress(OSError, ValueError):
            if path.suffix == ".py" and path.is_file():
                return path.read_text(encoding="utf-8", errors="replace")
        return ""

    def can_be_forked(self, server: Mapping[str, str]) -> bool:
        options = [*self.arguments]
        while options and options[0].startswith("-") and options[0] not in ("-c", "-m"):
            if not _OPTIONS.match(options[0]):
                return False
            del options[: 2 if options[0] == "-W" else 1]
        texts = [*self.arguments, *map(self._source, self.arguments)]
        if any(asked in text for text in texts for asked in ("sys.modules", "sys.meta_path")):
            return False  # the program asks what has been imported, or what may be
        differing = dict(_shaping(self.variables).items() ^ _shaping(server).items())
        return bool(options) and all(_HARMLESS.fullmatch(name) for name in differing)


def _shaping(variables: Mapping[str, str]) -> dict[str, str]:
    """Return the variables without the folder that MindSpore adds to LD_LIBRARY_PATH for itself."""
    folders = _MINDSPORES.sub("", variables.get("LD_LIBRARY_PATH", "")).strip(":")
    return {**variables, "LD_LIBRARY_PATH": folders}


class Request:
    """A client that waits, with what it sent."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        _, self.files, _, _ = socket.recv_fds(connection, 1, _MOST_FILES)
        numbers = list(struct.unpack(f"{(count := self._number())}i", self._bytes(4 * count)))
        folder = self._text()
        arguments = self._texts()
        variables = dict(text.partition("=")[::2] for text in self._texts())
        self.start = Start(folder, arguments, variables, numbers)

    def close(self) -> None:
        for file in self.files:
            os.close(file)
        self.connection.close()

    def _bytes(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            if not (more := self.connection.recv(size - len(data))):
                raise EOFError
            data += more
        return data

    def _number(self) -> int:
        number: int = struct.unpack("I", self._bytes(4))[0]
        return number

    def _text(self) -> str:
        return os.fsdecode(self._bytes(self._number()))

    def _texts(self) -> list[str]:
        return [self._text() for _ in range(self._number())]


class Parents:
    """The processes that programs are forked from, one for each set of frameworks."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, ...], tuple[socket.socket, subprocess.Popen[bytes]]] = {}

    def fork(self, request: Request) -> None:
        """Hand the request to the parent for its frameworks, which answers the client."""
        frameworks = request.start.frameworks()
        data = json.dumps(asdict(request.start)).encode("utf-8", "surrogateescape")
        parent = self._parent(frameworks)
        socket.send_fds(parent, [struct.pack("I", len(data))], [request.connection.fileno(), *request.files])
        parent.sendall(data)

    def _parent(self, frameworks: Sequence[str]) -> socket.socket:
        known = self._known.get(tuple(frameworks))
        if known is None or known[1].poll() is not None:
            ours, theirs = socket.socketpair()
            with theirs:
                command = [
                    sys.executable,
                    str(Path(__file__).with_name("parent.py")),
                    str(theirs.fileno()),
                    *frameworks,
                ]
                process = subprocess.Popen(
                    command,
                    pass_fds=[theirs.fileno()],
                    stdin=subprocess.DEVNULL,
                    env={**os.environ, "GLOG_v": "4"},  # MindSpore reads it while it is imported
                )
            known = self._known[tuple(frameworks)] = (ours, process)
        return known[0]


def serve(listening: socket.socket) -> None:
    """Answer clients until the process is ended."""
    parents, own = Parents(), dict(os.environ)
    while True:
        connection, _ = listening.accept()
        with suppress(OSError, EOFError):
            request = Request(connection)
            if request.start.can_be_forked(own):
                parents.fork(request)
            else:
                connection.sendall(struct.pack("i", 0))
            request.close()


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the tests, which end this process
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(sys.argv[1])
        listening.listen(64)
        print("listening", flush=True)
        serve(listening)
