"""Where submissions wait: each content once, and no more of them than were agreed."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from typing import TypeAlias

from opbridge.errors import OpbridgeError
from opbridge.judging.model import Judgement
from opbridge.judging.running import Outcome, outcome_of
from opbridge.judging.submissions import Submission
from opbridge.judging.verdicts import Verdicts
from opbridge.judging.warming import Prepared

_MOST_FAILURES = 1000
"""That are remembered for those who ask later; verdicts are kept for good."""

Known: TypeAlias = "Judgement | OpbridgeError"


class FullError(Exception):
    """As many wait as may."""


class Desk:
    """Belongs to one event loop, whose thread alone calls it."""

    def __init__(self, verdicts: Verdicts, prepared: Prepared, *, jobs: int, most: int) -> None:
        self._verdicts, self._prepared, self._most = verdicts, prepared, most
        self._threads = ThreadPoolExecutor(jobs)
        self._begun: dict[str, asyncio.Future[Outcome]] = {}
        self._failed: OrderedDict[str, OpbridgeError] = OrderedDict()

    @property
    def waiting(self) -> int:
        return len(self._begun)

    def known(self, key: str) -> Known | None:
        return self._verdicts.get(key) or self._failed.get(key)

    def hand_in(self, submission: Submission) -> None:
        """Is known or waits from now on."""
        key = submission.key
        if key in self._begun or self._verdicts.get(key):
            return
        if self.waiting >= self._most:
            raise FullError
        self._failed.pop(key, None)  # what failed on this machine may not fail again
        future = asyncio.get_running_loop().run_in_executor(self._threads, self._judged, submission)
        self._begun[key] = future
        future.add_done_callback(lambda done: self._end(key, done))

    async def outcome(self, key: str, seconds: float) -> Known | None:
        """What is known of it within so many seconds."""
        future = self._begun.get(key)
        if future is not None:
            await asyncio.wait({future}, timeout=seconds)
        return self.known(key)

    async def stop(self) -> None:
        """Those that have begun end, and their verdicts are kept; the others were never begun."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        if self._begun:
            await asyncio.wait(set(self._begun.values()))

    def has(self, key: str) -> bool:
        return key in self._begun

    def _judged(self, submission: Submission) -> Outcome:
        found = outcome_of(self._prepared, submission)
        if not isinstance(found, OpbridgeError):
            self._verdicts.keep(submission.key, found.judgement)
        return found

    def _end(self, key: str, done: asyncio.Future[Outcome]) -> None:
        del self._begun[key]
        if done.cancelled():
            return
        error = done.exception() or done.result()
        if isinstance(error, BaseException):
            self._failed[key] = error if isinstance(error, OpbridgeError) else OpbridgeError(repr(error))
            while len(self._failed) > _MOST_FAILURES:
                self._failed.popitem(last=False)
