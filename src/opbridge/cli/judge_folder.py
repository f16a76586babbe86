"""The output of `opbridge judge DIR`: a line per answer, the progress meanwhile, and totals at the end.

With `--json`, each line is a JSON object, and there are no totals.
"""

from __future__ import annotations

import argparse
import datetime
import json
import sys
from collections import Counter
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

from opbridge._version import __version__
from opbridge.analysis.judge.answer.submissions import Options
from opbridge.analysis.judge.many.batch import KEPT, Judged, answers_in, judge_all
from opbridge.analysis.judge.many.cluster import Cluster
from opbridge.analysis.judge.many.runners import Here, Runner
from opbridge.analysis.judge.verdict.costs import Prediction
from opbridge.base.errors import InputError
from opbridge.base.progress import detail, show
from opbridge.base.safe_open import read_file
from opbridge.build.cache import Cache
from opbridge.cli.output_paths import require_writable
from opbridge.cli.terminal import size


def run(options: argparse.Namespace) -> int:
    """Judge all answers in a folder, and return the highest exit code of the verdicts."""
    if options.answer is not None:
        raise InputError("of a folder, all answers are judged, and their verdicts are files in DIR/verdicts")
    if options.json and options.page:
        raise InputError("--json prints lines of JSON alone", hint="write the page in a second run: verdicts are kept")
    require_writable(options.page)
    shown = _Shown(options.reference, len(answers_in(options.reference)), options.json)
    asked = Options(options.seed, options.timeout, options.policy)
    try:
        with shown.waiting():
            done = judge_all(
                options.reference, _runner(options), asked, chip=(options.cost or "").lower(), on_judged=shown.add
            )
    except KeyboardInterrupt:
        print(shown.stopped(), file=sys.stderr)
        raise
    if not options.json:
        print(", ".join(f"{count} {verdict}" for verdict, count in shown.counts.most_common()))
    if options.page:
        _write_page(options.page, options.reference, done)
    return max((judged.judgement.verdict.exit_code for judged in done), default=0)


def _runner(options: argparse.Namespace) -> Runner:
    if options.ray is None:
        return Here(options.jobs)
    if options.jobs > 1:
        raise InputError("--jobs is for this machine; a cluster judges as many at a time as it has processors")
    return Cluster(options.ray)


def _write_page(file: Path, folder: Path, done: list[Judged]) -> None:
    from opbridge.analysis.report.judged_answer import ShownAnswer
    from opbridge.analysis.report.judgements import ShownAnswers, judgements_page

    answers = [
        ShownAnswer(
            str(judged.task.parent.relative_to(folder)),
            str(judged.answer.relative_to(folder)),
            read_file(judged.answer).decode("utf-8", errors="replace"),
            judged.judgement,
            judged.cost if isinstance(judged.cost, Prediction) else None,
        )
        for judged in done
    ]
    now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
    written = judgements_page(ShownAnswers(folder.resolve().name, now, __version__, answers))
    file.write_text(written, encoding="utf-8")
    print(f"{file}: {len(answers)} answers, {size(len(written.encode()))}")


@dataclass
class _Shown:
    folder: Path
    total: int
    as_json: bool = False
    counts: Counter[str] = field(default_factory=Counter)
    _lock: Lock = field(default_factory=Lock)

    def add(self, judged: Judged) -> None:
        with self._lock:
            self.counts[judged.judgement.verdict.value] += 1
            show()
            detail(f"{self.total - self.counts.total()} to go")
            name = judged.answer.relative_to(self.folder)
            said = f"{self.counts.total()}/{self.total}  {name}  {_said(judged)}"
            print(_json(str(name), judged) if self.as_json else said, flush=True)

    def stopped(self) -> str:
        """Return what to tell a user who stops a run."""
        return (
            f"stopped: {self.counts.total()} of {self.total} answers are judged, and their verdicts are in "
            f"{self.folder / KEPT}; the same command goes on with the others"
        )

    def waiting(self) -> AbstractContextManager[None]:
        """Say meanwhile how far it is."""
        return Cache().step(f"judging {self.total} answers")


def _json(name: str, judged: Judged) -> str:
    cost = {"cost": vars(judged.cost)} if isinstance(judged.cost, Prediction) else {}
    return json.dumps({"answer": name, **judged.judgement.fields(), **cost}, allow_nan=False)


def _said(judged: Judged) -> str:
    reason = f": {judged.judgement.reasons[0]}".splitlines()[0] if judged.judgement.reasons else ""
    cost = f", {judged.cost}" if isinstance(judged.cost, Prediction) else ""
    return f"{judged.judgement.verdict.value}{cost}{reason}"
