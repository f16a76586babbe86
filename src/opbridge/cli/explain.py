"""opbridge explain: show what is derived from a formula: its rules, its gradients as formulas, and its kernels."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from opbridge.base.errors import InputError, did_you_mean
from opbridge.cli.json_output import add_json, print_json
from opbridge.cli.terminal import bold
from opbridge.waist.formulas import formula_operators
from opbridge.waist.manifest import Manifest, OpSpec


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `opbridge explain`."""
    parser.add_argument("manifest", type=Path, metavar="ops.yaml", help="the manifest with the formula")
    parser.add_argument(
        "operators", nargs="*", metavar="OPERATOR", help="only these operators (default: all with formulas)"
    )
    parser.add_argument("--source", action="store_true", help="also print the kernels, as they are compiled")
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Print what is derived from the formulas of a manifest; return 0."""
    manifest = Manifest.load(options.manifest)
    formulas = {op.schema.full_name.partition("::")[2]: op for op in manifest.ops if op.formula is not None}
    for name in options.operators:
        if name not in formulas:
            hint = did_you_mean(name, formulas) or f"there are {', '.join(formulas) or 'none'}"
            raise InputError(f"{options.manifest} has no operator '{name}' with a formula", hint=hint)
    found = [_explained(formulas[name], options.source) for name in options.operators or formulas]
    if options.json:
        print_json([asdict(one) for one in found])
    else:
        print("\n".join(line for one in found for line in _lines(one)))
    return 0


@dataclass(frozen=True)
class _Explained:
    operator: str
    formula: str
    rules: dict[str, str]
    follows: tuple[str, ...]
    """The rules that were derived because the manifest does not state them."""
    gradients: dict[str, str]
    refused: dict[str, str]
    """The devices without a kernel, with the reason."""
    sources: dict[str, dict[str, str]]
    """The kernel sources of each operator by device, if requested."""


def _explained(op: OpSpec, with_source: bool) -> _Explained:
    found = formula_operators(str(op.formula), op.schema)
    rules = {rule: str(value) for rule, value in op.rules.fields().items()}
    return _Explained(
        str(op.schema),
        str(op.formula).strip(),
        rules,
        tuple(rule for rule in rules if rule not in op.said),
        {} if {"derivatives", "backward"} & set(op.said) else dict(found.gradients),
        {device: error.message for device, error in found.refusals},
        {one.schema.name: {device: one.source(device) for device in found.devices} for one in found.all}
        if with_source
        else {},
    )


def _lines(one: _Explained) -> Iterator[str]:
    yield bold(one.operator)
    yield from (f"  {line.strip()}" for line in one.formula.splitlines())
    yield from (
        f"  {rule}: {value}" + ("  (follows)" if rule in one.follows else "") for rule, value in one.rules.items()
    )
    yield from (f"  gradient of {name}: {text}" for name, text in one.gradients.items())
    yield from (f"  no kernel for {device}: {message}" for device, message in one.refused.items())
    yield from (f"\n{source}" for sources in one.sources.values() for source in sources.values())
