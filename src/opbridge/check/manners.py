"""The row `manners`: a kernel leaves what it shares with everything else in its process as it found it.

What ends the process, or makes it wait for ever, is seen from outside and told in this row too.
"""

from __future__ import annotations

from contextlib import suppress
from itertools import pairwise

from opbridge.check.kernels import device_of
from opbridge.check.operator_under_test import OperatorUnderTest
from opbridge.check.outcomes import Failure, Unchecked, counted
from opbridge.check.surroundings import Surroundings, differences, open_files
from opbridge.errors import OpbridgeError

_VARIATIONS = ("plain", "one element", "odd", "no elements", "large")
_REPEATS = 3


def manners(subject: OperatorUnderTest) -> str:
    taken = 0
    for case in subject.sized(_VARIATIONS):
        with suppress(OpbridgeError):  # what it refuses, the row `shapes` tells
            subject.call(case)
            taken += 1
        found = list(differences(subject.surroundings, Surroundings.now()))
        if found:
            raise Failure(f"{'; '.join(found)}, for {case}")
    if not taken:
        raise Unchecked("every input was refused")
    _look_for_open_files(subject)
    return f"on {counted(taken, 'input')}"


def has_manners_of_its_own(subject: OperatorUnderTest) -> bool:
    """In NumPy, whose process has least beside the kernel; a twin and PyTorch do things of their own there."""
    own = subject.driver.name == "numpy" and not any(kernel.operator for kernel in subject.spec.kernels)
    return own and device_of(subject.op, subject.settings.tensors) == "cpu"


def _look_for_open_files(subject: OperatorUnderTest) -> None:
    """One that is opened once may be wanted; one a call is forgotten."""
    counts = [len(open_files())]
    for _ in range(_REPEATS):
        with suppress(OpbridgeError):
            subject.call(subject.case)
        counts.append(len(open_files()))
    left = min(after - before for before, after in pairwise(counts))
    if left > 0:
        raise Failure(f"leaves {counted(left, 'file')} open at every call, for {subject.case}; close what it opens")
