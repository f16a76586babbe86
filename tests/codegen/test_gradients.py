"""Generated gradients, run on the CPU: in both modes, twice, in place, through views and lists, and compiled."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
import torch
from torch.autograd import gradcheck, gradgradcheck
from torch.func import functionalize, jvp
from torch.fx.experimental.proxy_tensor import make_fx
from torch.library import opcheck

from opbridge.codegen.generator import sources
from opbridge.codegen.inputs import Inputs, Wish

GRADED = Path(__file__).parent / "data" / "gradients"
ops = torch.ops.graded

# PyTorch's forward mode says so of itself.
pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit.script:DeprecationWarning")


@pytest.fixture(scope="module")
def graded_sources() -> Mapping[str, str]:
    files = [GRADED / "native.yaml", GRADED / "derivatives.yaml"]
    return sources(Inputs.read(files, Wish(key="CPU")).backend())


@pytest.fixture(scope="module", autouse=True)
def loaded(graded_sources: Mapping[str, str], build_backend: Callable[[Mapping[str, str]], Path]) -> None:
    cpp = {name: text for name, text in graded_sources.items() if name.endswith((".cpp", ".h"))}
    torch.ops.load_library(build_backend({**cpp, "kernels.cpp": (GRADED / "kernels.cpp").read_text()}))


def leaf(*shape: int, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    made = torch.arange(1, 1 + torch.Size(shape).numel(), dtype=torch.float64).reshape(shape).cos()
    return (made.to(dtype) * (1 + 0.5j) if dtype.is_complex else made.to(dtype)).requires_grad_()


def operator(name: str) -> Callable[..., torch.Tensor]:
    """One of the library's operators, which is not loaded yet."""
    return lambda *arguments: getattr(ops, name)(*arguments)


DIFFERENTIABLE = {
    "a linear formula": (lambda x: ops.scaled(x, 3.0), [leaf(2, 3)]),
    "an elementwise formula": (operator("cube"), [leaf(2, 3)]),
    "a formula for forward mode": (operator("product"), [leaf(2, 3), leaf(2, 3)]),
    "complex numbers": (operator("product"), [leaf(3, dtype=torch.complex128), leaf(3, dtype=torch.complex128)]),
    "an elementwise formula of complex numbers": (operator("cube"), [leaf(3, dtype=torch.complex128)]),
    "a real and a complex argument": (operator("modulated"), [leaf(3), leaf(3, dtype=torch.complex128)]),
    "a kept result": (operator("exponential"), [leaf(4)]),
    "several results": (operator("sine_cosine"), [leaf(4)]),
    "a result without gradient": (lambda x: ops.top(x, 2)[0], [leaf(5)]),
    "in place": (lambda x: ops.square_(x.clone()), [leaf(4)]),
    "in place on a view": (lambda x: _squared_first_row(x), [leaf(2, 3)]),
    "in place with a formula for forward mode": (lambda x: ops.clip_(x.clone(), 0.1), [leaf(4)]),
    "a view": (lambda x: ops.rows(x, 2), [leaf(3, 2)]),
    "a list": (lambda x, y: ops.joined([x, y]), [leaf(2), leaf(3)]),
    "a list and an optional tensor": (lambda x, y, z: ops.joined([x, y], z, mode="twice"), [leaf(2), leaf(3), leaf(1)]),
    "results in a list": (lambda x: ops.parts(x, [1, 2]), [leaf(3)]),
    "a name that differs by an underscore": (operator("_cube"), [leaf(2)]),
    "numbers among the results": (lambda x: ops.folded(x)[0], [leaf(2, 3)]),
    "a list that may be missing": (lambda x: ops.folded(x, [3, 2])[0], [leaf(2, 3)]),
    "more gradients than asked for": (operator("multiplied"), [leaf(3), leaf(3)]),
    "arguments named as what is generated": (lambda x, y: ops.named_as_ours(x, y, 2.0, 3.0), [leaf(3), leaf(3)]),
    "arguments with other names in the derivative": (operator("renamed"), [leaf(3), leaf(3)]),
    "a lower factor": (lambda x: ops.root(positive(x)), [leaf(3, 3)]),
    "an upper factor": (lambda x: ops.root(positive(x), True), [leaf(3, 3)]),
    "an argument without gradient": (lambda x: ops.picked(x, torch.tensor([0, 0, 2])), [leaf(3)]),
}
"""A function and its inputs, by what they show."""


