"""Export a network with torch.export: graphs for training and inference, by module."""

from __future__ import annotations

import inspect
import operator
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch._ops import HigherOrderOperator
from torch.overrides import TorchFunctionMode

from opbridge.base.errors import UnsupportedError
from opbridge.models.conversion.assumptions import Assumptions
from opbridge.models.conversion.autograd_functions import as_operators
from opbridge.models.conversion.kept_modules import innermost, kept_whole
from opbridge.models.conversion.known_values import KnownValues, caller
from opbridge.models.conversion.parameter_writes import settle
from opbridge.models.conversion.vmap_operators import without_vmap
from opbridge.models.conversion.written_views import written


@dataclass(frozen=True)
class ModuleGraphs:
    """The graphs of one module that the network calls."""

    path: str
    """`encoder.layers.0`; empty for the network."""
    class_name: str
    inference: torch.fx.GraphModule
    """A torch.fx.Graph, or None where only training calls the module."""
    training: torch.fx.GraphModule


@dataclass(frozen=True)
class Exported:
    """The graphs and values of a whole network."""

    name: str
    modules: Mapping[str, ModuleGraphs]
    """The modules by path, parents first."""
    submodules: Mapping[str, object]
    """Nested graphs of both modes, by `MODE:MODULE:NAME`."""
    state: Mapping[str, torch.Tensor]
    """Parameters, buffers and constants, by name."""
    trainable: frozenset[str]
    tied: Mapping[str, str]
    """Names that share the value of another name."""
    input_names: tuple[str, ...]
    order: tuple[str, ...]
    """Paths of all modules, as the network holds them."""
    notes: tuple[str, ...] = ()
    """The differences between the graphs and the PyTorch network."""

    def graph(self, mode: str, path: str) -> torch.fx.Graph | None:
        """Return the graph of a module; None for one that only contains others."""
        module = self.modules.get(path)
        return getattr(module, mode) if module else None

    def nested(self, mode: str, path: str) -> dict[str, torch.fx.GraphModule]:
        """Return the nested graphs of one module, by name."""
        start = f"{mode}:{path}:"
        return {key.removeprefix(start): each for key, each in self.submodules.items() if key.startswith(start)}


def export(
    module: torch.nn.Module,
    args: Sequence[object],
    kwargs: Mapping[str, object],
    dynamic_shapes: object = None,
    *,
    needs_sizes: bool = False,
) -> Exported:
    """Export both graphs of a network, which is left unchanged.

    With `needs_sizes`, sizes must not depend on values.

    Raises:
        UnsupportedError: torch.export cannot trace the network.
    """
    found = {}
    notes: dict[str, None] = {}
    for mode in ("inference", "training"):
        with in_mode(module, training=mode == "training"):
            trace = _Trace(module, tuple(args), dict(kwargs), dynamic_shapes, mode, needs_sizes, notes)
            found[mode] = trace.tree()
    inference = found["inference"]
    modules: dict[str, ModuleGraphs] = {}
    submodules: dict[str, object] = {}
    parts = {mode: dict(tree.named_modules(remove_duplicate=False)) for mode, tree in found.items()}
    originals = dict(module.named_modules(remove_duplicate=False))
    for path in {**parts["inference"], **parts["training"]}:
        if any(isinstance(tree.get(path), torch.fx.GraphModule) for tree in parts.values()):
            continue  # A nested graph is part of its module.
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
        tuple(notes),
    )


def _constants(parts: Mapping[str, torch.fx.GraphModule]) -> dict[str, torch.Tensor]:
    """Return every tensor that a graph reads, by its place in the network."""
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


def _attribute(part: object, path: str) -> Any:
    for name in path.split("."):
        part = getattr(part, name, None)
    return part


def _state(module: torch.nn.Module) -> dict[str, object]:
    found = dict(module.named_parameters(remove_duplicate=False))
    found.update(module.named_buffers(remove_duplicate=False))
    return {name: value.detach() for name, value in found.items()}


