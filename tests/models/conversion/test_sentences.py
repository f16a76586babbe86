"""What a conversion says of examples, names and networks that it cannot take: one sentence, and a way out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from opbridge.base.errors import InputError, OpbridgeError
from opbridge.cli.convert import _importable
from opbridge.models.conversion.convert_module import converted
from opbridge.models.scan.run_target import given

X = torch.ones(2, 3)
by_name, by_place, nothing = {"input": X}, (X, X), None


def raises() -> None:
    raise OSError("no data here")


class Coded(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("code", torch.ones(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.code


class Packed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.LSTM(3, 4, batch_first=True)

    def forward(self, x: torch.Tensor, sizes: torch.Tensor) -> torch.Tensor:
        packed = nn.utils.rnn.pack_padded_sequence(x, sizes, batch_first=True)
        return nn.utils.rnn.pad_packed_sequence(self.cell(packed)[0], batch_first=True)[0]


class Branched(nn.Linear):
    def forward(self, input: torch.Tensor) -> torch.Tensor:
        result = super().forward(input)
        return result if result.sum() > 0 else -result


@pytest.mark.parametrize(
    ("module", "inputs", "said"),
    [
        (
            nn.Linear(3, 2),
            (torch.ones(1, 4),),
            r"does not run on these inputs \(float32 of shape \(1, 4\)\): mat1",
        ),
        (Coded(), (X,), r"the name of 'code' .* rename it in the network"),
        (Packed(), (torch.ones(2, 5, 3), torch.tensor([5, 3])), "pass the padded tensor and a mask"),
        (Branched(3, 2), (X,), r"test_sentences.py\", line \d+; write the branch as torch.cond\(.* torch._check"),
    ],
)
def test_a_network_that_cannot_be_converted_is_a_sentence(module: Any, inputs: Any, said: str) -> None:
    with pytest.raises(OpbridgeError, match=said):
        converted(module, inputs, to="mindspore")


def test_inputs_are_a_tuple_a_dict_or_a_tensor() -> None:
    assert given(f"{__name__}:by_place") == ((X, X), {})
    assert given(f"{__name__}:by_name") == ((), {"input": X})
    assert given(f"{__name__}:X")[0][0] is X


@pytest.mark.parametrize(("name", "said"), [("nothing", "expected a tensor, a tuple"), ("raises", "no data")])
def test_missing_inputs_are_a_sentence(name: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        given(f"{__name__}:{name}")


def test_a_package_has_a_name_that_can_be_imported() -> None:
    _importable(Path("some/net_ms"))
    for name in ("3-d.out", "class", "net.jax"):
        with pytest.raises(InputError, match=f"no package can be imported by the name '{name}'"):
            _importable(Path(name))
