"""One table of operators of every kind: NumPy and MindSpore get from `ob.aten` exactly what PyTorch computes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import mindspore as ms
import pytest
import torch

import opbridge as ob

Convert = Callable[[torch.Tensor], Any]


@dataclass(frozen=True)
class Case:
    name: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)
    in_graph: bool = True
    """False: what it returns depends on its tensors' values."""

    def __str__(self) -> str:
        return self.name

    def converted(self, convert: Convert) -> tuple[tuple[Any, ...], dict[str, Any]]:
        args = tuple(_converted(value, convert) for value in self.args)
        return args, {name: _converted(value, convert) for name, value in self.kwargs.items()}

    def expected(self) -> list[torch.Tensor]:
        name, _, overload = self.name.partition(".")
        target = getattr(torch.ops.aten, name)
        torch.manual_seed(0)
        args, kwargs = self.converted(torch.Tensor.clone)
        return flat((getattr(target, overload) if overload else target)(*args, **kwargs))


def _converted(value: Any, convert: Convert) -> Any:
    if isinstance(value, torch.Tensor):
        return convert(value)
    return [_converted(item, convert) for item in value] if isinstance(value, list) else value


def flat(results: Any) -> list[torch.Tensor]:
    if isinstance(results, (list, tuple)):
        return [tensor for item in results for tensor in flat(item)]
    if isinstance(results, ms.Tensor):
        results = results.asnumpy()
    return [torch.as_tensor(results)]


generator = torch.Generator().manual_seed(1)
X = torch.randn(4, 6, generator=generator)
Y = torch.randn(4, 6, generator=generator)
COLUMN = torch.randn(4, 1, generator=generator)
SQUARE = torch.randn(5, 5, generator=generator, dtype=torch.float64)
POSITIVE = SQUARE @ SQUARE.T + 5 * torch.eye(5, dtype=torch.float64)
IMAGES = torch.randn(2, 3, 8, 8, generator=generator)
KERNELS = torch.randn(4, 3, 3, 3, generator=generator)
INTEGERS = torch.randint(0, 4, (4, 6), generator=generator)
MASK = X > 0
COMPLEX = torch.complex(X, Y)
HALF = X.to(torch.float16)
EMPTY = torch.empty(0, 3)