def _tied(module: torch.nn.Module) -> dict[str, str]:
    first: dict[int, str] = {}
    tied = {}
    parameters, buffers = (each(remove_duplicate=False) for each in (module.named_parameters, module.named_buffers))
    for name, value in (*parameters, *buffers):
        if id(value) in first:
            tied[name] = first[id(value)]
        first.setdefault(id(value), name)
    return tied


def _again(state: Mapping[str, object], tied: Mapping[str, str]) -> dict[str, str]:
    """Return the extra names of a value in PyTorch graphs: `norm@1.weight` if training calls `norm` twice."""
    known = {name: re.sub(r"@\d+", "", name) for name in state if "@" in name}
    return {name: tied.get(own, own) for name, own in known.items() if own in state}


def _names(tree: Any) -> tuple[str, ...]:
    return tuple(node.name for node in tree.graph.nodes if node.op == "placeholder")


@dataclass(frozen=True)
class _Trace:
    """A torch.export run of a network in one mode."""

    module: torch.nn.Module
    args: tuple[object, ...]
    kwargs: dict[str, object]
    dynamic_shapes: object
    mode: str
    needs_sizes: bool
    notes: dict[str, None]

    def tree(self) -> Any:
        """Return the first trace with all the sizes that must be known, or else the first that succeeds."""
        errors: list[UnsupportedError] = []
        found: list[object] = []
        for assumptions in (None, Assumptions()) if self.dynamic_shapes is None else (None,):
            tree, has_sizes = self._with_kept_modules(assumptions, errors)
            if has_sizes:
                self.notes.update(dict.fromkeys(assumptions.notes if assumptions else ()))
                return tree
            found += [tree] if tree is not None else []
        if not found:
            raise self._refusal(errors)
        return found[0]

    def _with_kept_modules(
        self, assumptions: Assumptions | None, errors: list[UnsupportedError]
    ) -> tuple[torch.export.ExportedProgram, bool]:
        """Trace the network, and keep modules whole where the export stops.

        Modules of one class are kept together, and only if sizes are fixed. Return the tree, or None, and whether it
        has all the sizes that must be known.
        """
        kept: set[type] = set()
        tree, has_sizes = None, False
        while True:
            try:
                with warnings.catch_warnings(), kept_whole(self.module, kept, self.args, self.kwargs):
                    warnings.simplefilter("ignore")  # torch warns of its own future changes
                    program = self._exported(assumptions)
                    tree, part = _of_tensors(torch.export.unflatten(program)), self._without_sizes(program.graph)
                    has_sizes = part is None
            except UnsupportedError as error:
                errors.append(error)
                part = innermost(error, self.module)
            except Exception as error:
                errors.append(self._stopped(error))
                break
            if part in (None, self.module) or type(part) in kept or self.dynamic_shapes is not None:
                break
            kept.add(type(part))
        if tree is not None:
            self.notes.update(dict.fromkeys(f"{each.__name__} stays PyTorch's as a whole" for each in kept))
        return tree, has_sizes

    def _stopped(self, error: Exception) -> UnsupportedError:
        """Return the sentence about an error that PyTorch raises outside of the trace."""
        parts = [*self.module.named_modules(), *self.module.named_buffers(), *self.module.named_parameters()]
        names = [name for name, _ in parts if name.rpartition(".")[2] in _TAKEN]
        if names:
            return UnsupportedError(
                f"torch.export needs the name of '{names[0]}' itself; rename it in the network, and its entry in the "
                f"state dict: state['{names[0]}_values'] = state.pop('{names[0]}')"
            )
        said = str(error).strip().partition("\n")[0] or type(error).__name__
        kind = type(self.module).__name__
        return UnsupportedError(f"{kind} cannot be exported for {self.mode}: {said}; {_way_out(str(error))}")

    def _without_sizes(self, graph: torch.fx.Graph) -> torch.nn.Module | None:
        """Return the module of the first tensor whose sizes depend on values, where they must not; else None."""
        for node in graph.nodes if self.needs_sizes and self.dynamic_shapes is None else ():
            sizes = getattr(node.meta.get("val"), "shape", ())
            if any(isinstance(size, torch.SymInt) for size in sizes):
                stack = [*(node.meta.get("nn_module_stack") or {"": ("", None)}).values()]
                return self.module.get_submodule(stack[-1][0].partition("@")[0])
        return None

    @staticmethod
    def _refusal(errors: list[UnsupportedError]) -> UnsupportedError:
        more = "" if str(errors[0]) == str(errors[-1]) else f"\n  nor with its module left to PyTorch: {errors[-1]}"
        return UnsupportedError(f"{errors[0]}{more}")

    def _exported(self, assumptions: Assumptions | None) -> torch.export.ExportedProgram:
        try:
            watch, known = _Watch(), KnownValues(assumptions)
            with ExitStack() as stack:
                for each in (watch, known, as_operators(), _unasked()):
                    stack.enter_context(each)
                if assumptions is not None:
                    stack.enter_context(assumptions.held(self.module, known, self.args, self.kwargs))
                    stack.enter_context(_as_if_run())
                program = torch.export.export(
                    self.module, self.args, self.kwargs, dynamic_shapes=self.dynamic_shapes, strict=False
                )
            watch.require_kept(program.graph)
            self.notes.update(dict.fromkeys(watch.notes))
            without_vmap(program)
            settle(program, {name for name, each in self.module.named_parameters() if each.requires_grad})
            _read_again(program)
            _keep_together(program)
            return program
        except UnsupportedError:
            raise
        except Exception as error:
            lines = str(error).strip().splitlines() or [type(error).__name__]
            files = re.findall(r'File "[^"]+", line \d+', str(error))
            kind = type(self.module)
            where = files[-1] if files else inspect.getsourcefile(kind) or kind.__module__
            raise UnsupportedError(
                f"{kind.__name__} cannot be exported for {self.mode}: {lines[0]}\n  at {where}; {_way_out(str(error))}"
            ) from error


