"""torch.export's graphs of a network: of training and of inference, by the modules that they stand in."""

from __future__ import annotations

import inspect
import re
import traceback
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch._ops import HigherOrderOperator, OpOverload
from torch.overrides import TorchFunctionMode

from opbridge.conversion.functions import as_operators
from opbridge.conversion.known_values import KnownValues
from opbridge.conversion.vmapped import without_vmap
from opbridge.errors import UnsupportedError


@dataclass(frozen=True)
class ModuleGraphs:
    """One module of the network that was called."""

    path: str
    """`encoder.layers.0`; empty for the network."""
    class_name: str
    inference: Any
    """A torch.fx.Graph, or None where only training calls the module."""
    training: Any


@dataclass(frozen=True)
class Exported:
    """A whole network."""

    name: str
    modules: Mapping[str, ModuleGraphs]
    """By path, parents first."""
    submodules: Mapping[str, Any]
    """Nested graphs of both modes, by `MODE:MODULE:NAME`."""
    state: Mapping[str, Any]
    """Parameters, buffers and constants, by name."""
    trainable: frozenset[str]
    tied: Mapping[str, str]
    """Names that share the values of another."""
    input_names: tuple[str, ...]
    order: tuple[str, ...]
    """Paths of all modules, as the network holds them."""

    def graph(self, mode: str, path: str) -> Any:
        """What a module does; None of one that only holds others."""
        module = self.modules.get(path)
        return getattr(module, mode) if module else None

    def nested(self, mode: str, path: str) -> dict[str, Any]:
        """The nested graphs of one module."""
        start = f"{mode}:{path}:"
        return {key.removeprefix(start): each for key, each in self.submodules.items() if key.startswith(start)}


def export(module: Any, args: Sequence[Any], kwargs: Mapping[str, Any], dynamic_shapes: Any = None) -> Exported:
    """Both graphs of a network, which is left as it was."""
    found = {}
    for mode in ("inference", "training"):
        with in_mode(module, training=mode == "training"):
            found[mode] = _unflattened(module, tuple(args), dict(kwargs), dynamic_shapes, mode)
    inference = found["inference"]
    modules: dict[str, ModuleGraphs] = {}
    submodules: dict[str, Any] = {}
    parts = {mode: dict(tree.named_modules(remove_duplicate=False)) for mode, tree in found.items()}
    originals = dict(module.named_modules(remove_duplicate=False))
    for path in {**parts["inference"], **parts["training"]}:
        if any(isinstance(tree.get(path), torch.fx.GraphModule) for tree in parts.values()):
            continue  # It stands in its module.
        graphs = {mode: getattr(parts[mode].get(path), "graph", None) for mode in parts}
        for mode in parts:
            for name, child in parts[mode][path].named_children() if path in parts[mode] else ():
                if isinstance(child, torch.fx.GraphModule):
                    submodules[f"{mode}:{path}:{name}"] = child
        if any(graph is not None and len(graph.nodes) for graph in graphs.values()):
            original = originals.get(path.partition("@")[0], module)
            modules[path] = ModuleGraphs(path, type(original).__name__, graphs["inference"], graphs["training"])
    state = {**_constants(parts["training"]), **_constants(parts["inference"]), **_state(module)}
    tied = _tied(module)
    parameters = dict(module.named_parameters(remove_duplicate=False))
    return Exported(
        type(module).__name__,
        modules,
        submodules,
        state,
        frozenset(name for name, parameter in parameters.items() if parameter.requires_grad),
        {**tied, **_again(state, tied)},
        _names(inference),
        tuple(originals),
    )


def _constants(parts: Mapping[str, Any]) -> dict[str, Any]:
    """Every tensor that a graph reads, by its place in the network."""
    found = {}
    for path, part in parts.items():
        is_module = isinstance(getattr(part, "graph", None), torch.fx.Graph) and not isinstance(
            part, torch.fx.GraphModule
        )
        for node in part.graph.nodes if is_module else ():
            value = _attribute(part, node.target) if node.op == "get_attr" else None
            if isinstance(value, torch.Tensor):
                found[f"{path}.{node.target}".lstrip(".")] = value.detach()
    return found


def _attribute(part: Any, path: str) -> Any:
    for name in path.split("."):
        part = getattr(part, name, None)
    return part


def _state(module: Any) -> dict[str, Any]:
    found = dict(module.named_parameters(remove_duplicate=False))
    found.update(module.named_buffers(remove_duplicate=False))
    return {name: value.detach() for name, value in found.items()}


def _tied(module: Any) -> dict[str, str]:
    first: dict[int, str] = {}
    tied = {}
    parameters, buffers = (each(remove_duplicate=False) for each in (module.named_parameters, module.named_buffers))
    for name, value in (*parameters, *buffers):
        if id(value) in first:
            tied[name] = first[id(value)]
        first.setdefault(id(value), name)
    return tied


def _again(state: Mapping[str, Any], tied: Mapping[str, str]) -> dict[str, str]:
    """Names that a value has once more in PyTorch's graphs: `norm@1.weight`, where training calls `norm` twice."""
    known = {name: re.sub(r"@\d+", "", name) for name in state if "@" in name}
    return {name: tied.get(own, own) for name, own in known.items() if own in state}


def _names(tree: Any) -> tuple[str, ...]:
    return tuple(node.name for node in tree.graph.nodes if node.op == "placeholder")


def _unflattened(module: Any, args: Any, kwargs: Any, dynamic_shapes: Any, mode: str) -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of torch's own future
            watch = _Watch()
            with watch, KnownValues(), as_operators():
                program = torch.export.export(module, args, kwargs, dynamic_shapes=dynamic_shapes, strict=False)
            watch.require_kept(program.graph)
            without_vmap(program)
            _read_again(program)
            return _of_tensors(torch.export.unflatten(program))
    except UnsupportedError:
        raise
    except Exception as error:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        files = re.findall(r'File "[^"]+", line \d+', str(error))
        where = files[-1] if files else inspect.getsourcefile(type(module)) or type(module).__module__
        raise UnsupportedError(
            f"{type(module).__name__} cannot be exported for {mode}: {lines[0]}\n  at {where}; "
            "torch.export.export(module, inputs) says more"
        ) from error


def _read_again(program: Any) -> None:
    """Lets what reads a buffer after a write read the buffer, not what the write gave in another module."""
    buffers = program.graph_signature.inputs_to_buffers
    for node in program.graph.nodes:
        writes = isinstance(node.target, OpOverload) and node.target._schema.is_mutable
        if writes and getattr(node.args[0], "name", None) in buffers:
            node.replace_all_uses_with(node.args[0], delete_user_cb=lambda user: user.op != "output")


def _of_tensors(tree: Any) -> Any:
    """Without the inputs that are no tensors: they are in the graph as they were given."""
    for node in list(tree.graph.nodes):
        is_fixed = node.op == "placeholder" and not isinstance(node.meta.get("val"), (torch.Tensor, torch.SymInt))
        if is_fixed and not node.users:
            tree.graph.erase_node(node)
    return tree


class _Watch(TorchFunctionMode):  # type: ignore[misc]
    """Decides branches on what is drawn where every draw decides alike: `torch.rand([]) < layerdrop` with 0.

    Sees where gradients are switched off, which torch.export forgets where control flow stands there.
    """

    def __init__(self) -> None:
        super().__init__()
        self._without_gradients: list[str] = []
        """Where the network switches gradients off."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in (torch.Tensor.lt, torch.Tensor.__lt__) and hasattr(args[0], _DRAWN) and args[1] <= 0:
            return False
        if func is torch._C._set_grad_enabled and torch.is_grad_enabled() and not args[0]:
            self._without_gradients.append(_caller())
        result = func(*args, **(kwargs or {}))
        if func is torch.rand:
            setattr(result, _DRAWN, True)
        return result

    def require_kept(self, graph: Any) -> None:
        names = [node.target.__name__ for node in graph.nodes if isinstance(node.target, HigherOrderOperator)]
        kept = names.count("wrap_with_set_grad_enabled")
        if kept < len(self._without_gradients) and not _CONTROL_FLOW.isdisjoint(names):
            raise UnsupportedError(
                f"torch.export loses torch.no_grad() beside control flow\n  at {self._without_gradients[kept]}; "
                "detach() what is computed there instead"
            )


_CONTROL_FLOW = frozenset({"cond", "while_loop", "map_impl", "scan"})


def _caller() -> str:
    """The line of the network that is being traced."""
    frames = [each for each in traceback.extract_stack() if not each.filename.startswith((*_NOT_THE_NETWORK, "<"))]
    return f'File "{frames[-1].filename}", line {frames[-1].lineno}'


_NOT_THE_NETWORK = (str(Path(torch.__file__).parent), str(Path(__file__).parent))
_DRAWN = "_opbridge_drawn"


@contextmanager
def in_mode(module: Any, *, training: bool) -> Iterator[None]:
    """What is switched off in the network on purpose stays off."""
    before = {part: part.training for part in module.modules()}
    frozen = [part for part in before if training and before[module] and not before[part]]
    try:
        module.train(training)
        for part in frozen:
            part.training = False
        yield
    finally:
        for part, was in before.items():
            part.training = was
