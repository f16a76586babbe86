"""Keep verdicts in files, each named by the hash of its submission."""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from opbridge.analysis.judge.answer.submissions import Submission
from opbridge.analysis.judge.judgement import Judgement, Reason
from opbridge.analysis.judge.verdict.costs import Prediction
from opbridge.base.errors import InputError
from opbridge.build.cache.filesystem import copy_atomically


@dataclass(frozen=True)
class Verdicts:
    """A folder of verdicts.

    A concurrent reader sees a whole file or none; a damaged file counts as none.
    """

    folder: Path

    def get(self, key: str) -> Judgement | None:
        """Return the judgement of a submission; None if there is none."""
        try:
            return Judgement.parse((self.folder / f"{key}.json").read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, InputError):
            return None

    def keep(self, key: str, judgement: Judgement) -> None:
        """Keep the judgement of a submission."""
        self._write(f"{key}.json", judgement.to_json())

    def cost(self, key: str, chip: str) -> Prediction | None:
        """Return the predicted cost of a submission on a chip; None if there is none."""
        try:
            return Prediction(**json.loads((self.folder / f"{key}.{chip}.json").read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            return None

    def keep_cost(self, key: str, cost: Prediction) -> None:
        """Keep the predicted cost of a submission."""
        self._write(f"{key}.{cost.chip}.json", json.dumps(vars(cost), indent=2))

    def _write(self, name: str, text: str) -> None:
        with tempfile.NamedTemporaryFile("w", encoding="utf-8") as written:
            written.write(text)
            written.flush()
            copy_atomically(Path(written.name), self.folder / name)


def of_content(judgement: Judgement, name: str, submission: Submission) -> Judgement:
    """Return the judgement without the name of the judged file."""
    return _renamed(judgement, name, submission.answer_name)


def of_file(judgement: Judgement, submission: Submission, name: str) -> Judgement:
    """Return the judgement with the name of a file in place of the neutral one."""
    return _renamed(judgement, submission.answer_name, name)


def _renamed(judgement: Judgement, old: str, new: str) -> Judgement:
    return replace(judgement, reasons=tuple(_moved(reason, old, new) for reason in judgement.reasons))


def _moved(reason: Reason, old: str, new: str) -> Reason:
    name, colon, line = reason.place.rpartition(":")
    return replace(reason, place=f"{new}{colon}{line}") if name == old else reason