CASES = [
    Case("leaky_relu", (X,)),
    Case("leaky_relu", (X, 0.5)),
    Case("relu", (HALF,)),
    Case("sin", (X.double(),)),
    Case("exp", (COMPLEX,)),
    Case("abs", (COMPLEX,)),
    Case("neg", (EMPTY,)),
    Case("tanh", (torch.tensor(0.5),)),
    Case("logical_not", (MASK,)),
    Case("add", (X, COLUMN)),
    Case("add", (X, 2.5)),
    Case("add", (X, Y), {"alpha": 2}),
    Case("add.Tensor", (INTEGERS, X)),
    Case("sub", (INTEGERS, 1)),
    Case("mul", (X, True)),
    Case("div", (X, Y), {"rounding_mode": "floor"}),
    Case("pow", (2.0, X)),
    Case("maximum", (X, Y)),
    Case("eq", (INTEGERS, 2)),
    Case("where", (MASK, X, Y)),
    Case("clamp", (X, None, 0.5)),
    Case("lerp", (X, Y, 0.25)),
    Case("addcmul", (X, X, Y), {"value": 2}),
    Case("sum", (X,)),
    Case("sum", (X, [0]), {"keepdim": True}),
    Case("mean", (X, [1])),
    Case("max", (X,)),
    Case("max", (X, 1)),
    Case("amax", (X, [0, 1])),
    Case("argmax", (X, 1)),
    Case("std", (X, [1]), {"correction": 0}),
    Case("cumsum", (X, 1)),
    Case("softmax", (X, 1)),
    Case("logsumexp", (X, [1])),
    Case("topk", (X, 2)),
    Case("sort", (X,), {"descending": True, "dim": 0}),
    Case("mm", (X, Y.T.contiguous())),
    Case("addmm", (torch.ones(4), X, Y.T.contiguous())),
    Case("bmm", (IMAGES[0], IMAGES[1])),
    Case("einsum", ("ij,kj->ik", [X, Y])),
    Case("linalg_cholesky_ex", (POSITIVE,)),
    Case("linalg_inv_ex", (POSITIVE,)),
    Case("conv2d", (IMAGES, KERNELS, None, [1, 1], [1, 1])),
    Case("conv2d", (IMAGES, KERNELS, torch.ones(4)), {"padding": [1, 1], "stride": [2, 2]}),
    Case("max_pool2d_with_indices", (IMAGES, [2, 2])),
    Case("avg_pool2d", (IMAGES, [2], [2])),
    Case("grid_sampler_2d", (IMAGES, torch.rand(2, 4, 4, 2, generator=generator), 0, 0, False)),
    Case("upsample_nearest2d", (IMAGES, [16, 16])),
    Case("native_layer_norm", (X, [6], torch.ones(6), None, 1e-5)),
    Case("batch_norm", (IMAGES, None, None, None, None, True, 0.1, 1e-5, False)),
    Case("native_batch_norm", (IMAGES, None, None, torch.zeros(3), torch.ones(3), False, 0.1, 1e-5)),
    Case("mse_loss", (X, Y)),
    Case("embedding", (X, INTEGERS)),
    Case("nll_loss_forward", (X, INTEGERS[:, 0], None, 1, -100)),
    Case("cat", ([X, Y], 1)),
    Case("stack", ([X, Y],)),
    Case("meshgrid", ([torch.arange(3), torch.arange(2)],), {"indexing": "ij"}),
    Case("split", (X, 4, 1)),
    Case("unbind", (X,)),
    Case("chunk", (X, 3)),
    Case("transpose", (X, 0, 1)),
    Case("view", (X, [6, 4])),
    Case("expand", (COLUMN, [4, 6])),
    Case("diagonal", (SQUARE,)),
    Case("index", (X, [None, torch.tensor([0, 2])])),
    Case("index_put", (X, [torch.tensor([1])], torch.zeros(1, 6))),
    Case("gather", (X, 1, INTEGERS)),
    Case("scatter_add", (X, 1, INTEGERS, Y)),
    Case("roll", (X, [1], [0])),
    Case("pad", (X, [1, 1]), {"mode": "constant", "value": 3.0}),
    Case("_to_copy", (X,), {"dtype": torch.float16}),
    Case("to.dtype", (INTEGERS, torch.bool)),
    Case("zeros_like", (X,), {"dtype": torch.int32}),
    Case("full_like", (X, -0.0)),
    Case("add_", (X, 1)),
    Case("relu_", (X,)),
    Case("copy_", (X, COLUMN)),
    Case("fill_", (X, 3)),
    Case("squeeze_", (COLUMN,)),
    Case("dropout", (X, 0.5, True)),
    Case("native_dropout", (X, 0.3, True)),
    Case("bernoulli", (X.sigmoid(),)),
    Case("rand_like", (X,)),
    Case("normal_", (X,)),
    Case("multinomial", (X.abs(), 3, True)),
    Case("nonzero", (X,), in_graph=False),
    Case("masked_select", (X, MASK), in_graph=False),
    Case("_unique2", (INTEGERS, True, True, True), in_graph=False),
    Case("item", (X[0, 0],), in_graph=False),
    Case("equal", (X, Y), in_graph=False),
    Case("bincount", (INTEGERS[0],), in_graph=False),
    Case("masked_select", (COMPLEX, MASK), in_graph=False),
    Case("histogramdd", (X[:, :2], [3, 3]), in_graph=False),
]


@pytest.fixture(scope="module", autouse=True)
def quiet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """MindSpore writes to the current folder, and warnings to stderr."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("mindspore"))
        patch.setenv("GLOG_v", "3")
        yield


def check(results: Any, case: Case) -> None:
    for got, expected in zip(flat(results), case.expected(), strict=True):
        assert got.dtype is expected.dtype
        torch.testing.assert_close(got, expected, rtol=0, atol=0, equal_nan=True)


def to_mindspore(tensor: torch.Tensor) -> ms.Tensor:
    return ms.Tensor(tensor.numpy())


@pytest.mark.parametrize("case", CASES, ids=str)
def test_numpy(case: Case) -> None:
    args, kwargs = case.converted(lambda tensor: tensor.numpy().copy())
    torch.manual_seed(0)
    check(ob.aten(case.name).numpy(*args, **kwargs), case)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_mindspore(case: Case) -> None:
    args, kwargs = case.converted(to_mindspore)
    torch.manual_seed(0)
    check(ob.aten(case.name).mindspore(*args, **kwargs), case)


def in_graph(case: Case) -> Any:
    """The operator in a compiled network, whose inputs are the tensors of the call."""
    op = ob.aten(case.name).mindspore
    args, kwargs = case.converted(to_mindspore)

    class Network(ms.nn.Cell):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.op = op
            self.kwargs = kwargs

        @ms.jit  # type: ignore[untyped-decorator]
        def construct(self, *args: Any) -> Any:
            return self.op(*args, **self.kwargs)

    torch.manual_seed(0)
    return Network()(*args)


@pytest.mark.cases(6)
@pytest.mark.parametrize("case", [case for case in CASES if case.in_graph], ids=str)
def test_mindspore_graph(case: Case) -> None:
    check(in_graph(case), case)


@pytest.mark.parametrize("case", [case for case in CASES if not case.in_graph], ids=str)
def test_a_graph_says_what_it_cannot_know(case: Case) -> None:
    with pytest.raises(ob.OpbridgeError, match=rf"aten::{case.name}.*depends on the values of its tensors"):
        in_graph(case)
