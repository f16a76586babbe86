"""The way of a call: read from PyTorch's own dispatcher, in the order in which a call meets its keys."""

from __future__ import annotations

import pytest

from opbridge.analysis.report.dispatch_keys import levels, walks
from opbridge.waist.op import OpLibrary


def test_keys_stand_in_the_order_a_call_meets_them() -> None:
    found = levels([("CPU", "a.cpp:1"), ("AutogradCPU", "b"), ("Meta", "c"), ("AutocastCPU", "d"), ("PythonTLS", "e")])
    assert [[key.name for key in level.keys] for level in found] == [
        ["PythonTLS"],
        ["AutocastCPU"],
        ["AutogradCPU"],
        ["CPU", "Meta"],
    ]
    assert found[-1].keys[0].by == "a.cpp:1"


@pytest.mark.cases(1)
@pytest.mark.usefixtures("forked")
def test_pytorch_says_who_registered_an_operator(lib: OpLibrary) -> None:
    (walk,) = walks([lib.scaled_add]).values()
    by_key = {key.name: key.by for level in walk for key in level.keys}
    assert {"CPU", "Autograd", "FuncTorchBatched", "Meta"} <= by_key.keys()
    assert set(by_key.values()) == {"opbridge"}
