"""What only a judge may call of the CUDA twin, and the record that it keeps where an answer cannot write."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from opbridge.analysis.judge.process.record_channel import RecordChannel
from opbridge.twins.cuda.toolchain import runtime

_OPENED = """
import ctypes, sys
twin = ctypes.CDLL({library!r}, ctypes.RTLD_GLOBAL)
from opbridge.analysis.judge.process.twin_functions import address_of, twin_function
opened = twin_function("open_record")({file!r}, {key!r})
again = twin_function("open_record")({file!r}, {key!r})
twin.ob_twin_take_judge_functions.restype = ctypes.c_void_p
print(opened, again, twin.ob_twin_take_judge_functions())
called = ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_double, ctypes.c_double)(address_of("operator_was_called"))
for name in ("first", "second"):
    twin_function("record")(name.encode(), 0)
    called(b"aten::mm", 4, 16)
    called(b"aten::neg", 0, 0) if name == "first" else None
    twin_function("record")(None, 0)
"""


def test_a_judge_takes_the_functions_once_and_opens_one_record(tmp_path: Path) -> None:
    with RecordChannel(tmp_path) as channel:
        text = _OPENED.format(library=str(runtime()), file=bytes(channel.file), key=bytes(channel.key_file))
        done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
        found = channel.records()
    assert done.stdout.split() == ["1", "0", "None"]
    assert [(call.name, call.operations, call.is_deaf) for call in found.calls] == [
        ("first", 16.0, False),
        ("second", 16.0, True),
    ]
    assert not found.is_damaged
