"""Texts and files that were good ones until somebody changed them, and the bounds that reading them must keep to."""

from __future__ import annotations

import resource
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st

SECONDS = 20
"""Of the processor's time, so that a busy machine fails nothing."""
BYTES = 2 << 30

fuzzing = settings(deadline=None)

_ODD = ["\0", "\\", "é", "\u2028", "\ufeff", "\x85", "𝐱", "٣", "-", "9" * 30, "1e999", "0x", "nan", "\t", "\r", "None"]
_TIMES = st.sampled_from([1] * 12 + [2, 40, 3000])


@contextmanager
def bounded() -> Iterator[None]:
    """Ends what runs or grows without bound with an error."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    before = resource.getrlimit(resource.RLIMIT_AS)
    handler = signal.signal(signal.SIGVTALRM, _out_of_time)
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + BYTES, before[1]))
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    try:
        yield
    except _OutOfTime:
        # Anew: where a signal struck, a traceback may have no line, and pytest then shows nothing at all.
        raise AssertionError(f"it ran for {SECONDS} seconds") from None
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, handler)
        resource.setrlimit(resource.RLIMIT_AS, before)


class _OutOfTime(BaseException):
    pass


def _out_of_time(number: int, frame: object) -> None:
    raise _OutOfTime


@st.composite
def edited_texts(draw: st.DrawFn, seeds: Sequence[str], pieces: Sequence[str]) -> str:
    """One of the seeds with words of all of them put in, taken out, doubled and repeated."""
    text = draw(st.sampled_from(seeds))
    for _ in range(draw(st.integers(1, 5))):
        start = draw(st.integers(0, len(text)))
        removed = draw(st.sampled_from([0, 0, 1, 1, 2, 5, 20, len(text)]))
        piece = draw(st.sampled_from([*pieces, *_ODD]) | st.characters(exclude_categories=()))
        text = text[:start] + piece * draw(_TIMES) + text[start + removed :]
    return text


_NUMBERS = [0, 1, 2, 3, 7, 8, 0x7F, 0x80, 0xFF, 0xFFFF, 1 << 31, (1 << 32) - 1, 1 << 40, 1 << 63, (1 << 64) - 1]


@st.composite
def edited_files(draw: st.DrawFn, seeds: Sequence[bytes], places: Sequence[Sequence[int]]) -> bytes:
    """One of the seeds with numbers and bytes changed, most often at its places, and perhaps cut or doubled."""
    number = draw(st.integers(0, len(seeds) - 1))
    data = bytearray(seeds[number])
    anywhere = st.integers(0, max(0, len(data) - 1))
    often = st.sampled_from(places[number]) | anywhere if places[number] else anywhere
    for _ in range(draw(st.integers(1, 6))):
        at, width = draw(often), draw(st.sampled_from([1, 1, 2, 4, 8]))
        value = draw(st.sampled_from([*_NUMBERS, len(data)]) | st.integers(0, 1 << 64))
        data[at : at + width] = (value % (1 << 8 * width)).to_bytes(width, "little")
    if draw(st.integers(0, 9)) == 0:
        start, end = sorted((draw(anywhere), draw(anywhere)))
        data[start:end] = data[start:end] * draw(st.sampled_from([0, 2]))
    return bytes(data)


def words_of(texts: Sequence[str], word: str) -> list[str]:
    """What the texts consist of, and pairs of it."""
    import re

    found = [re.findall(word, text) for text in texts]
    pairs = {left + right for words in found for left, right in pairwise(words)}
    return sorted({piece for words in found for piece in words} | pairs)
