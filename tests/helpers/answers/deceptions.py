"""All attacks, by what they rely on; each is written as somebody would write it who has read the judge."""

from __future__ import annotations

from tests.helpers.answers.of_others import ATEN, COPIES, HOST
from tests.helpers.answers.of_outputs import OUTPUTS
from tests.helpers.answers.of_the_judge import MACHINE, RECORDS
from tests.helpers.answers.of_time import MEMORY, STATE

BY_CLASS = {
    "copy kernels": COPIES,
    "operators that are not seen": ATEN,
    "the host": HOST,
    "memory": MEMORY,
    "state": STATE,
    "probes": MACHINE,
    "records": RECORDS,
    "outputs": OUTPUTS,
}
"""The task and the answer of each attack, by what it relies on."""
