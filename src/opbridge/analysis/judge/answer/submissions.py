"""Identify a task and an answer by their content, which determines the verdict wherever the files lie."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from opbridge._version import __version__
from opbridge.analysis.judge.task.formats import config_of
from opbridge.base.errors import InputError
from opbridge.base.safe_open import read_file

LARGEST_SOURCE = 4 << 20
KERNELS, ANY = POLICIES = ("kernels", "any")
_SEEDS = 1 << 30
"""The number of seeds to draw from."""
_TASK, _ANSWER = "reference.py", "answer"


@dataclass(frozen=True)
class Options:
    """The settings on which a verdict depends, in addition to the task and the answer."""

    seed: int | None = None
    """The seed of the inputs; None to draw one for each judgement, so that no answer knows its inputs beforehand."""
    timeout: float = 60.0
    policy: str = KERNELS
    """Which code must do the work: KERNELS, at least half of it, or ANY, so that PyTorch operators count, too."""

    def with_seed(self) -> Options:
        """Return the options with a seed, drawn if there is none."""
        return self if self.seed is not None else replace(self, seed=secrets.randbelow(_SEEDS))


@dataclass(frozen=True)
class Submission:
    """The content of a task and an answer."""

    task: bytes
    answer: bytes
    suffix: str = ".py"
    """The suffix of the answer file, which determines its language."""
    config: bytes = b""
    """The file of the task sizes, if there is one."""
    options: Options = field(default_factory=Options)

    @classmethod
    def read(cls, task: Path, answer: Path, options: Options) -> Submission:
        """Read the files of a task and an answer; raise InputError if one cannot be read."""
        config = config_of(task)
        sizes = read_source(config) if config.is_file() else b""
        return cls(read_source(task), read_source(answer), answer.suffix, sizes, options)

    def write(self, folder: Path) -> tuple[Path, Path]:
        """Write the files to a folder that has none of them; return the paths of the task and the answer."""
        task, answer = folder / _TASK, folder / f"{_ANSWER}{self.suffix}"
        task.write_bytes(self.task)
        answer.write_bytes(self.answer)
        if self.config:
            config_of(task).write_bytes(self.config)
        return task, answer

    @property
    def answer_name(self) -> str:
        """The name of the answer in kept verdicts, because many files may have the same content."""
        return f"{_ANSWER}{self.suffix}"

    @cached_property
    def key(self) -> str:
        """The hash of everything that may change the verdict."""
        digest = hashlib.sha256()
        words = (
            __version__,
            torch_version(),
            repr(self.options.seed),
            repr(self.options.timeout),
            self.options.policy,
            self.suffix,
        )
        for part in (*map(str.encode, words), self.task, self.config, self.answer):
            digest.update(len(part).to_bytes(8, "little") + part)
        return digest.hexdigest()[:40]


def torch_version() -> str:
    """Return the installed version of PyTorch without importing it; empty if there is none."""
    try:
        return version("torch")
    except PackageNotFoundError:
        return ""


def read_source(path: Path, hint: str = "") -> bytes:
    """Read a source file; raise InputError if it cannot be read or is larger than LARGEST_SOURCE."""
    try:
        content = read_file(path, limit=LARGEST_SOURCE + 1)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}", hint=hint) from None
    if len(content) > LARGEST_SOURCE:
        raise InputError(f"{path} is larger than {LARGEST_SOURCE >> 20} MiB")
    return content
