"""The check `reads`: a kernel reads its inputs and nothing around them, or it crashes."""

from __future__ import annotations

import ctypes
import mmap
import os
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from opbridge.base.errors import OpbridgeError
from opbridge.verify.check.operator_under_test import OperatorUnderTest
from opbridge.verify.check.outcomes import Unchecked, counted

_SIZES = ("plain", "one element", "odd", "no elements", "large")
_PAGE = os.sysconf("SC_PAGE_SIZE")
_NO_ACCESS = 0  # PROT_NONE


def reads(subject: OperatorUnderTest) -> str:
    """Call the kernel with each input directly before or after memory that cannot be accessed."""
    ran: set[str] = set()
    for case in subject.sized(_SIZES):
        values = subject.driver.values(subject.schema, subject.arguments(case))
        for side in ("behind", "before"):
            subject.announce(f"{case}, with memory {side} each input that nobody may read")
            with suppress(OpbridgeError):  # the row `shapes` reports refusals
                subject.driver.call(subject.op, subject.schema, _placed(values, side))
                ran.add(str(case))
    if not ran:
        raise Unchecked("every input was refused")
    count = len(ran)
    return f"on {counted(count, 'input')}"


def has_inputs_to_place(subject: OperatorUnderTest) -> bool:
    """Return whether the framework is NumPy and the operator takes tensors.

    In NumPy, the caller chooses the memory of tensors.
    """
    return subject.driver.name == "numpy" and bool(subject.schema.tensor_arguments)


def _placed(values: Mapping[str, object], side: str) -> dict[str, object]:
    def place(value: object) -> Any:
        if isinstance(value, np.ndarray):
            return beside_nothing(value, side)
        return [place(item) for item in value] if isinstance(value, list) else value

    return {name: place(value) for name, value in values.items()}


def beside_nothing(array: Any, side: str) -> object:
    """Return a copy of the array directly before or after a page that cannot be accessed.

    With `side` "before" the page is before the copy, otherwise after it.
    """
    pages = -(-array.nbytes // _PAGE)
    memory = mmap.mmap(-1, (pages + 2) * _PAGE)
    block = np.frombuffer(memory, np.uint8)  # keeps the memory alive as long as the array
    first = block.ctypes.data
    for page in (first, first + (pages + 1) * _PAGE):
        if ctypes.CDLL(None, use_errno=True).mprotect(ctypes.c_void_p(page), _PAGE, _NO_ACCESS):
            raise OSError(ctypes.get_errno(), "mprotect")
    begin = _PAGE if side == "before" else (pages + 1) * _PAGE - array.nbytes
    copy = block[begin : begin + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy
