"""opbridge explain: what follows from a formula: its rules, its gradients as formulas, and its kernels."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from opbridge.cli.terminal import bold
from opbridge.errors import InputError, did_you_mean
from opbridge.formulas import formula_operators
from opbridge.manifest import Manifest, OpSpec


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("manifest", type=Path, metavar="ops.yaml", help="the manifest with the formula")
    parser.add_argument("operators", nargs="*", metavar="OPERATOR", help="only these; all that have formulas otherwise")
    parser.add_argument("--source", action="store_true", help="print the kernels too, as they are compiled")


def run(options: argparse.Namespace) -> int:
    manifest = Manifest.load(options.manifest)
    formulas = {op.schema.full_name.partition("::")[2]: op for op in manifest.ops if op.formula is not None}
    for name in options.operators:
        if name not in formulas:
            hint = did_you_mean(name, formulas) or f"there are {', '.join(formulas) or 'none'}"
            raise InputError(f"{options.manifest} has no operator '{name}' with a formula", hint=hint)
    for name in options.operators or formulas:
        print("\n".join(_explained(formulas[name], options.source)))
    return 0


def _explained(op: OpSpec, with_source: bool) -> Iterator[str]:
    follows = formula_operators(str(op.formula), op.schema)
    yield bold(str(op.schema))
    yield from (f"  {line.strip()}" for line in str(op.formula).strip().splitlines())
    for rule, value in op.rules.fields().items():
        yield f"  {rule}: {value}" + ("" if rule in op.said else "  (follows)")
    for name, text in follows.gradients if "derivatives" not in op.said and "backward" not in op.said else ():
        yield f"  gradient of {name}: {text}"
    for device, error in follows.refusals:
        yield f"  no kernel for {device}: {error.message}"
    if with_source:
        yield from (f"\n{item.source(device)}" for item in follows.all for device in follows.devices)
