"""All attacks, by what they rely on; each is written as somebody would write it who has read the judge."""

from __future__ import annotations

from tests.helpers.answers.of_calls import CACHES, CALLS, IN_CPP, PROBES
from tests.helpers.answers.of_forging import FORGING
from tests.helpers.answers.of_native import DISCARDED, NATIVE, OPERATORS, STREAMS
from tests.helpers.answers.of_others import ATEN, COPIES, HOST
from tests.helpers.answers.of_outputs import OUTPUTS
from tests.helpers.answers.of_the_judge import MACHINE, RECORDS
from tests.helpers.answers.of_time import MEMORY, STATE
from tests.helpers.answers.of_values import KINDS, TOLERANCE

BY_CLASS = {
    "copy kernels": COPIES,
    "operators that are not seen": ATEN,
    "operators of a low price": OPERATORS,
    "the host": HOST,
    "C++": NATIVE,
    "kernels for nothing": DISCARDED,
    "streams": STREAMS,
    "memory": {**MEMORY, **CACHES},
    "state": {**STATE, **CALLS},
    "probes": {**MACHINE, **PROBES, **IN_CPP},
    "records": RECORDS,
    "records that are forged": FORGING,
    "outputs": {**OUTPUTS, **KINDS},
    "tolerance": TOLERANCE,
}
"""The task and the answer of each attack, by what it relies on."""