_TAKEN = ("code", "graph")
"""Names that modules of torch.fx have for their own source and graph."""
_WAYS = (
    ("PackedSequence", "packed sequences depend on values: pass the padded tensor and a mask, or pad outside"),
    ("pack_padded", "packed sequences depend on values: pass the padded tensor and a mask, or pad outside"),
    (
        "guard on data-dependent",
        "write the branch as torch.cond(predicate, true_fn, false_fn, operands), or promise "
        "what holds for a size with torch._check(condition)",
    ),
    (
        "data-dependent",
        "write the branch as torch.cond(predicate, true_fn, false_fn, operands), or promise what holds "
        "for a size with torch._check(condition)",
    ),
)
"""What to do about a failure of torch.export, by a text in its message."""


def _way_out(said: str) -> str:
    found = next((way for text, way in _WAYS if text.lower() in said.lower()), "")
    return found or "torch.export.export(module, inputs) says more"


def _keep_together(program: torch.export.ExportedProgram) -> None:
    """Keep the results of a nested graph in the module that calls it, not in the modules that they pass through."""
    for node in program.graph.nodes:
        given: Any = node.args[0] if node.target is operator.getitem else None
        if isinstance(getattr(given, "target", None), HigherOrderOperator):
            node.meta["nn_module_stack"] = given.meta["nn_module_stack"]


def _read_again(program: torch.export.ExportedProgram) -> None:
    """Make nodes that read a buffer after a write read the buffer, not the write's result in another module."""
    buffers = program.graph_signature.inputs_to_buffers
    for node in program.graph.nodes:
        if (buffer := written(node)) is not None and buffer.name in buffers:
            node.replace_all_uses_with(buffer, delete_user_cb=lambda user: user.op != "output")


def _of_tensors(tree: Any) -> Any:
    """Remove the inputs that are not tensors: the graph contains them as constants."""
    for node in list(tree.graph.nodes):
        is_fixed = node.op == "placeholder" and not isinstance(node.meta.get("val"), (torch.Tensor, torch.SymInt))
        if is_fixed and not node.users:
            tree.graph.erase_node(node)
    return tree


