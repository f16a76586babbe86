"""The process that runs checks: it reports before every check, for every input, and after every check."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from opbridge.verify.check.child_process import Say, serve

if TYPE_CHECKING:
    from opbridge.verify.check.results import OperatorChecks


def _work(jobs: list[OperatorChecks], say: Say) -> None:
    import numpy as np

    from opbridge.base.errors import BuildError, ToolchainError
    from opbridge.verify.check.checks import row
    from opbridge.verify.check.drivers import driver
    from opbridge.verify.check.kernel_declarations import build_kernel
    from opbridge.verify.check.operator_under_test import OperatorUnderTest
    from opbridge.verify.check.results import INPUTS, MANNERS, SANITIZERS, Status

    warnings.simplefilter("ignore")  # warnings of frameworks about code that the user did not write
    for number, job in enumerate(jobs):
        say(preparing=number)
        try:
            # Compile first: compilation must not count in the time or the processes of a check.
            build_kernel(job.op, job.settings.tensors)
            if not job.checks:
                continue
            where = driver(job.framework, job.settings.tensors)
            getattr(job.op, job.framework)
            subject = OperatorUnderTest(job.op, where, job.settings, lambda text: say(input=text))
        except (BuildError, ToolchainError) as error:
            say(refused=str(error))
            return
        is_spoiled = False
        for name in job.checks if job.checks[0] in SANITIZERS else (INPUTS, *job.checks):
            say(begun=number, check=name)
            with np.errstate(all="ignore"):
                done = row(name, subject)
            is_spoiled |= name == MANNERS and done is not None and done.failed
            found = name != INPUTS or (done is not None and done.status is Status.PASSED)
            # Do not report that inputs were found.
            say(row=done.fields() if done and not (name == INPUTS and found) else None, last=not found)
            if not found:
                break
        if is_spoiled:
            say(left=number + 1)  # run the next operator in a new process, because this one has changed the state
            return


if __name__ == "__main__":
    serve(_work)
