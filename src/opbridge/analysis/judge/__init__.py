"""Judge whether an answer to a task is right, and show why if it is not: `opbridge judge`.

The answer and the reference run in separate processes; this process compares their outputs as bytes.
"""

from __future__ import annotations

from opbridge.analysis.judge.judgement import Judgement, Reason, Verdict
from opbridge.analysis.judge.verdict.judge_one import judge

__all__ = ["Judgement", "Reason", "Verdict", "judge"]
