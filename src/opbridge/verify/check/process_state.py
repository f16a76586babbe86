"""The check `manners`: a kernel must leave everything that it shares with its process unchanged.

This row also reports a kernel that ends the process or makes it wait forever, which is observed from outside.
"""

from __future__ import annotations

from contextlib import suppress
from itertools import pairwise

from opbridge.base.errors import OpbridgeError
from opbridge.verify.check.kernel_declarations import device_of
from opbridge.verify.check.operator_under_test import OperatorUnderTest
from opbridge.verify.check.outcomes import Failure, Unchecked, counted
from opbridge.verify.check.shared_state import Surroundings, differences, open_files

_VARIATIONS = ("plain", "one element", "odd", "no elements", "large")
_REPEATS = 3


def manners(subject: OperatorUnderTest) -> str:
    """Call the kernel with several sizes, and compare the state of the process before and after."""
    taken = 0
    for case in subject.sized(_VARIATIONS):
        with suppress(OpbridgeError):  # the row `shapes` reports refusals
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
    """Return whether the check applies: only to CPU kernels called from NumPy.

    A NumPy process has the least running besides the kernel. A twin and PyTorch change the process themselves.
    """
    own = subject.driver.name == "numpy" and not any(kernel.operator for kernel in subject.spec.kernels)
    return own and device_of(subject.op, subject.settings.tensors) == "cpu"


def _look_for_open_files(subject: OperatorUnderTest) -> None:
    """Fail if every call leaves a file open.

    A descriptor opened once may be intentional; one opened on every call is a leak.
    """
    counts = [len(open_files())]
    for _ in range(_REPEATS):
        with suppress(OpbridgeError):
            subject.call(subject.case)
        counts.append(len(open_files()))
    left = min(after - before for before, after in pairwise(counts))
    if left > 0:
        raise Failure(
            f"leaves {counted(left, 'file')} open at every call, for {subject.case}; close each file that it opens"
        )
