"""`opbridge judge`: whether an answer to a task is right, and what shows that it is not.

The answer runs in a process of its own and the reference in another; here their outputs are compared, as bytes.
"""

from __future__ import annotations

from opbridge.judging.deciding import judge
from opbridge.judging.model import Judgement, Reason, Verdict

__all__ = ["Judgement", "Reason", "Verdict", "judge"]
