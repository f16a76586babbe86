"""What reads a user's text takes time in proportion to its length: no text keeps a parser busy for minutes.

Each text is made four times as long.  What counts is how the time grows, whatever machine it is of; a busy one is given
several attempts.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from itertools import count

import pytest

from opbridge.base.errors import OpbridgeError, did_you_mean
from opbridge.native.catalog import Catalog
from opbridge.waist.manifest import KernelRef, Manifest
from opbridge.waist.rules import Rules, parse_expression
from opbridge.waist.schema import Schema

Read = Callable[[str], object]
Write = Callable[[int], str]


def names(n: int) -> str:
    return " ".join(f"a{i}" for i in range(n))


def fields(n: int, entry: str) -> str:
    return "{" + ", ".join(entry.format(i) for i in range(n)) + "}"


def tensors(n: int) -> str:
    return ", ".join(f"Tensor x{i}" for i in range(n))


def rule(field: str, schema: str = "m::f(Tensor x) -> Tensor") -> Read:
    parsed = Schema.parse(schema)
    return lambda text: Rules.parse({"out": "x", field: text}, parsed)


def catalog(text: str) -> object:
    manifest = Manifest.parse(text)
    return Catalog.from_bytes(Catalog.of(manifest.namespace, manifest.ops).to_bytes())


def operators(n: int, entry: str = "func: f{}(Tensor x, Tensor y) -> Tensor, out: x, kernels: {{cpu: k.cpp}}") -> str:
    return "namespace: m\nops:\n" + "".join(f"  - {{{entry.format(i)}}}\n" for i in range(n))


def with_field(field: str, func: str = "f(Tensor x, int n=1) -> Tensor") -> str:
    return f"namespace: m\nops:\n  - func: {func}\n    kernels: {{cpu: k.cpp}}\n    {field}\n"


SCHEMAS: dict[str, tuple[int, Write]] = {
    "digits": (2000, lambda n: f"f(float a={'1' * n}"),
    "digits and letters": (2000, lambda n: f"f(float a={'1' * n}x) -> Tensor"),
    "a fraction": (2000, lambda n: f"f(float a=0.{'1' * n}e) -> Tensor"),
    "an exponent": (2000, lambda n: f"f(float a=1e{'1' * n}) -> Tensor"),
    "a name": (20000, lambda n: f"f{'x' * n}(Tensor x) -> Tensor"),
    "blanks": (20000, lambda n: f"f({' ' * n}Tensor x) {' ' * n} -> {' ' * n}?"),
    "a string": (20000, lambda n: f"f(str a='{'x' * n}') -> Tensor"),
    "escapes": (5000, lambda n: "f(str a='" + r"\'" * n + "') -> Tensor"),
    "a string that never ends": (20000, lambda n: "f(str a='" + r"\'" * n),
    "quotes": (5000, lambda n: "f(str a=" + "'" * n),
    "brackets": (5000, lambda n: f"f(int{'[' * n}"),
    "a list": (2000, lambda n: f"f(int[] a=[{','.join(['1'] * n)}]) -> Tensor"),
    "a list with a mistake": (2000, lambda n: f"f(int[] a=[{','.join(['1'] * n)},x]) -> Tensor"),
    "arguments": (500, lambda n: f"f({tensors(n)}) -> Tensor"),
    "returns": (1000, lambda n: f"f(Tensor x) -> ({tensors(n)})"),
    "returns that alias": (
        500,
        lambda n: (
            f"f({', '.join(f'Tensor(a{i}!) x{i}' for i in range(n))}) -> "
            f"({', '.join(f'Tensor(a{i}!)' for i in range(n))})"
        ),
    ),
    "an alias set": (2000, lambda n: f"f(Tensor({'|'.join(f'a{i}' for i in range(n))}) x) -> Tensor"),
    "garbage": (20000, lambda n: "?" * n),
}
EXPRESSIONS: dict[str, tuple[int, Write]] = {
    "digits": (5000, lambda n: "1" * n),
    "a fraction": (5000, lambda n: "0." + "1" * n + "e"),
    "a name": (20000, lambda n: "x" * n),
    "an operator's name": (2000, lambda n: "a::b" + ".c" * n),
    "colons": (2000, lambda n: "a::" * n),
    "blanks behind an operator's name": (5000, lambda n: "a::b" + " " * n + "x"),
    "a string": (5000, lambda n: "'" + "x" * n + "'"),
    "a string that never ends": (5000, lambda n: "'" + r"\'" * n),
    "quotes": (5000, lambda n: "'\"" * n),
    "a list": (1000, lambda n: "[" + ", ".join(["x"] * n) + "]"),
    "arguments": (1000, lambda n: "f(" + ", ".join(f"k{i}=x" for i in range(n)) + ")"),
    "a sum": (1000, lambda n: "x" + " + x" * n),
    "brackets": (2000, lambda n: "(" * n),
    "lines": (5000, lambda n: "x\n" * n),
}
MANIFESTS: dict[str, tuple[int, Write]] = {
    "operators": (50, operators),
    "mistakes": (50, lambda n: operators(n, "func: f{}(Tensor x) -> Tensor, out: z, kernels: {{cpu: k}}, more: 1")),
    "twins": (50, lambda n: operators(n, "func: f(Tensor x) -> Tensor, out: x, kernels: {{cpu: k.cpp}}")),
    "keys": (200, lambda n: "".join(f"k{i}: 1\n" for i in range(n))),
    "the same key": (200, lambda n: "k: 1\n" * n),
    "blank lines": (2000, lambda n: "\n" * n + operators(1)),
    "a comment": (20000, lambda n: "# " + "x" * n + "\n" + operators(1)),
    "a formula": (2000, lambda n: with_field(f"out: {{shape: [{'n + ' * n}n]}}")),
    "lists in a list": (200, lambda n: with_field(f"out: [{'[n], ' * n}]")),
    "formulas that start with a list": (200, lambda n: with_field(f"out: [{'[n] + [n], ' * n}]")),
    "brackets": (200, lambda n: with_field("out: " + "[(" * n)),
    "flow that never ends": (500, lambda n: with_field("out: {" + "a: b, " * n)),
    "a quoted text": (5000, lambda n: with_field(f"out: '{'x ' * n}'")),
    "escapes": (2000, lambda n: with_field('out: "' + r"\u00e9" * n + '"')),
    "a folded text": (1000, lambda n: with_field("out: >\n" + "      x\n" * n)),
    "data": (200, lambda n: with_field(f"out: x\n    samples: [{{x: {{data: [{', '.join(['1'] * n)}]}}}}]")),
    "rows of data": (100, lambda n: with_field(f"out: x\n    samples: [{{x: {{data: [{'[1, 2], ' * n}]}}}}]")),
    "samples": (50, lambda n: with_field(f"out: x\n    samples: [{'{x: {shape: [1]}}, ' * n}]")),
    "sizes of launch": (100, lambda n: with_field("out: x\n    launch: " + fields(n, "k{}: n"))),
    "derivatives": (
        50,
        lambda n: with_field("out: x0\n    derivatives: " + fields(n, "x{}: grad"), f"f({tensors(n)}) -> Tensor"),
    ),
}
CASES: dict[str, tuple[Read, int, Write]] = {
    **{f"schema: {name}": (Schema.parse, n, write) for name, (n, write) in SCHEMAS.items()},
    **{f"rule: {name}": (parse_expression, n, write) for name, (n, write) in EXPRESSIONS.items()},
    **{f"manifest: {name}": (Manifest.parse, n, write) for name, (n, write) in MANIFESTS.items()},
    "batch": (rule("batch"), 500, lambda n: f"{names(n)} -> {names(n)}"),
    "shard": (rule("shard"), 500, lambda n: f"{names(n)} -> {names(n)}"),
    "clauses of shard": (rule("shard"), 500, lambda n: f"{names(n)} -> _ : sum {names(n)}"),
    "kernel": (lambda text: KernelRef.parse("cpu", text), 20000, lambda n: "a:" * n + "::b"),
    "catalog": (catalog, 50, operators),
}


@pytest.mark.parametrize("name", CASES)
def test_time_grows_with_the_length_of_the_text(name: str) -> None:
    read, n, write = CASES[name]
    texts = [write(n), write(4 * n)]
    best = [float("inf")] * 2
    for _ in range(10):
        for place, text in enumerate(texts):
            started = time.process_time()
            with suppress(OpbridgeError):
                read(text)
            best[place] = min(best[place], time.process_time() - started)
        # Four times as long for four times the text, or sixteen if the time grows with its square.
        if best[1] < 8 * best[0] or best[1] < 0.01:
            return
    pytest.fail(f"{name}: {best[0]:.4f} s for a text of {len(texts[0])}, {best[1]:.4f} s for one of {len(texts[1])}")


def test_a_hint_looks_at_so_many_names_and_no_more() -> None:
    assert did_you_mean("name70", (f"name{number}" for number in count())) == "did you mean 'name70'?"
