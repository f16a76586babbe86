"""What MindSpore has under other names and arguments, beside PyTorch's operators."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mindspore as ms
import numpy as np
import pytest
import torch
from recurrent_calls import drawn, recurrent

from opbridge.models.scan import forms, mindspore_values
from opbridge.models.scan.mindspore_names import FORMS
from opbridge.models.scan.mindspore_values import leaf
from opbridge.models.scan.trial_process import Trial, mapped
from opbridge.models.scan.trials import OperatorProbe, work_off
from opbridge.models.scan.verdicts import Verdict


def normed(training: bool, *sizes: int) -> dict[str, Any]:
    values = [drawn(sizes[1]), drawn(sizes[1]), torch.rand(sizes[1]), torch.rand(sizes[1]) + 0.5]
    names = ("weight", "bias", "running_mean", "running_var")
    more = {"training": training, "momentum": 0.1, "eps": 1e-5, "cudnn_enabled": True}
    return {"input": drawn(*sizes), **dict(zip(names, values, strict=True)), **more}


X, INDEX, IMAGE, VOLUME = drawn(2, 3, 4), torch.tensor([2, 0]), drawn(2, 3, 4, 6), drawn(1, 2, 2, 3, 2)
HEADS = {"query": drawn(2, 4, 5, 8), "key": drawn(2, 4, 6, 8), "value": drawn(2, 4, 6, 8)}
MASK = torch.tensor([[True, False, True, True, False, True], *[[False] * 6], *[[True] * 6] * 3])
CALLS: dict[str, list[dict[str, Any]]] = {
    "_weight_norm": [{"v": X, "g": drawn(2, 1, 1)}, {"v": X, "g": drawn(1, 1, 4), "dim": 2}],
    "argmin": [{"self": X, "dim": 1}, {"self": X, "dim": -1, "keepdim": True}],
    "argsort": [{"self": X, "dim": 1}, {"self": X, "descending": True}],
    "batch_norm": [normed(False, 2, 3, 4, 4), normed(True, 2, 3, 4, 4), normed(True, 6, 3)],
    "bitwise_not": [{"self": X > 0}, {"self": INDEX}, {"self": torch.arange(3, dtype=torch.uint8)}],
    "clamp_min": [{"self": X, "min": 0.25}],
    "clone": [{"self": X}, {"self": X > 0}],
    "concatenate": [{"tensors": [X, X * 2], "dim": 1}],
    "conv_transpose1d": [{"input": X, "weight": drawn(3, 2, 3), "bias": drawn(2), "stride": [2], "padding": [1]}],
    "conv_transpose2d.input": [
        {"input": drawn(1, 4, 3, 5), "weight": drawn(4, 3, 2, 3), "bias": drawn(6), "stride": [2, 3], "groups": 2},
        {
            "input": drawn(1, 4, 3, 5),
            "weight": drawn(4, 3, 3, 2),
            "stride": [2, 1],
            "padding": [3, 1],
            "output_padding": [1, 0],
            "dilation": [1, 2],
        },
    ],
    "copy": [{"self": torch.ones(2, 3, 4), "src": torch.rand(3, 1)}, {"self": INDEX, "src": torch.tensor([1.5, 2.5])}],
    "cumsum": [{"self": X > 0, "dim": -1}],
    "einsum": [
        {"equation": "btd,edf->btef", "tensors": [drawn(2, 3, 4), drawn(5, 4, 2)]},
        {"equation": "bij, bjk -> bki", "tensors": [drawn(2, 3, 4), drawn(2, 4, 5)]},
        {"equation": "ij,jk,kl->l", "tensors": [drawn(2, 3), drawn(3, 4), drawn(4, 5)]},
        {"equation": "i,j->ij", "tensors": [drawn(2), drawn(3)]},
        {"equation": "bij->ji", "tensors": [X]},
    ],
    "embedding": [
        {"weight": drawn(5, 2), "indices": torch.tensor([[1, 4]])},
        {"weight": drawn(5, 2), "indices": torch.tensor([[1, 0, 1]]), "padding_idx": 1},
    ],
    "full": [{"size": [2, 3], "fill_value": 1.5}, {"size": [], "fill_value": 2}, {"size": [2], "fill_value": True}],
    "dropout": [{"input": X, "p": 0.5, "train": False}, {"input": X, "p": 0.0, "train": True}],
    "eq.Tensor": [{"self": INDEX, "other": torch.tensor([2, 1])}],
    "expand_as": [{"self": drawn(3, 1), "other": X}],
    "mean.dim": [{"self": X, "dim": [0, 2]}, {"self": X, "dim": [1], "keepdim": True}],
    "permute": [{"self": X, "dims": [2, 0, 1]}],
    "reshape": [{"self": X, "shape": [4, -1]}],
    "to.dtype": [{"self": X, "dtype": torch.float64}, {"self": X > 0, "dtype": torch.int64}],
    "transpose.int": [{"self": X, "dim0": 0, "dim1": -1}],
    "unsqueeze": [{"self": X, "dim": -1}, {"self": INDEX, "dim": 0}],
    "expand": [{"self": drawn(3, 1), "size": [2, -1, 4]}],
    "gru.input": [recurrent(3), recurrent(3, layers=2, directions=2), recurrent(3, biases=False)],
    "index_add": [{"self": X, "dim": 1, "index": INDEX, "source": drawn(2, 2, 4), "alpha": 2}],
    "layer_norm": [
        {"input": X, "normalized_shape": [3, 4], "weight": None, "bias": None, "eps": 1e-3},
        # Of many numbers of both signs the gradients are sums.
        {"input": drawn(64, 64, 32), "normalized_shape": [32], "weight": drawn(32), "bias": drawn(32)},
    ],
    "leaky_relu": [{"self": X, "negative_slope": 0.2}],
    "linalg_vector_norm": [{"self": X, "dim": [1], "keepdim": True}, {"self": X, "ord": 1, "dim": [0, 2]}, {"self": X}],
    "log_sigmoid": [{"self": X * 40}],
    "lstm.input": [recurrent(4), recurrent(4, layers=2, directions=2), recurrent(4, biases=False)],
    "masked_fill.Scalar": [{"self": X, "mask": X > 0, "value": 2.5}],
    "new_full": [{"self": INDEX, "size": [2, 2], "fill_value": 3}],
    "repeat_interleave.self_int": [{"self": X, "repeats": 2, "dim": 1}, {"self": X, "repeats": 3}],
    "rms_norm": [{"input": X, "normalized_shape": [4], "weight": drawn(4)}, {"input": X, "normalized_shape": [3, 4]}],
    "rnn_relu.input": [recurrent(1)],
    "rnn_tanh.input": [recurrent(1, layers=2), recurrent(1, directions=2)],
    "roll": [{"self": X, "shifts": [1, -5], "dims": [0, -1]}, {"self": X, "shifts": [7]}],
    "scalar_tensor": [{"s": 2.5}, {"s": 2, "dtype": torch.int64}],
    "scaled_dot_product_attention": [
        HEADS,
        {**HEADS, "attn_mask": MASK},
        {**HEADS, "attn_mask": torch.where(MASK, 0.5, -torch.inf), "scale": 0.7},
        {**HEADS, "key": drawn(2, 4, 5, 8), "value": drawn(2, 4, 5, 8), "is_causal": True},
        {**HEADS, "key": drawn(2, 2, 6, 8), "value": drawn(2, 2, 6, 8), "enable_gqa": True},
    ],
    "scatter.value": [{"self": X, "dim": 2, "index": torch.zeros(2, 3, 1, dtype=torch.int64), "value": 5.0}],
    "select.int": [{"self": X, "dim": -1, "index": 2}],
    "select_scatter": [{"self": X, "src": drawn(2, 4), "dim": 1, "index": -1}],
    "slice.Tensor": [{"self": X, "dim": 2, "start": 1, "end": 2**63 - 1, "step": 2}, {"self": X, "dim": -2, "end": -1}],
    "slice_scatter": [
        {"self": X, "src": drawn(2, 3, 2), "dim": 2, "start": 1, "end": 3},
        {"self": X, "src": drawn(2, 3, 2), "dim": 2, "start": 0, "end": 2**63 - 1, "step": 2},
    ],
    "sort": [{"self": X, "dim": 1, "descending": True}],
    "tanh": [{"self": drawn(4, 20)}],
    "topk": [{"self": X, "k": 2}, {"self": X, "k": 3, "dim": 1, "largest": False}],
    "var_mean.correction": [{"self": X, "dim": [0, 2], "correction": 1}, {"self": X, "dim": [1], "keepdim": True}],
    "unflatten.int": [{"self": X, "dim": 2, "sizes": [2, -1]}],
    "upsample_bilinear2d.vec": [
        {"input": IMAGE, "output_size": [10, 4], "align_corners": corners, "scale_factors": None}
        for corners in (False, True)
    ],
    "upsample_linear1d.vec": [{"input": X, "output_size": None, "align_corners": False, "scale_factors": [2.0]}],
    "upsample_nearest1d.vec": [{"input": X, "output_size": None, "scale_factors": [1.5]}],
    "upsample_nearest2d.vec": [{"input": IMAGE, "output_size": None, "scale_factors": [2.0, 1.5]}],
    "upsample_nearest3d.vec": [{"input": VOLUME, "output_size": [4, 6, 4], "scale_factors": None}],
    "upsample_trilinear3d.vec": [
        {"input": VOLUME, "output_size": [4, 5, 3], "align_corners": False, "scale_factors": None}
    ],
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


def test_a_gradient_that_is_wrong_for_views_is_found(tmp_path: Path) -> None:
    torch.save({"arguments": {"self": X, "split_size": 2, "dim": 2}}, tmp_path / "split.pt")
    trial = Trial(mindspore_values)
    for path, state in (("mint.split", "no gradient"), ("ops.split", "has")):
        answer = trial.answer("aten::split.Tensor", path, [str(tmp_path / "split.pt")], lambda seconds: None)
        assert answer["state"] == state


def test_what_pytorch_cannot_compute_is_not_blamed_on_the_framework(tmp_path: Path) -> None:
    torch.save({"arguments": {"self": X, "other": drawn(7)}}, tmp_path / "add.pt")
    answer = Trial(mindspore_values).answer("aten::add.Tensor", "mint.add", [str(tmp_path / "add.pt")], lambda _: None)
    assert answer["state"] == "not tried"
    assert "PyTorch has no result to compare: The size of tensor a" in str(answer["reason"])


def test_dropout_draws_in_training() -> None:
    kept = forms.dropout(ms.ops.ones(1000), 0.25, train=True).asnumpy()
    assert set(np.unique(kept)) == {0.0, np.float32(1 / 0.75)}
    assert 600 < np.count_nonzero(kept) < 900


@pytest.mark.parametrize("name", POOLED)
def test_a_pooling_takes_its_sizes_as_mindspore_wants_them(verdicts: dict[str, Verdict], name: str) -> None:
    assert str(verdicts[f"aten::{name}"]) == f"ops.{name}"