class _Watch(TorchFunctionMode):  # type: ignore[misc]
    """A mode that decides branches on draws, such as `torch.rand([]) < layerdrop`, the way that most draws go.

    No graph can express such a branch. The mode also records where gradients are switched off: torch.export loses
    that next to control flow.
    """

    def __init__(self) -> None:
        super().__init__()
        self.notes: list[str] = []
        self._without_gradients: list[str] = []
        """The lines at which the network switches gradients off."""

    def __torch_function__(
        self,
        func: Callable[..., object],
        types: object,
        args: tuple[object, ...] = (),
        kwargs: dict[str, object] | None = None,
    ) -> object:
        if func in _COMPARED and hasattr(args[0], _DRAWN):
            return self._compared(func, args)
        if func is torch.Tensor.__bool__ and hasattr(args[0], _DECIDED):
            self.notes.append(f"a branch on drawn values is converted for the usual case: {caller()}")
            return getattr(args[0], _DECIDED)
        if func is torch._C._set_grad_enabled and torch.is_grad_enabled() and not args[0]:
            self._without_gradients.append(caller())
        result = func(*args, **(kwargs or {}))
        if func is torch.rand:
            setattr(result, _DRAWN, True)
        return result

    def _compared(self, func: Callable[..., object], args: Any) -> object:
        """Return whether a drawn number is less (or greater) than a bound in a branch, as for most draws."""
        bound, is_less = args[1], func in _COMPARED[:2]
        if bound <= 0:
            return not is_less
        result = func(*args)
        if bound < 1 / 2:
            setattr(result, _DECIDED, not is_less)
        return result

    def require_kept(self, graph: torch.fx.Graph) -> None:
        """Raise UnsupportedError if torch.export lost a torch.no_grad() region next to control flow."""
        names = [node.target.__name__ for node in graph.nodes if isinstance(node.target, HigherOrderOperator)]
        kept = names.count("wrap_with_set_grad_enabled")
        if kept < len(self._without_gradients) and not _CONTROL_FLOW.isdisjoint(names):
            raise UnsupportedError(
                f"torch.export loses torch.no_grad() next to control flow\n  at {self._without_gradients[kept]}; "
                "detach() the values computed there instead"
            )


_CONTROL_FLOW = frozenset({"cond", "while_loop", "map_impl", "scan"})


_DRAWN, _DECIDED = "_opbridge_drawn", "_opbridge_decided"
_COMPARED = (torch.Tensor.lt, torch.Tensor.__lt__, torch.Tensor.gt, torch.Tensor.__gt__)


@contextmanager
def _as_if_run() -> Iterator[None]:
    """Make a network that behaves differently while it is traced do what it does when it runs."""
    original = torch.compiler.is_compiling
    torch.compiler.is_compiling = lambda: False
    try:
        yield
    finally:
        torch.compiler.is_compiling = original


@contextmanager
def _unasked() -> Iterator[None]:
    """Make `layer.to(dtype)` skip a layer that is already there, and distributions skip their value checks."""
    original, validates = torch.nn.Module.to, torch.distributions.Distribution._validate_args

    def to(module: torch.nn.Module, *args: object, **kwargs: object) -> torch.nn.Module:
        device, dtype, *_ = torch._C._nn._parse_to(*args, **kwargs)
        values = [*module.parameters(), *module.buffers()]
        is_there = all(
            device in (None, each.device) and (dtype in (None, each.dtype) or not each.is_floating_point())
            for each in values
        )
        return module if is_there else original(module, *args, **kwargs)

    torch.nn.Module.to = to
    torch.distributions.Distribution.set_default_validate_args(False)
    try:
        yield
    finally:
        torch.nn.Module.to = original
        torch.distributions.Distribution.set_default_validate_args(validates)


@contextmanager
def in_mode(module: torch.nn.Module, *, training: bool) -> Iterator[None]:
    """Set a network to training or inference, and restore all modes afterwards.

    Parts that were deliberately switched to inference in a training network stay so.
    """
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
