"""Judge many answers in any order, each content once, and reuse earlier verdicts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from opbridge.analysis.judge.answer.formats import is_answer
from opbridge.analysis.judge.answer.submissions import Options, Submission
from opbridge.analysis.judge.judgement import Judgement, Reason, Verdict
from opbridge.analysis.judge.many.kept_verdicts import Verdicts, of_file
from opbridge.analysis.judge.many.runners import Case, Found, Runner
from opbridge.analysis.judge.verdict.costs import Prediction
from opbridge.base.errors import InputError, OpbridgeError

REFERENCE, KEPT = "reference.py", "verdicts"


@dataclass(frozen=True)
class Judged:
    """One answer with its judgement."""

    task: Path
    answer: Path
    judgement: Judgement
    was_kept: bool
    """Whether the verdict comes from an earlier run, or from an answer with the same text."""
    cost: Prediction | OpbridgeError | None = None


def answers_in(folder: Path) -> list[tuple[Path, Path]]:
    """Return every reference.py with each answer in its folder; raise InputError if there is none."""
    found = [
        (task, path)
        for task in sorted(folder.rglob(REFERENCE))
        for path in sorted(task.parent.iterdir())
        if path != task and path.is_file() and is_answer(path)
    ]
    if not found:
        raise InputError(
            f"{folder} has nothing to judge",
            hint=f"expected folders with a {REFERENCE} and answers, ANY-NAME.py, next to it",
        )
    return found


def judge_all(
    folder: Path, runner: Runner, options: Options, *, chip: str = "", on_judged: Callable[[Judged], None]
) -> list[Judged]:
    """Judge all answers below a folder and return them in the order of their paths.

    Verdicts are kept in the subfolder `verdicts`, so that an interrupted run can continue. If `chip` is given, also
    predict the costs of right answers on it. `on_judged` is called with each result as it arrives.
    """
    batch = _Batch(Verdicts(folder / KEPT), chip)
    done: list[Judged] = []
    for judged in batch.judged(runner, answers_in(folder), options):
        done.append(judged)
        on_judged(judged)
    return sorted(done, key=lambda judged: judged.answer)


@dataclass(frozen=True)
class _Batch:
    kept: Verdicts
    chip: str

    def judged(self, runner: Runner, pairs: list[tuple[Path, Path]], options: Options) -> Iterator[Judged]:
        """Yield known verdicts first, then the others as they are decided."""
        groups: dict[str, list[Case]] = {}
        for task, answer in pairs:
            submission = Submission.read(task, answer, options)
            groups.setdefault(submission.key, []).append(Case(submission, task, answer, self.chip))
        missing: list[Case] = []
        for group in groups.values():
            known = self._known(group[0].submission.key)
            if known and not self._lacks_costs(known):
                yield from _each(group, known, was_kept=True)
            else:
                missing.append(replace(group[0], known=known.judgement if known else None))
        for case, found in runner.judged(missing):
            if isinstance(found, OpbridgeError):
                # Do not keep this: it says nothing about the answer, and the next run tries again.
                reason = Reason("task", str(found), "see to the task or the machine")
                found = Found(Judgement(Verdict.UNDECIDED, (reason,)))
            else:
                self._keep(case, found)
            yield from _each(groups[case.submission.key], found, was_kept=case.known is not None)

    def _known(self, key: str) -> Found | None:
        judgement = self.kept.get(key)
        if judgement is None:
            return None
        return Found(judgement, self.kept.cost(key, self.chip) if self.chip else None)

    def _lacks_costs(self, found: Found) -> bool:
        return bool(self.chip) and found.cost is None and found.judgement.verdict is Verdict.RIGHT

    def _keep(self, case: Case, found: Found) -> None:
        if not case.known and not found.judgement.is_of_machine:
            self.kept.keep(case.submission.key, found.judgement)
        if isinstance(found.cost, Prediction):
            self.kept.keep_cost(case.submission.key, found.cost)


def _each(group: list[Case], found: Found, *, was_kept: bool) -> Iterator[Judged]:
    for number, case in enumerate(group):
        judgement = of_file(found.judgement, case.submission, case.answer.name)
        yield Judged(case.task, case.answer, judgement, was_kept or number > 0, found.cost)
