"""What MindSpore has under other names and arguments, beside PyTorch's operators."""

from __future__ import annotations

from typing import Any

import mindspore as ms
import numpy as np
import pytest
import torch

from opbridge.models.scan import forms
from opbridge.models.scan.mindspore_names import FORMS
from opbridge.models.scan.mindspore_values import leaf
from opbridge.models.scan.trial_process import mapped
from opbridge.models.scan.trials import OperatorProbe, work_off
from opbridge.models.scan.verdicts import Verdict


def drawn(*sizes: int) -> torch.Tensor:
    return torch.randn(sizes, generator=torch.Generator().manual_seed(sum(sizes))).requires_grad_()


X, INDEX = drawn(2, 3, 4), torch.tensor([2, 0])
CALLS: dict[str, list[dict[str, Any]]] = {
    "_weight_norm": [{"v": X, "g": drawn(2, 1, 1)}, {"v": X, "g": drawn(1, 1, 4), "dim": 2}],
    "argmin": [{"self": X, "dim": 1}, {"self": X, "dim": -1, "keepdim": True}],
    "argsort": [{"self": X, "dim": 1}, {"self": X, "descending": True}],
    "bitwise_not": [{"self": X > 0}, {"self": INDEX}, {"self": torch.arange(3, dtype=torch.uint8)}],
    "clamp_min": [{"self": X, "min": 0.25}],
    "clone": [{"self": X}, {"self": X > 0}],
    "concatenate": [{"tensors": [X, X * 2], "dim": 1}],
    "copy": [{"self": torch.ones(2, 3, 4), "src": torch.rand(3, 1)}, {"self": INDEX, "src": torch.tensor([1.5, 2.5])}],
    "cumsum": [{"self": X > 0, "dim": -1}],
    "embedding": [
        {"weight": drawn(5, 2), "indices": torch.tensor([[1, 4]])},
        {"weight": drawn(5, 2), "indices": torch.tensor([[1, 0, 1]]), "padding_idx": 1},
    ],
    "full": [{"size": [2, 3], "fill_value": 1.5}, {"size": [], "fill_value": 2}, {"size": [2], "fill_value": True}],
    "index_add": [{"self": X, "dim": 1, "index": INDEX, "source": drawn(2, 2, 4), "alpha": 2}],
    "layer_norm": [
        {"input": X, "normalized_shape": [3, 4], "weight": None, "bias": None, "eps": 1e-3},
        # Of many numbers of both signs the gradients are sums.
        {"input": drawn(64, 64, 32), "normalized_shape": [32], "weight": drawn(32), "bias": drawn(32)},
    ],
    "leaky_relu": [{"self": X, "negative_slope": 0.2}],
    "linalg_vector_norm": [{"self": X, "dim": [1], "keepdim": True}, {"self": X, "ord": 1, "dim": [0, 2]}, {"self": X}],
    "log_sigmoid": [{"self": X * 40}],
    "new_full": [{"self": INDEX, "size": [2, 2], "fill_value": 3}],
    "repeat_interleave.self_int": [{"self": X, "repeats": 2, "dim": 1}, {"self": X, "repeats": 3}],
    "rms_norm": [{"input": X, "normalized_shape": [4], "weight": drawn(4)}, {"input": X, "normalized_shape": [3, 4]}],
    "roll": [{"self": X, "shifts": [1, -5], "dims": [0, -1]}, {"self": X, "shifts": [7]}],
    "scalar_tensor": [{"s": 2.5}, {"s": 2, "dtype": torch.int64}],
    "scatter.value": [{"self": X, "dim": 2, "index": torch.zeros(2, 3, 1, dtype=torch.int64), "value": 5.0}],
    "select.int": [{"self": X, "dim": -1, "index": 2}],
    "slice.Tensor": [{"self": X, "dim": 2, "start": 1, "end": 2**63 - 1, "step": 2}, {"self": X, "dim": -2, "end": -1}],
    "sort": [{"self": X, "dim": 1, "descending": True}],
    "topk": [{"self": X, "k": 2}, {"self": X, "k": 3, "dim": 1, "largest": False}],
    "unflatten.int": [{"self": X, "dim": 2, "sizes": [2, -1]}],
}
POOLED = {
    "avg_pool1d": {"self": X, "kernel_size": [2], "padding": [1], "ceil_mode": False, "count_include_pad": True},
    "avg_pool2d": {"self": drawn(1, 2, 6, 6), "kernel_size": [3, 2], "stride": [2, 1], "padding": [1, 0]},
}


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory: pytest.TempPathFactory, forked_trials: None) -> dict[str, Verdict]:
    """All in one process, since MindSpore takes seconds to begin."""
    folder = tmp_path_factory.mktemp("examples")

    def probe(operator: str, path: str, calls: list[dict[str, Any]]) -> OperatorProbe:
        files = [folder / f"{operator}-{number}.pt" for number in range(len(calls))]
        for file, arguments in zip(files, calls, strict=True):
            torch.save({"operator": operator, "arguments": arguments}, file)
        return OperatorProbe(operator, (path,), tuple(map(str, files)))

    probes = [probe(f"aten::{name}", f"forms.{name.partition('.')[0]}", calls) for name, calls in CALLS.items()]
    probes += [probe(f"aten::{name}", f"ops.{name}", [call]) for name, call in POOLED.items()]
    return dict(work_off(probes).verdicts)


def test_each_form_is_called_here() -> None:
    assert {name.partition(".")[0] for name in CALLS} == FORMS.keys()


@pytest.mark.parametrize("name", CALLS)
def test_a_form_agrees_with_pytorch(verdicts: dict[str, Verdict], name: str) -> None:
    assert str(verdicts[f"aten::{name}"]) == FORMS[name.partition(".")[0]]


@pytest.mark.parametrize("name", CALLS)
def test_graphs_take_it_too(name: str) -> None:
    form = ms.jit(getattr(forms, name.partition(".")[0]))
    base, _, overload = name.partition(".")
    op = getattr(getattr(torch.ops.aten, base), overload or "default")
    for call in CALLS[name]:
        got, expected = form(**mapped(call, leaf)), op(**call)
        pairs = zip(got, expected, strict=True) if isinstance(expected, tuple) else [(got, expected)]
        assert all(np.allclose(one.asnumpy(), other.detach(), 1e-4, 1e-5) for one, other in pairs)


@pytest.mark.parametrize("name", POOLED)
def test_a_pooling_takes_its_sizes_as_mindspore_wants_them(verdicts: dict[str, Verdict], name: str) -> None:
    assert str(verdicts[f"aten::{name}"]) == f"ops.{name}"
