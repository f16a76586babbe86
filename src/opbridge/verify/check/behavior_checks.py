"""The checks of an operator's behavior: aliasing, determinism, threads, memory."""

from __future__ import annotations

import ctypes
import gc
import threading
import time
from collections.abc import Iterator
from itertools import pairwise
from statistics import median

from opbridge.verify.check.arrays import Array, mismatch
from opbridge.verify.check.drivers import listed, packed
from opbridge.verify.check.inputs import Case
from opbridge.verify.check.operator_under_test import OperatorUnderTest
from opbridge.verify.check.outcomes import Failure, Skip

_REPEATS = 10
_FEWEST_REPEATS = 3
"""The minimum, even for slow calls: on a busy machine, two calls may add up in the same order by chance."""
_THREADS = 8
_CALLS_A_THREAD = 20
_IN_A_ROW = 4
_MANY = 260_000
_MOST = 2_100_000
"""So many elements that all threads work at the same time, and that the processor's caches cannot hold them."""
_CALLS = 10_000
_SEGMENTS = 5
_FEWEST = 20
"""The minimum number of calls in a segment, even if they are slow."""
_SECONDS = 3.0
"""The time for all calls of one operator; a slow one is called less often."""
_FEW_SECONDS = 1.0
"""The time for repeating the same call with one input."""
_SMALLEST_LEAK = 8
"""Bytes per call: the smallest block that an allocator returns."""


def aliasing(subject: OperatorUnderTest) -> str:
    """Verify that only declared arguments change and that outputs have their own memory."""
    case = subject.case
    given = subject.arguments(case)
    values = subject.driver.values(subject.schema, given)
    outputs = subject.driver.call(subject.op, subject.schema, values)
    written = {argument.name for argument in subject.schema.mutable_arguments}
    if len(outputs) < 2 and not any(isinstance(value, (Array, tuple)) for value in given.values()):
        raise Skip("it has only one tensor")
    for name, before in given.items():
        if name in written or not isinstance(before, Array):
            continue
        if not subject.driver.array(values[name]).same_bits(before):
            raise Failure(
                f"changes its input {name}, for {case}; write only to the output, or declare it: "
                f"`Tensor(a!) {name}` and ob::InOut<T>"
            )
    if not subject.schema.mutable_arguments and all(output.alias is None for output in subject.schema.returns):
        _check_memory(subject, values, outputs)
    return "inputs stay as they were" if not written else f"{', '.join(sorted(written))} alone are written to"


def _check_memory(subject: OperatorUnderTest, values: dict[str, object], outputs: list[object]) -> None:
    taken = {name: subject.driver.span(values[name]) for name in subject.plain_tensors(subject.case)}
    for number, output in enumerate(outputs):
        span = subject.driver.span(output)
        for name, other in taken.items():
            if span and other and span[0] < other[1] and other[0] < span[1]:
                raise Failure(
                    f"output {number} shares the memory of {name}, which the schema does not say; "
                    f"declare it `Tensor(a) {name}` and `-> Tensor(a)`, or return a copy"
                )
        taken[f"output {number}"] = span


def determinism(subject: OperatorUnderTest) -> str:
    """Verify that repeated calls give the same bits."""
    calls = 0
    for case in _ever_larger(subject):
        given = subject.arguments(case)
        started = time.perf_counter()
        first = subject.run(given)
        repeats = _affordable(_REPEATS, time.perf_counter() - started)
        for other in subject.rerun(given, repeats):
            if not _same(first, other):
                raise Failure(
                    f"the same call {mismatch(other, first, 0.0) or 'gives other bits'}, for {case}; initialise what "
                    "the kernel reads, and do not add up in the order that threads finish"
                )
        calls += 1 + repeats
    return f"{calls} calls, the largest with {case}, bit for bit"


def _ever_larger(subject: OperatorUnderTest) -> Iterator[Case]:
    """Yield cases with few elements, with many, and with so many that all threads take part for long.

    Stop early if that would take minutes. Only NumPy uses the largest, since the kernel is the same in every
    framework.
    """
    yield subject.case
    for elements in (_MANY, _MOST) if subject.driver.name == "numpy" else (_MANY,):
        case = subject.with_elements(elements)
        if case is None:
            return
        started = time.perf_counter()
        yield case
        if time.perf_counter() - started > _SECONDS:
            return


def _affordable(most: int, seconds: float) -> int:
    """Return how often to repeat a call that takes so long."""
    return max(_FEWEST_REPEATS, min(most, int(_FEW_SECONDS / max(seconds, 1e-9))))


def threads(subject: OperatorUnderTest) -> str:
    """Verify that several threads calling at once get the same results as one."""
    if subject.driver.one_thread_only:
        raise Skip(subject.driver.one_thread_only)
    calls = [_at_once(subject, case) for case in (subject.case, subject.with_elements(_MANY)) if case]
    return f"{_THREADS} threads, {' and '.join(map(str, calls))} calls each"


def _at_once(subject: OperatorUnderTest, case: Case) -> int:
    """Call the operator from all threads at the same time, and return how often each thread called it."""
    given = [subject.filled(case, subject.settings.seed + number) for number in range(_THREADS)]
    started = time.perf_counter()
    expected = [subject.run(item) for item in given]
    calls = _affordable(_CALLS_A_THREAD, time.perf_counter() - started)
    subject.announce(f"{case}, from {_THREADS} threads")
    wrong: list[str] = []
    start = threading.Barrier(_THREADS)
    reused = not subject.schema.mutable_arguments
    values = [subject.driver.values(subject.schema, item) for item in given]

    def call(number: int) -> list[object]:
        fresh = values[number] if reused else subject.driver.values(subject.schema, given[number])
        return subject.driver.call(subject.op, subject.schema, fresh)

    def work(number: int) -> None:
        start.wait()
        try:
            for begun in range(0, calls, _IN_A_ROW):
                # Reading a result takes longer than many calls, so calls would rarely overlap without this.
                made = [call(number) for _ in range(min(_IN_A_ROW, calls - begun))]
                for outputs in made:
                    arrays = [subject.driver.array(output) for output in outputs]
                    if not _same(expected[number], arrays):
                        wrong.append(mismatch(arrays, expected[number], 0.0) or "gives other bits")
                        return
        except Exception as error:  # report whatever a thread raises in the row
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
    return calls


def memory(subject: OperatorUnderTest) -> str:
    """Verify that thousands of calls do not leak memory."""
    if _bytes_in_use() is None:
        raise Skip("this C library does not count its memory")
    if subject.schema.mutable_arguments and subject.driver.written_leaves_memory:
        raise Skip(subject.driver.written_leaves_memory)
    gc.collect()
    gc.freeze()  # walking through a framework's own objects takes a second each time
    try:
        calls, growth = _growth(subject, _CALLS, _SECONDS)
        if min(growth) >= _SMALLEST_LEAK:
            # A queue that is emptied occasionally grows too, but not forever.
            _, growth = _growth(subject, 5 * _CALLS, 10 * _SECONDS)
    finally:
        gc.unfreeze()
    if min(growth) >= _SMALLEST_LEAK:
        raise Failure(
            f"{median(growth):.0f} bytes are leaked by every call, for {subject.case}; free what the "
            "kernel allocates, or take ob::scratch<T>(n), which frees itself"
        )
    return f"{calls:,} calls"


def _growth(subject: OperatorUnderTest, most: int, seconds: float) -> tuple[int, list[float]]:
    """Return the number of calls, and the growth in bytes per call in each segment of them except the first."""
    values = subject.driver.values(subject.schema, subject.arguments(subject.case))
    args, kwargs = packed(subject.schema, values)
    target = subject.op if subject.schema.tensor_arguments else getattr(subject.op, subject.driver.name)
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
        subject.driver.finish(listed(last))
        gc.collect()
        marks.append(_bytes_in_use() or 0)
    return a_segment * _SEGMENTS, [(after - before) / a_segment for before, after in pairwise(marks)]


class _MallocInfo(ctypes.Structure):
    """The struct mallinfo2 of glibc."""

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
