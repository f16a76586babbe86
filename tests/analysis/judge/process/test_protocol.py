"""What the process of an answer may say, and when; an answer can write to the pipe of the worker."""

from __future__ import annotations

from typing import Any

import pytest

from opbridge.analysis.judge.process.protocol import Protocol
from opbridge.verify.check.child_messages import Lines, NonsenseError, as_line

ERROR = {"kind": "ValueError", "message": "no", "place": "", "build": False, "tools": False}
BEGUN: list[dict[str, Any]] = [{"ready": True}, {"begun": "building"}, {"built": True}]
FIRST: list[dict[str, Any]] = [
    {"asks": 0},
    {"begun": 0},
    {"ran": 0, "operators": ["relu"], "changed": [], "operations": 0.0, "calls": 2},
]
SECOND: list[dict[str, Any]] = [{"asks": 1}, {"begun": 1}, {"failed": 1, **ERROR}]
DONE: list[dict[str, Any]] = [{"tampering": []}, {"begun": "muted"}, {"muted": True}, {"done": True}]
VAST: list[dict[str, Any]] = [{"begun": 2}, {"vast": ERROR}]


def hear(said: list[dict[str, Any]], denied: tuple[int, ...] = ()) -> None:
    """Check the messages as the judge does, which hands over trials 0 and 1, and 2 at sizes too large to compute."""
    protocol = Protocol()
    for one in said:
        kind = protocol.check(one)
        if kind == "built":
            protocol.hands_over([0, 1], 2)
        if kind == "asks" and one["asks"] not in denied:
            protocol.allows(one["asks"])


@pytest.mark.parametrize(
    "said",
    [
        [*BEGUN, *FIRST, *SECOND, *DONE, *VAST],
        [*BEGUN, *FIRST, *SECOND, {"tampering": []}, {"begun": "muted"}, {"done": True}],
        [{"ready": True}, {"refused": "no namespaces"}],
        [*BEGUN[:2], {"raised": ERROR}],
    ],
)
def test_what_a_worker_says(said: list[dict[str, Any]]) -> None:
    hear(said)


def test_what_the_judge_leaves_out_is_not_run() -> None:
    hear([*BEGUN, *FIRST, {"asks": 1}, *DONE], denied=(1,))
    with pytest.raises(NonsenseError, match="out of turn"):
        hear([*BEGUN, *FIRST, *SECOND], denied=(1,))


@pytest.mark.parametrize(
    "said",
    [
        [*BEGUN, {"built": True}],
        [*BEGUN[:2], {"refused": "this machine is broken"}],
        [*BEGUN[:2], {"begun": "building"}],
        [*BEGUN, *FIRST[:1], *FIRST[2:]],
        [*BEGUN, *FIRST, *FIRST[2:]],
        [*BEGUN, *FIRST, *DONE],
        [*BEGUN, *DONE],
        [*BEGUN, *FIRST, *SECOND, {"done": True}],
        [*BEGUN, *FIRST, *SECOND, *DONE, {"begun": 7}],
        [*BEGUN, {"asks": 7}],
        [*BEGUN, *FIRST[:2], {"ran": 0}],
        [*BEGUN, *FIRST[:2], {"ran": 0, "operators": "relu", "changed": [], "operations": 0.0, "calls": 2}],
        [*BEGUN, *FIRST[:2], {"ran": True, "operators": [], "changed": [], "operations": 0.0, "calls": 2}],
        [*BEGUN, {"left_out": 0}],
        [*BEGUN, {}],
        [{"begun": "building"}],
    ],
    ids=str,
)
def test_nothing_else_is_heard(said: list[dict[str, Any]]) -> None:
    with pytest.raises(NonsenseError):
        hear(said)


def test_messages_are_lines_however_they_arrive() -> None:
    lines = Lines()
    written = b'{"a": 1}\n{"b": 2}\n'
    assert [said for byte in written for said in lines.read(bytes([byte]))] == [{"a": 1}, {"b": 2}]


@pytest.mark.parametrize("written", [b"hello\n", b"1\n", b"[" * 100_000 + b"\n", b"\xff\n", b"x" * (17 << 20)])
def test_what_is_no_message_ends_the_conversation(written: bytes) -> None:
    with pytest.raises(NonsenseError):
        list(Lines().read(written))


def test_messages_before_nonsense_count() -> None:
    said = Lines().read(as_line({"ready": True}) + b"hello\n")
    assert next(said) == {"ready": True}
    with pytest.raises(NonsenseError):
        next(said)
