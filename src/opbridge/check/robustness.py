"""The rows about how an operator behaves: aliasing, determinism, threads, memory."""

from __future__ import annotations

import ctypes
import gc
import threading
import time
from itertools import pairwise
from statistics import median
from typing import Any

from opbridge.check.arrays import Array, arguments, mismatch
from opbridge.check.hosts import listed, packed
from opbridge.check.operator_under_test import Failure, Skip, Subject, counted

_REPEATS = 10
_THREADS = 8
_CALLS_A_THREAD = 20
_CALLS = 10_000
_SEGMENTS = 5
_FEWEST = 20
"""Calls in a segment, however slow they are."""
_SECONDS = 3.0
"""For all calls of one operator; a slow one is called less often."""
_SMALLEST_LEAK = 8
"""Bytes a call: what an allocator gives at least."""


def aliasing(subject: Subject) -> str:
    case = subject.case
    given = subject.arguments(case)
    values = subject.host.values(subject.schema, given)
    outputs = subject.host.call(subject.op, subject.schema, values)
    written = {argument.name for argument in subject.schema.mutable_arguments}
    for name, before in given.items():
        if name in written or not isinstance(before, Array):
            continue
        if not subject.host.array(values[name]).same_bits(before):
            raise Failure(
                f"changes its input {name}, for {case}; write to the output alone, or declare it: "
                f"`Tensor(a!) {name}` and ob::InOut<T>"
            )
    if not subject.schema.mutable_arguments and all(output.alias is None for output in subject.schema.returns):
        _check_memory(subject, values, outputs)
    return "inputs stay as they were" if not written else f"{', '.join(sorted(written))} alone are written to"


def _check_memory(subject: Subject, values: dict[str, Any], outputs: list[Any]) -> None:
    taken = {name: subject.host.span(values[name]) for name in subject.plain_tensors(subject.case)}
    for number, output in enumerate(outputs):
        span = subject.host.span(output)
        for name, other in taken.items():
            if span and other and span[0] < other[1] and other[0] < span[1]:
                raise Failure(
                    f"output {number} shares the memory of {name}, which the schema does not say; "
                    f"declare it `Tensor(a) {name}` and `-> Tensor(a)`, or return a copy"
                )
        taken[f"output {number}"] = span


def determinism(subject: Subject) -> str:
    cases = [subject.case]
    if subject.form is not None and (large := subject.varied("large")):
        cases.append(large)
    for case in cases:
        given = subject.arguments(case)
        first, *others = subject.rerun(given, _REPEATS)
        for other in others:
            if not _same(first, other):
                raise Failure(
                    f"the same call {mismatch(other, first, 0.0) or 'gives other bits'}, for {case}; initialise what "
                    "the kernel reads, and do not add up in the order that threads finish"
                )
    return f"{_REPEATS} calls on {counted(len(cases), 'input')}, bit for bit"


def threads(subject: Subject) -> str:
    if subject.host.one_thread_only:
        raise Skip(subject.host.one_thread_only)
    case = subject.case
    given = [arguments(case, subject.settings.seed + number) for number in range(_THREADS)]
    expected = [subject.run(item) for item in given]
    values = [subject.host.values(subject.schema, item) for item in given]
    reused = not subject.schema.mutable_arguments
    subject.announce(f"{case}, from {_THREADS} threads")
    wrong: list[str] = []
    start = threading.Barrier(_THREADS)

    def work(number: int) -> None:
        start.wait()
        try:
            for _ in range(_CALLS_A_THREAD):
                made = subject.called(values[number]) if reused else subject.run(given[number])
                if not _same(expected[number], made):
                    wrong.append(mismatch(made, expected[number], 0.0) or "gives other bits")
                    return
        except Exception as error:  # whatever a thread raises is the row's
            wrong.append(f"fails: {error}")

    workers = [threading.Thread(target=work, args=(number,)) for number in range(_THREADS)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    if wrong:
        raise Failure(
            f"called from {_THREADS} threads at once it {wrong[0]}, for {case}; keep no state between calls: "
            "ob::scratch<T>(n) is memory of one call"
        )
    return f"{_THREADS} threads, {_CALLS_A_THREAD} calls each"


def memory(subject: Subject) -> str:
    if _bytes_in_use() is None:
        raise Skip("this C library does not count its memory")
    if subject.schema.mutable_arguments and subject.host.written_leaves_memory:
        raise Skip(subject.host.written_leaves_memory)
    gc.collect()
    gc.freeze()  # what a framework is made of takes a second to walk through, each time
    try:
        calls, growth = _growth(subject, _CALLS, _SECONDS)
        if min(growth) >= _SMALLEST_LEAK:
            # A queue that is emptied now and then grows too, and not for ever.
            _, growth = _growth(subject, 5 * _CALLS, 10 * _SECONDS)
    finally:
        gc.unfreeze()
    if min(growth) >= _SMALLEST_LEAK:
        raise Failure(
            f"{median(growth):.0f} bytes are left behind by every call, for {subject.case}; free what the "
            "kernel allocates, or take ob::scratch<T>(n), which frees itself"
        )
    return f"{calls:,} calls"


def _growth(subject: Subject, most: int, seconds: float) -> tuple[int, list[float]]:
    """The number of calls, and by how many bytes a call memory grew in each segment of them but the first."""
    values = subject.host.values(subject.schema, subject.arguments(subject.case))
    args, kwargs = packed(subject.schema, values)
    target = subject.op if subject.schema.tensor_arguments else getattr(subject.op, subject.host.name)
    started = time.perf_counter()
    for _ in range(_FEWEST):
        target(*args, **kwargs)
    affordable = int(seconds * _FEWEST / (time.perf_counter() - started))
    a_segment = max(min(most, affordable) // _SEGMENTS, _FEWEST)
    marks = []
    for segment in range(_SEGMENTS):
        subject.announce(f"{subject.case}, call {segment * a_segment}")
        for _ in range(a_segment):
            last = target(*args, **kwargs)
        subject.host.finish(listed(last))
        gc.collect()
        marks.append(_bytes_in_use() or 0)
    return a_segment * _SEGMENTS, [(after - before) / a_segment for before, after in pairwise(marks)]


class _MallocInfo(ctypes.Structure):
    """glibc's mallinfo2."""

    _fields_ = tuple(
        (name, ctypes.c_size_t)
        for name in (
            "arena",
            "ordblks",
            "smblks",
            "hblks",
            "hblkhd",
            "usmblks",
            "fsmblks",
            "uordblks",
            "fordblks",
            "keep",
        )
    )


def _bytes_in_use() -> int | None:
    function = getattr(ctypes.CDLL(None), "mallinfo2", None)
    if function is None:
        return None
    function.restype = _MallocInfo
    info = function()
    return int(info.uordblks + info.hblkhd)


def _same(ours: list[Array], theirs: list[Array]) -> bool:
    return all(one.same_bits(other) for one, other in zip(ours, theirs, strict=True))
