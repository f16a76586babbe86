"""Judge whether an answer to a task is right, and show why if it is not: `opbridge judge`.

The answer and the reference run in separate processes; this process compares their outputs as bytes.
"""

from __future__ import annotations

from opbridge.analysis.judge.deciding import judge
from opbridge.analysis.judge.model import Judgement, Reason, Verdict

__all__ = ["Judgement", "Reason", "Verdict", "judge"]
