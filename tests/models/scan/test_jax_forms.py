"""PyTorch's operators in JAX's own, beside PyTorch's: value, element type and gradient, compiled as a network is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import pytest
import torch
from recurrent_calls import drawn, recurrent

from opbridge.models.scan import jax_values
from opbridge.models.scan.trial_process import Trial
from opbridge.models.scan.trials import OperatorProbe, work_off
from opbridge.models.scan.verdicts import Verdict

X, LONG, WHERE = drawn(2, 3, 4), torch.tensor([[3, -2, 5], [1, 0, -7]]), torch.tensor([2, 0])
IMAGE, SCALE = drawn(2, 4, 7, 6), {"weight": drawn(4), "bias": drawn(4)}
PHASES = torch.polar(torch.ones(3), torch.arange(3.0)).requires_grad_()
PLACES = torch.tensor([[[0, 2, 1, 0]], [[1, 1, 0, 2]]])
Calls = list[dict[str, Any]]
CALLS: dict[str, Calls] = {
    "lstm.input": [recurrent(4), recurrent(4, layers=2, directions=2), recurrent(4, biases=False)],
    "gru.input": [recurrent(3), recurrent(3, layers=2, directions=2), recurrent(3, biases=False)],
    "rnn_tanh.input": [recurrent(1, layers=2), recurrent(1, directions=2)],
    "rnn_relu.input": [recurrent(1)],
    # Which element type a result has is not JAX's to say.
    "add.Tensor": [
        {"self": LONG, "other": drawn(3).half()},
        {"self": LONG, "other": torch.tensor(2.5, dtype=torch.float64)},
        {"self": X > 0, "other": X < 1},
        {"self": X, "other": drawn(4), "alpha": 2},
    ],
    "mul.Tensor": [
        {"self": PHASES, "other": PHASES.detach()},
        {"self": LONG, "other": torch.tensor(1.5)},
        {"self": X, "other": torch.tensor(2)},
    ],
    "mul.Scalar": [{"self": LONG, "other": 1.5}, {"self": X.detach().half(), "other": 1.5}],
    "rsub.Scalar": [{"self": X, "other": 1}, {"self": LONG, "other": 2, "alpha": 3}],
    "div.Tensor": [{"self": LONG, "other": torch.tensor(2)}, {"self": X, "other": drawn(4)}],
    "div.Tensor_mode": [
        {"self": LONG, "other": torch.tensor([2, -3, 2]), "rounding_mode": "floor"},
        {"self": LONG, "other": torch.tensor([2, -3, 2]), "rounding_mode": "trunc"},
    ],
    "pow.Tensor_Scalar": [{"self": X, "exponent": 2}, {"self": torch.zeros(2).requires_grad_(), "exponent": 2.0}],
    "exp": [{"self": X}, {"self": LONG}],
    "where.ScalarOther": [{"condition": X > 0, "self": X, "other": 0.0}],
    "clamp": [{"self": torch.tensor([-1.0, 0.0, 2.0]).requires_grad_(), "min": -1, "max": 2}, {"self": X, "max": 0.5}],
    # At their corners, where each side has a derivative of its own.
    "abs": [{"self": torch.zeros(2).requires_grad_()}],
    "relu": [{"self": torch.tensor([-1.0, 0.0, 2.0]).requires_grad_()}],
    "hardtanh": [{"self": torch.tensor([-1.0, 0.0, 1.0]).requires_grad_()}],
    "hardswish": [{"self": X * 4}],
    "gelu": [{"self": X}, {"self": X, "approximate": "tanh"}],
    "softplus": [{"self": X * 20}],
    "linalg_vector_norm": [{"self": torch.zeros(3).requires_grad_()}, {"self": X, "ord": 1, "dim": [0, 2]}],
    "max.dim": [{"self": torch.tensor([[1.0, 1.0, 0.0]]).requires_grad_(), "dim": 1}],
    "amax": [{"self": torch.tensor([[1.0, 1.0, 0.0]]).requires_grad_(), "dim": [1]}],
    "sum.dim_IntList": [{"self": X > 0, "dim": [1]}, {"self": X, "dim": [], "keepdim": True}],
    "var.correction": [{"self": X, "dim": [1], "correction": 0}, {"self": X, "dim": None}],
    "cumsum": [{"self": X > 0, "dim": -1}, {"self": X, "dim": 1}],
    "sort": [{"self": X, "dim": 1, "descending": True}],
    "topk": [{"self": X, "k": 2}, {"self": X, "k": 3, "dim": 1, "largest": False}],
    "softmax.int": [{"self": X, "dim": 1}],
    # Places.
    "index.Tensor": [{"self": X, "indices": [None, WHERE]}, {"self": X, "indices": [torch.tensor([0, -1]), WHERE]}],
    "index_put": [{"self": X, "indices": [None, WHERE], "values": drawn(2, 2, 4), "accumulate": True}],
    "gather": [{"self": X, "dim": 1, "index": PLACES}],
    "scatter.src": [{"self": X, "dim": 1, "index": PLACES, "src": drawn(2, 1, 4)}],
    "scatter.value": [{"self": X, "dim": 1, "index": PLACES, "value": 5}],
    "scatter_add": [{"self": X, "dim": 1, "index": PLACES, "src": drawn(2, 1, 4)}],
    "index_add": [{"self": X, "dim": 1, "index": WHERE, "source": drawn(2, 2, 4), "alpha": 2}],
    "embedding": [{"weight": drawn(5, 2), "indices": torch.tensor([[1, 0, 1]]), "padding_idx": 1}],
    "slice.Tensor": [{"self": X, "dim": 2, "start": 1, "end": 2**63 - 1, "step": 2}, {"self": X, "dim": -2, "end": -1}],
    "slice_scatter": [{"self": X, "src": drawn(2, 3, 2), "dim": 2, "start": 1, "end": -1}],
    "select_scatter": [{"self": X, "src": drawn(2, 4), "dim": 1, "index": -1}],
    # Sizes.
    "split.Tensor": [{"self": X, "split_size": 3, "dim": 2}],
    "split_with_sizes": [{"self": X, "split_sizes": [1, 3], "dim": -1}],
    "chunk": [{"self": X, "chunks": 3, "dim": 2}],
    "expand": [{"self": drawn(3, 1), "size": [2, -1, 4]}],
    "squeeze.dim": [{"self": drawn(2, 1, 3), "dim": 0}, {"self": drawn(2, 1, 3), "dim": 1}],
    "flatten.using_ints": [{"self": X, "start_dim": 1}, {"self": torch.tensor(1.5)}],
    "roll": [{"self": X, "shifts": [1, -5], "dims": [0, -1]}, {"self": X, "shifts": [7]}],
    "pad": [{"self": IMAGE, "pad": [1, 2, -1, 0]}, {"self": IMAGE, "pad": [1, 2, 0, 3], "mode": "reflect"}],
    "pixel_shuffle": [{"self": IMAGE, "upscale_factor": 2}],
    "arange.start_step": [{"start": 1, "end": 7, "step": 2}, {"start": 0, "end": 1, "step": 0.25}],
    "full_like": [{"self": LONG, "fill_value": 3}],
    # Layers.
    "conv2d": [
        {"input": IMAGE, "weight": drawn(6, 2, 3, 3), "bias": drawn(6), "stride": [2, 1], "padding": [1], "groups": 2},
        {"input": IMAGE, "weight": drawn(6, 4, 3, 2), "dilation": [2, 1]},
    ],
    "conv_transpose2d.input": [
        {
            "input": IMAGE,
            "weight": drawn(4, 3, 3, 2),
            "bias": drawn(6),
            "stride": [2, 3],
            "padding": [1, 0],
            "output_padding": [1, 0],
            "groups": 2,
            "dilation": [1, 2],
        }
    ],
    "layer_norm": [{"input": X, "normalized_shape": [3, 4], "eps": 1e-3}],
    "group_norm": [{"input": IMAGE, "num_groups": 2, **SCALE}],
    "batch_norm": [
        {"input": IMAGE, **SCALE, "running_mean": torch.rand(4), "running_var": torch.rand(4), "training": training}
        | {"momentum": 0.1, "eps": 1e-5, "cudnn_enabled": True}
        for training in (False, True)
    ],
    "max_pool2d": [
        {"self": IMAGE, "kernel_size": [3, 2], "stride": [2, 1], "padding": [1, 0], "ceil_mode": True},
        {"self": IMAGE, "kernel_size": [2]},
    ],
    "avg_pool2d": [
        {"self": IMAGE, "kernel_size": [3, 2], "stride": [2, 2], "padding": [1, 0], "ceil_mode": ceil}
        | {"count_include_pad": include}
        for ceil in (False, True)
        for include in (False, True)
    ],
    "adaptive_avg_pool2d": [{"self": IMAGE, "output_size": [3, 4]}],
    "upsample_nearest2d.vec": [{"input": IMAGE, "output_size": None, "scale_factors": [1.5, 2.0]}],
    "upsample_bilinear2d.vec": [
        {"input": IMAGE, "output_size": [10, 4], "align_corners": corners, "scale_factors": None}
        for corners in (False, True)
    ],
    "cross_entropy_loss": [{"self": drawn(2, 5, 3), "target": torch.tensor([[1, 4, -100], [0, 2, 2]])}],
    "binary_cross_entropy_with_logits": [{"self": X, "target": torch.rand(2, 3, 4), "pos_weight": torch.rand(4)}],
}


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory: pytest.TempPathFactory, forked_trials: None) -> dict[str, Verdict]:
    """In a process of its own, where JAX has PyTorch's long numbers."""
    folder = tmp_path_factory.mktemp("examples")
    probes = []
    for name, calls in CALLS.items():
        files = [folder / f"{name}-{number}.pt" for number in range(len(calls))]
        for file, arguments in zip(files, calls, strict=True):
            torch.save({"operator": f"aten::{name}", "arguments": arguments}, file)
        path = f"jax_forms.{name.partition('.')[0]}"
        probes.append(OperatorProbe(f"aten::{name}", (path,), tuple(map(str, files))))
    return dict(work_off(probes, "jax").verdicts)


@pytest.mark.parametrize("name", CALLS)
def test_a_form_agrees_with_pytorch(verdicts: dict[str, Verdict], name: str) -> None:
    assert str(verdicts[f"aten::{name}"]) == f"jax_forms.{name.partition('.')[0]}"


def test_what_no_form_knows_stays_pytorchs(tmp_path: Path) -> None:
    file = tmp_path / "example.pt"
    torch.save({"arguments": {"self": X, "indices": [X > 0]}}, file)
    answer = Trial(jax_values).answer("aten::index.Tensor", "jax_forms.index", [str(file)], lambda seconds: None)
    assert answer["state"] == "fails"
    assert "boolean" in str(answer["reason"])


def test_without_long_numbers_jax_has_short_ones() -> None:
    """As elsewhere in JAX: nothing is asked for that it would warn of."""
    from opbridge.models.scan import jax_forms

    assert not jax.config.jax_enable_x64
    assert jax_forms.argmax(jax.numpy.ones(3)).dtype == "int32"
    assert jax_forms.sum(jax.numpy.ones(3, bool)).dtype == "int32"
