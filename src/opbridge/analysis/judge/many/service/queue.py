"""Queue submissions: each content once, and no more than the limit."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from typing import TypeAlias

from opbridge.analysis.judge.answer.submissions import Submission
from opbridge.analysis.judge.judgement import Judgement
from opbridge.analysis.judge.many.kept_verdicts import Verdicts
from opbridge.analysis.judge.many.runners import Found, Outcome, outcome_of
from opbridge.analysis.judge.process.prepared import Prepared
from opbridge.base.errors import OpbridgeError

_MOST_FAILURES = 1000
"""The number of failures to remember; verdicts are kept forever."""

Known: TypeAlias = "Judgement | OpbridgeError"


class FullError(Exception):
    """The queue is full."""


class Desk:
    """The queue of submissions; it belongs to one event loop, and only that thread may call it."""

    def __init__(self, verdicts: Verdicts, prepared: Prepared, *, jobs: int, most: int) -> None:
        self._verdicts, self._prepared, self._most = verdicts, prepared, most
        self._threads = ThreadPoolExecutor(jobs)
        self._begun: dict[str, asyncio.Future[Outcome]] = {}
        self._passing: OrderedDict[str, Known] = OrderedDict()
        """Failures and verdicts of this machine alone: the next submission of the same content tries again."""

    @property
    def waiting(self) -> int:
        """The number of submissions that wait or are being judged."""
        return len(self._begun)

    def known(self, key: str) -> Known | None:
        """Return the verdict or the error of a submission; None if there is neither."""
        return self._verdicts.get(key) or self._passing.get(key)

    def hand_in(self, submission: Submission) -> None:
        """Queue the submission unless it waits already or its verdict is known; raise FullError if there is no room."""
        key = submission.key
        if key in self._begun or self._verdicts.get(key):
            return
        if self.waiting >= self._most:
            raise FullError
        self._passing.pop(key, None)
        future = asyncio.get_running_loop().run_in_executor(self._threads, self._judged, submission)
        self._begun[key] = future
        future.add_done_callback(lambda done: self._end(key, done))

    async def outcome(self, key: str, seconds: float) -> Known | None:
        """Return the verdict or the error of a submission; None if it is not ready after `seconds`."""
        future = self._begun.get(key)
        if future is not None:
            await asyncio.wait({future}, timeout=seconds)
        return self.known(key)

    async def stop(self) -> None:
        """Cancel the submissions that have not begun, and wait for the others; their verdicts are kept."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        if self._begun:
            await asyncio.wait(set(self._begun.values()))

    def has(self, key: str) -> bool:
        """Return whether a submission waits or is being judged."""
        return key in self._begun

    def _judged(self, submission: Submission) -> Outcome:
        found = outcome_of(self._prepared, submission)
        if not isinstance(found, OpbridgeError) and not found.judgement.is_of_machine:
            self._verdicts.keep(submission.key, found.judgement)
        return found

    def _end(self, key: str, done: asyncio.Future[Outcome]) -> None:
        del self._begun[key]
        if done.cancelled():
            return
        found = done.exception() or done.result()
        if isinstance(found, Found):
            passing: Known | None = found.judgement if found.judgement.is_of_machine else None
        else:
            passing = found if isinstance(found, OpbridgeError) else OpbridgeError(repr(found))
        if passing is not None:
            self._passing[key] = passing
            while len(self._passing) > _MOST_FAILURES:
                self._passing.popitem(last=False)
