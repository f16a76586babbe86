"""`npu-smi info` prints what scripts read from it: the chip's name, and how many devices there are."""

from __future__ import annotations

import re

import pytest

from opbridge.twins.ascend.npu_smi_command import DEVICES, main


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(arguments) == 0
    return capsys.readouterr().out


def test_the_table_names_the_chip_of_each_device(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    table = answer(capsys, "info")
    assert re.findall(r"^\| (\d+) +(\w+) +\| OK ", table, re.MULTILINE) == [(str(i), "910B3") for i in range(DEVICES)]
    assert len({len(line) for line in table.splitlines()}) == 1
    assert len(re.findall(r"\|\s*\d+\s+\|\s+[\w:.]+\s+\|\s+\d+\s+\d+\s*/\s*\d+\s+0\s*/\s*[1-9]\d*", table)) == DEVICES
    monkeypatch.setenv("OPBRIDGE_ASCEND_SOC", "Ascend310P3")
    assert "310P3" in answer(capsys, "info")


def test_the_board_of_a_device_has_a_line_for_its_chip(capsys: pytest.CaptureFixture[str]) -> None:
    fields = dict(re.findall(r"\t(.+?) +: (.+)", answer(capsys, "info", "-t", "board", "-i", "3", "-c", "0")))
    assert (fields["NPU ID"], fields["Chip Name"]) == ("3", "910B3")
    assert int(re.search(r"HBM Capacity\(MB\) +: (\d+)", answer(capsys, "info", "-t", "usages", "-i", "0"))[1]) > 0


def test_devices_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    assert answer(capsys, "info", "-l").count("NPU ID") == DEVICES
    assert answer(capsys, "info", "-m").count("Ascend 910B3") == DEVICES


@pytest.mark.parametrize("arguments", [("set",), ("info", "-t", "power"), ("info", "-t", "board", "-i", "9")])
def test_what_is_not_simulated_is_refused(capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]) -> None:
    assert main(arguments) == 1
    assert "npu-smi of opbridge's Ascend twin: " in capsys.readouterr().err
