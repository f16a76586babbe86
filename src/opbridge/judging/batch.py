"""Many answers: in any order, each judged once for what it says, and again never."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from opbridge._version import __version__
from opbridge.cache.filesystem import copy_atomically
from opbridge.errors import InputError, OpbridgeError
from opbridge.judging.deciding import judge_by
from opbridge.judging.model import Judgement, Reason, Verdict
from opbridge.judging.warming import prepared
from opbridge.openings import read_file

REFERENCE, _KEPT = "reference.py", "verdicts"


@dataclass(frozen=True)
class Judged:
    answer: Path
    judgement: Judgement
    was_kept: bool
    """From an earlier run, or of an answer of the same text."""


def answers_in(folder: Path) -> list[tuple[Path, Path]]:
    """Every reference.py, with each of the other files of Python in its folder."""
    tasks = sorted(folder.rglob(REFERENCE))
    found = [(task, path) for task in tasks for path in sorted(task.parent.glob("*.py")) if path != task]
    if not found:
        raise InputError(
            f"{folder} has nothing to judge",
            hint=f"expected folders with a {REFERENCE} and answers, ANY-NAME.py, beside it",
        )
    return found


def judge_all(
    folder: Path, *, jobs: int, seed: int = 0, timeout: float = 60.0, on_judged: Callable[[Judged], None]
) -> list[Judged]:
    """Verdicts are kept in the folder `verdicts`; who is stopped goes on there."""
    kept = folder / _KEPT
    kept.mkdir(exist_ok=True)
    groups: dict[str, list[tuple[Path, Path]]] = {}
    for task, answer in answers_in(folder):
        groups.setdefault(_key(task, answer, seed), []).append((task, answer))

    def work(key: str, task: Path, answer: Path) -> tuple[Judgement, bool]:
        file = kept / f"{key}.json"
        if file.is_file():
            try:
                return Judgement.parse(file.read_text(encoding="utf-8")), True
            except InputError:
                pass  # damage means that it is judged again
        try:
            found = judge_by(forks, task, answer, seed, timeout)
        except OpbridgeError as error:
            # No verdict on the answer: the next run tries again.
            return Judgement(Verdict.UNDECIDED, (Reason("task", str(error), "see to the task or the machine"),)), False
        with tempfile.NamedTemporaryFile("w", encoding="utf-8") as written:
            written.write(found.to_json())
            written.flush()
            copy_atomically(Path(written.name), file)
        return found, False

    done: list[Judged] = []
    with prepared() as forks, ThreadPoolExecutor(jobs) as threads:
        running = {threads.submit(work, key, *group[0]): group for key, group in groups.items()}
        for future in as_completed(running):
            for judged in _each(running[future], *future.result()):
                done.append(judged)
                on_judged(judged)
    return sorted(done, key=lambda judged: judged.answer)


def _each(group: list[tuple[Path, Path]], judgement: Judgement, was_kept: bool) -> Iterator[Judged]:
    for number, (_, answer) in enumerate(group):
        yield Judged(answer, judgement, was_kept or number > 0)


def _key(task: Path, answer: Path, seed: int) -> str:
    digest = hashlib.sha256()
    for part in (__version__.encode(), str(seed).encode(), read_file(task), read_file(answer)):
        digest.update(len(part).to_bytes(8, "little") + part)
    return digest.hexdigest()[:40]
