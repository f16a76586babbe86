"""Judge on a Ray cluster, which restarts a judgement if its worker or machine fails."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from opbridge._version import __version__
from opbridge.analysis.judge.answer.submissions import Submission, torch_version
from opbridge.analysis.judge.judgement import Judgement
from opbridge.analysis.judge.many.runners import Case, Found, Outcome, outcome_of
from opbridge.analysis.judge.process.prepared import Prepared
from opbridge.base.errors import InputError, OpbridgeError, ToolchainError

_TRIES = 3
"""The number of retries for an answer that ends its worker."""
_AHEAD = 4
"""Tasks to queue in Ray for each processor; without a limit, it would store thousands of sources."""


@dataclass(frozen=True)
class Cluster:
    """A runner on a Ray cluster."""

    address: str
    """The cluster address, as `ray.init` accepts it."""

    def judged(self, cases: Sequence[Case]) -> Iterator[tuple[Case, Outcome]]:
        """Yield each case with its outcome, as they are done; raise InputError if the cluster does not respond."""
        ray = _library()
        try:
            ray.init(address=self.address, logging_level="error", log_to_driver=False)
        except (ConnectionError, ValueError, RuntimeError) as error:
            hint = "start one: ray start --head; its address is `auto` on that machine"
            raise InputError(f"no cluster of Ray's answers at {self.address}: {error}", hint=hint) from None
        try:
            yield from _judged_by(ray, iter(cases))
        finally:
            ray.shutdown()


def _library() -> Any:
    try:
        import ray
    except ImportError:
        raise InputError("judge --ray needs Ray", hint="pip install ray") from None
    return ray


def _judged_by(ray: Any, cases: Iterator[Case]) -> Iterator[tuple[Case, Outcome]]:
    task = ray.remote(num_cpus=1, max_retries=_TRIES)(judge_submission)
    most = _AHEAD * max(1, int(ray.cluster_resources().get("CPU", 1)))
    versions = (__version__, torch_version())
    running: dict[Any, Case] = {}
    while True:
        while len(running) < most and (case := next(cases, None)):
            running[task.remote(case.submission, case.chip, case.known, versions)] = case
        if not running:
            return
        done, _ = ray.wait(list(running))
        for reference in done:
            yield running.pop(reference), _outcome(ray, reference)


def _outcome(ray: Any, reference: Any) -> Outcome:
    try:
        found = ray.get(reference)
    except ray.exceptions.RayError as error:
        return ToolchainError(f"its worker ended {_TRIES + 1} times, or the cluster did: {error}")
    return ToolchainError(found) if isinstance(found, str) else found


def judge_submission(
    submission: Submission, chip: str, known: Judgement | None, versions: tuple[str, str]
) -> Found | str:
    """Judge in a worker; return a text that explains why there is no verdict, if there is none."""
    own = (__version__, torch_version())
    if own != versions:
        (ours, theirs) = (f"opbridge {one[0]} and PyTorch {one[1] or 'missing'}" for one in (own, versions))
        return f"this worker has {ours}, who asks has {theirs}: install the same on all machines"
    found = outcome_of(_prepared(), submission, chip, known)
    return str(found) if isinstance(found, OpbridgeError) else _plain(found)


def _plain(found: Found) -> Found:
    """Return the result without an error as its cost: exceptions may not survive pickling."""
    return Found(found.judgement) if isinstance(found.cost, OpbridgeError) else found


@cache
def _prepared() -> Prepared:
    """Return the prepared processes of this worker, which live as long as the worker."""
    return Prepared()
