"""The MindSpore package of a network: a Cell per module, with PyTorch names."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from textwrap import indent
from typing import Any

from opbridge.models.conversion.cells import attribute_of
from opbridge.models.conversion.exported_graphs import Exported, ModuleGraphs
from opbridge.models.conversion.function_source import MARK, Body, leaves, parameters, returned, wrapped
from opbridge.models.conversion.native_operators import Natives
from opbridge.models.conversion.package_operators import Operators


class CellBody(Body):
    """The body of one `construct` method."""

    def __init__(self, package: Package, mode: str, place: str) -> None:
        super().__init__(package.operators, package.exported, package.natives, mode, place)
        self.is_list = package.is_list

    def attribute(self, path: str) -> str:
        """Return the expression for a value of the module, by its PyTorch path."""
        owner, _, name = path.rpartition(".")
        return f"{self.cell(owner)}.{attribute_of(name)}"

    def called(self, path: str, arguments: str) -> str:
        """Return the call of a submodule's cell."""
        return f"{self.cell(path)}({arguments})"

    def cell(self, path: str) -> str:
        """Return the expression for a cell below `self`: numbers are places of a list, other names attributes."""
        text, place = "self", self.place
        for name in filter(None, path.split(".")):
            text += f"[{name}]" if self.is_list(place) else f".{attribute_of(name)}"
            place = f"{place}.{name}".lstrip(".")
        return text

    def dtype(self, name: str) -> str:
        """Return the MindSpore expression of a dtype."""
        return f"ms.{'bool_' if name == 'bool' else name}"

    def stopped(self, value: str) -> str:
        """Return the expression that stops the gradient of a value."""
        return f"ops.stop_gradient({value})"

    def assigned(self, path: str, value: str) -> str:
        """Return the line that assigns a value of the module."""
        return f"ops.assign({self.attribute(path)}, {value})"

    def factory(self, name: str, value: str) -> str:
        """Return the attribute of a constant tensor; equal tensors share one."""
        known = next((each for each, text in self.factories.items() if text == value), None)
        self.factories[known or name] = value
        return f"self.{known or name}"


@dataclass(frozen=True)
class _Class:
    name: str
    parameters: tuple[str, ...]
    """The parameters of its constructor: shapes."""


