"""Measure the share of wrong answers that `opbridge judge` rejects: right answers with one change.

    python benchmarks/judge_mutants.py RIGHT WORK --count 500 --seed 0 --jobs 2

RIGHT is a folder for `opbridge judge DIR` with right answers only.  The mutants and their verdicts are written to
WORK, so that an interrupted run continues.  A mutant that is accepted may be right, such as one without an unnecessary
barrier; each is printed, to be read.
"""

from __future__ import annotations

import argparse
import shutil
from collections import Counter
from pathlib import Path

from kernel_mutants import Mutant, mutants

from opbridge.analysis.judge import Judgement, Verdict
from opbridge.analysis.judge.answer.submissions import Options
from opbridge.analysis.judge.many.batch import Judged, answers_in, judge_all
from opbridge.analysis.judge.many.runners import Here

_REJECTED = ("wrong", "broken", "cheating")
_COLUMNS = (*_REJECTED, "right as published", "undecided", "right")


def written(right: Path, work: Path, count: int, seed: int) -> dict[Path, Mutant]:
    """Return the mutants by file, about as many of each answer."""
    pairs = answers_in(right)
    made: dict[Path, Mutant] = {}
    for number, (task, answer) in enumerate(pairs):
        share = count * (number + 1) // len(pairs) - count * number // len(pairs)
        folder = work / f"{number:03}"
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(task, folder / task.name)
        for place, mutant in enumerate(mutants(answer.read_text(encoding="utf-8"), share, seed + number)):
            path = folder / f"{answer.stem}-{place:02}.py"
            path.write_text(mutant.source, encoding="utf-8")
            made[path] = mutant
    return made


def column(judgement: Judgement) -> str:
    """Return the column of a verdict; answers that are right at the published shapes only have a separate one."""
    is_told = judgement.verdict is Verdict.RIGHT and judgement.reasons
    return "right as published" if is_told else judgement.verdict.value


def table(made: dict[Path, Mutant], judged: list[Judged]) -> str:
    counts = Counter((made[one.answer].kind, column(one.judgement)) for one in judged)
    lines = [f"| changed | mutants | {' | '.join(_COLUMNS)} |", "|---" * (len(_COLUMNS) + 2) + "|"]
    for kind in sorted({kind for kind, _ in counts}):
        row = [counts[kind, name] for name in _COLUMNS]
        lines.append(f"| {' | '.join(map(str, (kind, sum(row), *row)))} |")
    rejected = sum(counts[kind, name] for kind, name in counts if name in _REJECTED)
    return "\n".join((*lines, f"rejected: {rejected} of {len(judged)}"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("right", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--timeout", type=float, default=60.0)
    options = parser.parse_args()
    made = written(options.right, options.work, options.count, options.seed)

    def told(one: Judged) -> None:
        mutant, name = made[one.answer], column(one.judgement)
        if name not in _REJECTED:
            shown = one.judgement.reasons[0].message if one.judgement.reasons else one.judgement.holds_for
            print(f"{one.answer}:{mutant.line}: {mutant.kind}, was {mutant.was!r}: {name}: {shown}", flush=True)

    asked = Options(options.seed, options.timeout)
    print(table(made, judge_all(options.work, Here(options.jobs), asked, on_judged=told)))


if __name__ == "__main__":
    main()
