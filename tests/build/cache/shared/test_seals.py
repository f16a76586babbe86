"""Seals come back as they were written, and what is not one is told from one."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opbridge.build.cache.dependencies import DependencySet, sealed, unsealed
from opbridge.build.cache.shared.seals import Seal, SealedFile

DIGEST = "0123456789abcdef0123456789abcdef01234567"
RECORD: DependencySet = {"entry": DIGEST, "absent": ["/a/shadow.h"], "files": [["@project/a.h", DIGEST, -1, 0, 0]]}
SEAL = Seal(DIGEST, RECORD, (SealedFile("nested/result", DIGEST, 14),))

parts = st.text(st.characters(exclude_characters="/\0"), min_size=1).filter(lambda part: part not in (".", ".."))
names = st.lists(parts, min_size=1, max_size=3).map("/".join)
digests = st.integers(0, 16**40 - 1).map("{:040x}".format)


def test_shows_damage() -> None:
    whole = sealed(b"body")
    assert unsealed(whole) == b"body"
    assert unsealed(whole[:-1]) is None
    assert unsealed(b"") is None


@given(st.lists(st.builds(SealedFile, names, digests, st.integers(0, 1 << 60)), max_size=3))
def test_comes_back(files: list[SealedFile]) -> None:
    seal = Seal(DIGEST, RECORD, tuple(files))
    assert Seal.parse(bytes(seal)) == seal


def value() -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads(unsealed(bytes(SEAL)) or b"")
    return parsed


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"null", b"[]", b"{}", b"\xff", b"[" * 100_000, b'{"first": 1, "record": 2, "files": 3}'],
    ids=lambda body: repr(body[:20]),
)
def test_what_is_whole_and_yet_no_seal(body: bytes) -> None:
    assert Seal.parse(sealed(body)) is None


@pytest.mark.parametrize(
    ("field", "wrong"),
    [
        ("first", 1),
        ("first", "../.."),
        ("record", None),
        ("record", {**RECORD, "entry": "../../../home"}),
        ("record", {**RECORD, "absent": [1]}),
        ("record", {**RECORD, "absent": [""]}),
        ("record", {**RECORD, "files": [["a", DIGEST, -1, 0, 0]]}),
        ("record", {**RECORD, "files": [["/a", DIGEST, -1, 0]]}),
        ("record", {**RECORD, "files": [["/a", DIGEST, -1, 0, "0"]]}),
        ("record", {**RECORD, "more": 1}),
        ("files", {}),
        ("files", [["/etc/passwd", DIGEST, 1]]),
        ("files", [["../x", DIGEST, 1]]),
        ("files", [["a/../../x", DIGEST, 1]]),
        ("files", [["a\0b", DIGEST, 1]]),
        ("files", [["", DIGEST, 1]]),
        ("files", [["a", "short", 1]]),
        ("files", [["a", DIGEST, -1]]),
        ("files", [["a", DIGEST, 1.5]]),
        ("files", [["a", DIGEST, True]]),
        ("files", [["a", DIGEST]]),
    ],
)
def test_what_a_seal_cannot_say(field: str, wrong: object) -> None:
    assert Seal.parse(sealed(json.dumps(value()).encode())) == SEAL
    assert Seal.parse(sealed(json.dumps({**value(), field: wrong}).encode())) is None
