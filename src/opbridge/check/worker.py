"""The process that checks run in, because a kernel may end it: `python -m opbridge.check.worker JOBS PIPE`.

It writes one JSON line to the pipe before every check, for every input and after every check, so that whoever started
it knows which one ended it.  JOBS is a pickle by the process that started it.
"""

from __future__ import annotations

import json
import os
import pickle
import resource
import sys
import warnings
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from opbridge.check.model import Job


def main(jobs_path: str, pipe: int) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with os.fdopen(pipe, "w", buffering=1) as report, open(jobs_path, "rb") as file:

        def say(**fields: object) -> None:
            report.write(json.dumps(fields) + "\n")

        sys.path[:] = pickle.load(file)
        jobs: list[Job] = pickle.load(file)
        say(ready=True)
        if jobs:
            _work(jobs, say)


def _work(jobs: list[Job], say: Callable[..., None]) -> None:
    import numpy as np

    from opbridge.check.checks import row
    from opbridge.check.hosts import host
    from opbridge.check.model import INPUTS, SANITIZERS, Status
    from opbridge.check.subject import Subject
    from opbridge.errors import BuildError, ToolchainError

    warnings.simplefilter("ignore")  # of frameworks, about code that no user of a check wrote
    for number, job in enumerate(jobs):
        if not job.checks:
            continue  # its kernels were to be built, which loading it did
        try:
            where = host(job.framework, job.settings.tensors)
            getattr(job.op, job.framework)  # what has to be compiled for it is no part of a check's time
        except (BuildError, ToolchainError) as error:
            say(refused=str(error))
            return
        subject = Subject(job.op, where, job.settings, lambda text: say(input=text))
        for name in job.checks if job.checks[0] in SANITIZERS else (INPUTS, *job.checks):
            say(begun=number, check=name)
            with np.errstate(all="ignore"):
                done = row(name, subject)
            found = name != INPUTS or (done is not None and done.status is Status.PASSED)
            # That inputs were found goes without saying.
            say(row=done.fields() if done and not (name == INPUTS and found) else None, last=not found)
            if not found:
                break


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