class Package:
    """A package of classes, one per module; modules with the same source share one."""

    def __init__(self, exported: Exported, natives: Natives | None = None) -> None:
        self.exported = exported
        self.natives = natives
        self.operators = Operators()
        self.origins: dict[tuple[str, str], dict[str, Any]] = {}
        """The origins of the names in a module's source, by mode and path."""
        self.classes: dict[str, _Class] = {}
        """Classes by source text, which has a NUL character in place of the name."""
        self.names: set[str] = set()
        self.lists: dict[str, bool] = {}
        paths = {*exported.modules, *(name.rpartition(".")[0] for name in exported.state)}
        paths |= {".".join(path.split(".")[:count]) for path in paths for count in range(path.count(".") + 1)}
        # PyTorch uses the first name of tied values; in the same order, MindSpore finds that name first too.
        order = {path: place for place, path in enumerate(exported.order)}
        self.paths = sorted(paths, key=lambda path: (order.get(path.partition("@")[0], len(order)), path))

    def source(self) -> str:
        """Return the text of `network.py`."""
        root = self.made("")
        cells = ", ".join(sorted({"buffer", "name_parameters", "parameter", "tie", *self.operators.helpers}))
        bodies = "\n\n\n".join(text.replace("\0", each.name, 1) for text, each in self.classes.items())
        return f'''"""{self.exported.name} of PyTorch's, in MindSpore.

{MARK}, which writes it anew.
"""

from collections import OrderedDict

import mindspore as ms
import numpy as np
from mindspore import {"mint, " if self.operators.native else ""}nn, ops

import opbridge as ob
from opbridge.models.conversion.cells import {cells}
{self.operators.imported}{"from opbridge.models.scan import forms" if self.operators.native else ""}

{self.operators.definitions("mindspore")}


{bodies}


def network():
    """The network with zeros for weights; `load` of the package loads those of PyTorch's."""
    made = {root}
    name_parameters(made)
    return made
'''

    def in_the_way(self) -> dict[str, str]:
        """Return why operators stay with PyTorch, where MindSpore operators were tried."""
        return self.natives.in_the_way(self.operators.used) if self.natives else {}

    def children(self, path: str) -> list[str]:
        """Return the names of a module's direct children, in order."""
        start = f"{path}." if path else ""
        below = (each for each in self.paths if each.startswith(start) and each)
        return list(dict.fromkeys(each.removeprefix(start).partition(".")[0] for each in below))

    def made(self, path: str) -> str:
        """Return the expression that makes the cell of a module."""
        module = self.exported.modules.get(path)
        names = self.children(path)
        cells = {name: self.made(f"{path}.{name}" if path else name) for name in names}
        held = self.held(path)
        if self.is_list(path):
            return _listed("nn.CellList([", cells.values(), "])")
        if names and not held and all(name.isdigit() for name in names) and module and _is_chain(module, names):
            pairs = [f'("{name}", {cell})' for name, cell in cells.items()]
            return _listed("nn.SequentialCell(OrderedDict([", pairs, "]))")
        return self.classed(path, module, cells, held)

    def is_list(self, path: str) -> bool:
        """Return whether a module only contains others, numbered without a gap."""
        if path not in self.lists:
            names = self.children(path)
            counted = bool(names) and names == [*map(str, range(len(names)))]
            self.lists[path] = counted and path not in self.exported.modules and not self.held(path)
        return self.lists[path]

    def held(self, path: str) -> dict[str, str]:
        """Return the module's own values by attribute: the kind, the shape and the type of each."""
        start = f"{path}." if path else ""
        found = {}
        for name, value in self.exported.state.items():
            own = name.removeprefix(start)
            if name.startswith(start) and "." not in own:
                trains = name in self.exported.trainable
                dtype = str(value.dtype).removeprefix("torch.")
                more = "" if dtype == "float32" else f", ms.{'bool_' if dtype == 'bool' else dtype}"
                found[attribute_of(own)] = f"{'parameter' if trains else 'buffer'}({tuple(value.shape)}{more})"
        return found

    def classed(self, path: str, module: ModuleGraphs | None, cells: dict[str, str], held: dict[str, str]) -> str:
        """Return the expression that makes a cell of the module's class, and define the class if it is new."""
        shapes = {} if cells else {name: re.search(r"\((\(.*?\))", text)[1] for name, text in held.items()}  # type: ignore[index]
        lines = ["super().__init__()"]
        for name, text in held.items():
            lines.append(f"self.{name} = {text.replace(shapes[name], name, 1) if shapes else text}")
        for name, cell in cells.items():
            lines.append(f"self.{attribute_of(name)} = {cell}")
        construct, factories = self.construct(path, module) if module else ("", {})
        lines += [f"self.{name} = ms.Tensor({text})" for name, text in factories.items()]
        if not path:
            pairs = self.exported.tied.items()
            lines += [f'tie(self, "{_key(name)}", "{_key(other)}")' for name, other in pairs]
            names = [f'"{here}": "{theirs}"' for here, theirs in self.renamed().items()]
            lines += wrapped("self.pytorch_names = {", names, "}") if names else []
        head = "\n".join(wrapped("def __init__(", ["self", *shapes], "):"))
        init = f"{head}\n{indent(chr(10).join(lines), '    ')}"
        body = "\n\n".join(filter(None, (init, construct)))
        text = f"class \0(nn.Cell):\n{indent(body, '    ')}"
        known = self.classes.get(text)
        if known is None:
            wanted = module.class_name if module else "".join(part.title() for part in path.split(".")[-1:]) or "Part"
            known = self.classes[text] = _Class(self.named(wanted), tuple(shapes))
        return f"{known.name}({', '.join(f'{name}={shape}' for name, shape in shapes.items())})"

    def renamed(self) -> dict[str, str]:
        """Return the PyTorch names that no attribute can have, by the names that they have here."""
        names = {part for name in (*self.paths, *self.exported.state) for part in _key(name).split(".")}
        pairs = {attribute_of(name): name for name in sorted(names)}
        return {here: theirs for here, theirs in pairs.items() if here not in (theirs, f"_{theirs}")}

    def named(self, wanted: str) -> str:
        """Return an unused class name, and reserve it."""
        base, number = wanted if wanted.isidentifier() else f"Part{wanted}", 1
        name = base
        while name in self.names:
            number += 1
            name = f"{base}{number}"
        self.names.add(name)
        return name

    def construct(self, path: str, module: ModuleGraphs) -> tuple[str, dict[str, str]]:
        """Render `construct` for both modes; return its text and the constant tensors that it uses."""
        factories: dict[str, str] = {}
        bodies = [
            self.body(path, mode, graph, factories)
            for mode, graph in (("training", module.training), ("inference", module.inference))
            if graph is not None and len(graph.nodes)
        ]
        inputs = parameters([taken for taken, _ in bodies])
        first, second = bodies[0][1], bodies[-1][1]
        lines = first if first == second else ["if self.training:", *(f"    {line}" for line in first), *second]
        text = indent("\n".join(lines), "    ")
        return f"def construct({', '.join(['self', *inputs])}):\n{text}", factories

    def body(self, path: str, mode: str, graph: object, factories: dict[str, str]) -> tuple[list[str], list[str]]:
        """Render the graph of a module in one mode; return its inputs and its lines."""
        body = CellBody(self, mode, path)
        body.factories = factories
        body.taken |= set(factories)
        inputs = body.inputs(graph, self.exported.input_names if not path else ("x", "y", "z"))
        self.origins[mode, path] = body.origins
        output = body.graph(graph)
        if not path:
            output = leaves(output)
        return inputs, [*body.lines, f"return {returned(body, output)}"]


def _key(path: str) -> str:
    return path.replace("@", "__")


def _is_chain(module: ModuleGraphs, names: list[str]) -> bool:
    """Return whether both modes call all children, one after the other."""
    return all(_called_in_order(graph) == names for graph in (module.inference, module.training))


def _called_in_order(graph: Any) -> list[str] | None:
    if graph is None:
        return None
    first, *steps, output = graph.nodes
    if first.op != "placeholder" or any(step.op != "call_module" for step in steps):
        return None
    inputs = [first, *steps]
    if any(step.args != (before,) for step, before in zip(steps, inputs, strict=False)):
        return None
    return [step.target for step in steps] if output.args[0] in (inputs[-1], (inputs[-1],)) else None


def _listed(head: str, items: Iterable[str], tail: str) -> str:
    return "\n".join(wrapped(head, list(items), tail))
