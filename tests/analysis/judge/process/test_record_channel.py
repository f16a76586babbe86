"""What the twin tells of an answer: nothing of it can be changed or taken back."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import pytest

from opbridge.analysis.judge.process.record_channel import Record, RecordChannel, Records, Write, token_of

KEY = bytes(range(16))


def entry(number: int, kind: bytes, data: bytes = b"") -> bytes:
    return struct.pack("<QcQ", token_of(KEY, number), kind, len(data)) + data


def operator(name: str, elements: float, products: float = 0.0) -> bytes:
    return struct.pack("<dd", elements, products) + name.encode()


WHOLE = [
    entry(1, b"b", b"0.call"),
    entry(2, b"o", b"1234"),
    entry(3, b"l"),
    entry(4, b"k", b"5678"),
    entry(5, b"c", operator("aten::relu_", 7)),
    entry(6, b"c", operator("aten::mm", 9, 54)),
    entry(7, b"c", operator("aten::copy_", 100)),
    entry(8, b"h", struct.pack("<Q", 64)),
    entry(9, b"d", struct.pack("<Q", 32)),
    entry(10, b"d", struct.pack("<Q", 8)),
    entry(11, b"c", operator("aten::neg", 0)),
    entry(12, b"e"),
    entry(13, b"b", b"1.call"),
]


def test_a_record_is_of_one_call() -> None:
    found = Records.read(b"".join(WHOLE), KEY)
    first = Record(
        "0.call", [Write(False, b"1234"), Write(True, b"5678")], launches=1, operations=61.0, to_host=64, to_device=40
    )
    assert found == Records((first, Record("1.call")))
    assert found.named("0.call") == [first]


def test_a_record_without_the_last_operator_is_deaf() -> None:
    content = [*WHOLE[:10], entry(11, b"e")]
    assert [call.is_deaf for call in Records.read(b"".join(content), KEY).calls] == [True]


def test_what_has_not_ended_is_left_out() -> None:
    assert Records.read(b"".join(WHOLE)[:-1], KEY).calls[-1].name == "0.call"
    assert not Records.read(b"".join(WHOLE)[:-1], KEY).is_damaged


@pytest.mark.parametrize(
    "content",
    [
        [*WHOLE, entry(13, b"k", b"again")],
        [WHOLE[0], WHOLE[2]],
        [*WHOLE, struct.pack("<QcQ", 1, b"k", 4) + b"mine"],
        [entry(2, b"b", b"0.call")],
        [*WHOLE, entry(14, b"e"), entry(15, b"e")],
        [*WHOLE, entry(14, b"b", b"1.call")],
    ],
    ids=[
        "a token that was used",
        "an entry that is missing",
        "an entry of an answer's own",
        "another beginning",
        "an end before the end",
        "a beginning before the end",
    ],
)
def test_what_the_twin_has_not_written_damages_a_record(content: list[bytes]) -> None:
    assert Records.read(b"".join(content), KEY).is_damaged


def test_nothing_is_taken_back(tmp_path: Path) -> None:
    with RecordChannel(tmp_path) as channel:
        assert len(channel.key_file.read_bytes()) == 16
        own = os.open(channel.file, os.O_WRONLY)
        os.write(own, b"x" * 17)
        with pytest.raises(OSError, match="Invalid argument"):
            os.ftruncate(own, 0)
        os.close(own)
        assert channel.records().is_damaged
    assert not list(tmp_path.iterdir())
