"""Verdicts that are kept: each a file named by the content that it is of."""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from opbridge.cache.filesystem import copy_atomically
from opbridge.errors import InputError
from opbridge.judging.costing import Prediction
from opbridge.judging.model import Judgement, Reason
from opbridge.judging.submissions import Submission


@dataclass(frozen=True)
class Verdicts:
    """Whoever reads a file while others write it sees all of it or none; one that is damaged is none."""

    folder: Path

    def get(self, key: str) -> Judgement | None:
        try:
            return Judgement.parse((self.folder / f"{key}.json").read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, InputError):
            return None

    def keep(self, key: str, judgement: Judgement) -> None:
        self._write(f"{key}.json", judgement.to_json())

    def cost(self, key: str, chip: str) -> Prediction | None:
        try:
            return Prediction(**json.loads((self.folder / f"{key}.{chip}.json").read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            return None

    def keep_cost(self, key: str, cost: Prediction) -> None:
        self._write(f"{key}.{cost.chip}.json", json.dumps(vars(cost), indent=2))

    def _write(self, name: str, text: str) -> None:
        with tempfile.NamedTemporaryFile("w", encoding="utf-8") as written:
            written.write(text)
            written.flush()
            copy_atomically(Path(written.name), self.folder / name)


def of_content(judgement: Judgement, name: str, submission: Submission) -> Judgement:
    """Without the name that the file had which was judged."""
    return _renamed(judgement, name, submission.answer_name)


def of_file(judgement: Judgement, submission: Submission, name: str) -> Judgement:
    return _renamed(judgement, submission.answer_name, name)


def _renamed(judgement: Judgement, old: str, new: str) -> Judgement:
    return replace(judgement, reasons=tuple(_moved(reason, old, new) for reason in judgement.reasons))


def _moved(reason: Reason, old: str, new: str) -> Reason:
    name, colon, line = reason.place.rpartition(":")
    return replace(reason, place=f"{new}{colon}{line}") if name == old else reason
