"""A task and an answer to it by their content, which a verdict is of wherever the files lie."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from opbridge._version import __version__
from opbridge.errors import InputError
from opbridge.judging.formats import config_of
from opbridge.openings import read_file

LARGEST_SOURCE = 4 << 20
_TASK, _ANSWER = "reference.py", "answer"


@dataclass(frozen=True)
class Options:
    """What a verdict depends on beside the two."""

    seed: int = 0
    timeout: float = 60.0


@dataclass(frozen=True)
class Submission:
    task: bytes
    answer: bytes
    suffix: str = ".py"
    """Of the answer's file, which tells its language."""
    config: bytes = b""
    """The task's sizes, where a file of their own has them."""
    options: Options = field(default_factory=Options)

    @classmethod
    def read(cls, task: Path, answer: Path, options: Options) -> Submission:
        config = config_of(task)
        sizes = read_source(config) if config.is_file() else b""
        return cls(read_source(task), read_source(answer), answer.suffix, sizes, options)

    def write(self, folder: Path) -> tuple[Path, Path]:
        """The task's file and the answer's, in a folder that has neither."""
        task, answer = folder / _TASK, folder / f"{_ANSWER}{self.suffix}"
        task.write_bytes(self.task)
        answer.write_bytes(self.answer)
        if self.config:
            config_of(task).write_bytes(self.config)
        return task, answer

    @property
    def answer_name(self) -> str:
        """As places in what is kept are named, since many files may have the one content."""
        return f"{_ANSWER}{self.suffix}"

    @cached_property
    def key(self) -> str:
        """Changes with all that may change the verdict."""
        digest = hashlib.sha256()
        words = (__version__, torch_version(), repr(self.options.seed), repr(self.options.timeout), self.suffix)
        for part in (*map(str.encode, words), self.task, self.config, self.answer):
            digest.update(len(part).to_bytes(8, "little") + part)
        return digest.hexdigest()[:40]


def torch_version() -> str:
    """Without importing it."""
    try:
        return version("torch")
    except PackageNotFoundError:
        return ""


def read_source(path: Path, hint: str = "") -> bytes:
    try:
        content = read_file(path, limit=LARGEST_SOURCE + 1)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}", hint=hint) from None
    if len(content) > LARGEST_SOURCE:
        raise InputError(f"{path} is larger than {LARGEST_SOURCE >> 20} MiB")
    return content
