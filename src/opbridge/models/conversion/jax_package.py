"""The JAX package of a network: a function per module, and all values in one dict by PyTorch names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from textwrap import indent
from typing import Any

from torch._ops import OpOverload

from opbridge.models.conversion.exported_graphs import Exported, ModuleGraphs
from opbridge.models.conversion.function_source import MARK, Body, leaves, parameters, returned, wrapped
from opbridge.models.conversion.native_operators import Natives
from opbridge.models.conversion.package_operators import Operators

_GIVEN = ("values", "at", "train", "keys")
"""Parameters of every function: all values, the prefix of the module's names, the mode, and the random keys."""
_DRAWN = ("dropout", "feature_dropout", "bernoulli", "rand", "randn", "rand_like", "randn_like")
"""Random operators that `conversion.drawing` implements."""


class FunctionBody(Body):
    """The body of one JAX function."""

    def __init__(self, package: Package, mode: str, path: str) -> None:
        super().__init__(package.operators, package.exported, package.natives, mode, path)
        self.package = package
        self.taken |= {*_GIVEN, "jax", "attention", *_DRAWN}

    def operator(self, op: OpOverload, bound: Mapping[str, object]) -> str:
        """Return the call of an operator; one that may draw takes `keys` first."""
        if op._opname in _DRAWN:
            name, draws = op._opname, True
        elif op._opname == "scaled_dot_product_attention":
            name, draws = "attention", bool(bound.get("dropout_p"))
            self.operators.helpers.add(name)
        else:
            return super().operator(op, bound)
        if draws:
            self.operators.drawn.append(name)
        return f"{name}(keys, {self.arguments(op, bound)})"

    def attribute(self, path: str) -> str:
        """Return the expression for a value of the module, by its PyTorch path."""
        return f'values[at + "{_key(path)}"]'

    def called(self, path: str, arguments: str) -> str:
        """Return the call of a submodule's function."""
        whole = f"{self.place}.{path}" if self.place else path
        given = f'values, at + "{_key(path)}.", train, keys'
        return f"{self.package.function(whole)}({given}{', ' if arguments else ''}{arguments})"

    def dtype(self, name: str) -> str:
        """Return the quoted dtype name, which JAX accepts."""
        return f'"{name}"'

    def stopped(self, value: str) -> str:
        """Return the expression that stops the gradient of a value."""
        return f"jax.lax.stop_gradient({value})"

    def assigned(self, path: str, value: str) -> str:
        """Return the line that assigns a value of the module."""
        return f'values[at + "{_key(path)}"] = {value}'

    def factory(self, name: str, value: str) -> str:
        """Return the expression for a constant array."""
        return f"jnp.asarray({value})"


class Package:
    """A package of functions, one per module; modules with the same source share one."""

    def __init__(self, exported: Exported, natives: Natives | None = None) -> None:
        self.exported = exported
        self.natives = natives
        self.operators = Operators()
        self.origins: dict[tuple[str, str], dict[str, Any]] = {}
        """The origins of the names in a module's source, by mode and path."""
        self.functions: dict[str, str] = {}
        """Function names by source text, which has a NUL character in place of the name."""

    def source(self) -> str:
        """Return the text of `network.py`."""
        root = self.function("")
        brought = {
            "arrays": sorted({"Values", *self.operators.helpers}),
            "drawing": sorted({"Keys", *self.operators.drawn} - {"attention"}),
        }
        helpers = "\n".join(
            f"from opbridge.models.conversion.{module} import {', '.join(names)}"
            for module, names in brought.items()
            if names
        )
        bodies = "\n\n\n".join(text.replace("\0", name, 1) for text, name in self.functions.items())
        tied = "".join(f'    "{_key(name)}": "{_key(other)}",\n' for name, other in self.exported.tied.items())
        own = "from opbridge.models.scan import jax_forms\n" if self.operators.native else ""
        return f'''"""{self.exported.name} of PyTorch's, for JAX.

{MARK}, which writes it anew.
"""

import jax
import jax.numpy as jnp
import numpy as np

import opbridge as ob
{helpers}
{self.operators.imported}{own}
{self.operators.definitions("jax")}

TIED = {{{chr(10) if tied else ""}{tied}}}
"""Names that stand for the values of others."""
{self.buffers()}
"""Names of what no optimizer trains."""


{bodies}


def apply(values, *inputs, train=False, key=None):
    """The network's results; in training with them the buffers' new values, to be merged into `values`.

    What is drawn in training is of the key, as of jax.random.key(0).
    """
    values = Values(values, TIED)
    result = {root}(values, "", train, Keys(key), *map(jnp.asarray, inputs))
    return (result, values.assigned) if train else result
'''

    def buffers(self) -> str:
        """Return the line that names the values which are not weights."""
        others = {*self.exported.trainable, *self.exported.tied}
        names = [f'"{_key(name)}"' for name in self.exported.state if name not in others]
        return "\n".join(wrapped("BUFFERS = {", names, "}")) if names else "BUFFERS = set()"

    def in_the_way(self) -> dict[str, str]:
        """Return why operators stay with PyTorch, where JAX operators were tried."""
        return self.natives.in_the_way(self.operators.used) if self.natives else {}

    def function(self, path: str) -> str:
        """Render a module, and return the name of its function."""
        module = self.exported.modules[path]
        bodies = [
            self.body(path, mode, graph)
            for mode, graph in (("training", module.training), ("inference", module.inference))
            if graph is not None and len(graph.nodes)
        ]
        inputs = parameters([taken for taken, _ in bodies])
        first, second = bodies[0][1], bodies[-1][1]
        lines = first if first == second else ["if train:", *(f"    {line}" for line in first), *second]
        head = "\n".join(wrapped("def \0(", [*_GIVEN, *inputs], "):"))
        text = f"{head}\n{indent(chr(10).join(lines), '    ')}"
        return self.functions.get(text) or self.functions.setdefault(text, self.named(module))

    def named(self, module: ModuleGraphs) -> str:
        """Return an unused function name from the class name of a module."""
        # No local variable begins with an underscore.
        base = "_" + re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", module.class_name).lower()
        taken, name, number = set(self.functions.values()), base, 1
        while name in taken:
            number += 1
            name = f"{base}{number}"
        return name

    def body(self, path: str, mode: str, graph: object) -> tuple[list[str], list[str]]:
        """Render the graph of a module in one mode; return its inputs and its lines."""
        body = FunctionBody(self, mode, path)
        inputs = body.inputs(graph, self.exported.input_names if not path else ("x", "y", "z"))
        self.origins[mode, path] = body.origins
        output = body.graph(graph)
        return inputs, [*body.lines, f"return {returned(body, output if path else leaves(output))}"]


def _key(path: str) -> str:
    return path.replace("@", "__")