def positive(x: torch.Tensor) -> torch.Tensor:
    """A matrix that can be factored."""
    return x @ x.mT + 3 * torch.eye(len(x), dtype=x.dtype)


def _squared_first_row(x: torch.Tensor) -> torch.Tensor:
    whole = x.clone()
    ops.square_(whole[0])
    return whole


@pytest.mark.parametrize("case", DIFFERENTIABLE)
def test_gradients_are_right_in_both_modes_and_twice(case: str) -> None:
    function, inputs = DIFFERENTIABLE[case]
    assert gradcheck(function, inputs, check_forward_ad=True, check_batched_grad=False)
    assert gradgradcheck(function, inputs, check_fwd_over_rev=True)


def test_a_node_is_named_and_frees_what_it_keeps() -> None:
    x = leaf(3)
    result = ops.cube(x).sum()
    assert result.grad_fn.next_functions[0][0].name() == "CubeBackward"
    result.backward()
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        result.backward()


def test_without_gradients_nothing_is_recorded() -> None:
    with torch.no_grad():
        assert ops.cube(leaf(3)).grad_fn is None
    assert not ops.top(leaf(3), 2)[1].requires_grad


def test_an_argument_without_a_formula_cannot_require_gradients() -> None:
    assert ops.half_known(leaf(3), torch.ones(3, dtype=torch.float64)).requires_grad
    with pytest.raises(RuntimeError, match="not differentiable with respect to argument 'y'"):
        ops.half_known(leaf(3), leaf(3))


def test_a_formula_may_say_that_there_is_none() -> None:
    with pytest.raises(NotImplementedError, match="derivative for 'reluctant' is not implemented"):
        ops.reluctant(leaf(3)).sum().backward()


def test_writing_to_a_leaf_is_refused() -> None:
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        ops.square_(leaf(3))


def test_writing_is_counted_so_that_a_stale_value_is_found() -> None:
    x = leaf(3)
    y = x.clone()
    result = ops.cube(y).sum()
    with torch.no_grad():
        ops.clip_(y, 0.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        result.backward()


def test_a_view_knows_its_base() -> None:
    x = leaf(3, 2).detach()
    assert ops.rows(x, 2)._base is x


def test_forward_mode_under_torch_func() -> None:
    x = leaf(3).detach()
    value, tangent = jvp(ops.exponential, (x,), (torch.ones_like(x),))
    torch.testing.assert_close(tangent, value)


def test_functionalized_writes_become_new_tensors() -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        y = x + 1
        ops.square_(ops.rows(y, 2))
        return y

    x = leaf(3, 2).detach()
    graph = make_fx(functionalize(program))(x)
    called = [str(node.target) for node in graph.graph.nodes if node.op == "call_function"]
    assert "graded.square.default" in called
    assert not any("square_" in name for name in called), called
    torch.testing.assert_close(graph(x), program(x))


def test_an_out_argument_is_functionalized() -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        out = torch.empty_like(x)
        ops.square.out(x, out=out)
        return out + 1

    x = leaf(3).detach()
    graph = make_fx(functionalize(program))(x)
    assert not any(str(node.target) == "graded.square.out" for node in graph.graph.nodes)
    torch.testing.assert_close(graph(x), x * x + 1)


@pytest.mark.parametrize("name", ["cube", "square_in_place", "view"])
def test_torch_compile_takes_it_whole(name: str) -> None:
    programs = {
        "cube": lambda x: ops.cube(x) * 2,
        "square_in_place": lambda x: ops.square_(x * 2) + 1,
        "view": lambda x: ops.rows(x * 2, 2) * 3,
    }
    function = programs[name]
    x, y = leaf(3, 2), leaf(3, 2)
    compiled = torch.compile(function, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(x), function(y))
    compiled(x).sum().backward()
    function(y).sum().backward()
    torch.testing.assert_close(x.grad, y.grad)


@pytest.mark.parametrize("case", ["scaled", "cube", "product", "exponential"])
def test_opcheck_finds_nothing(case: str) -> None:
    arguments = {"scaled": (leaf(3), 2.0), "product": (leaf(3), leaf(3))}.get(case, (leaf(3),))
    opcheck(getattr(ops, case).default, arguments)
