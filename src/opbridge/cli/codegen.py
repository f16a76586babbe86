"""opbridge codegen: write the sources of a backend from its declarations."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from opbridge.base.errors import InputError
from opbridge.build.cache import Cache
from opbridge.cli.output_paths import require_writable_folder
from opbridge.cli.terminal import bold, green, red
from opbridge.codegen.explain import explain_generated, explain_installed
from opbridge.codegen.generator import Generated, ejected, from_scratch, generate
from opbridge.codegen.inputs import Inputs, Wish
from opbridge.codegen.output_files import changes, write

_STALE = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `opbridge codegen`."""
    parser.add_argument(
        "files", type=Path, nargs="*", metavar="FILE.yaml", help="declarations, in one or more dialects"
    )
    parser.add_argument("-o", "--output", type=Path, metavar="DIR", help="write the sources here")
    parser.add_argument(
        "--namespace", metavar="NAME", help="the namespace of the backend's own operators, as in torch.ops.NAME"
    )
    parser.add_argument("--key", help="the backend's dispatch key; without it the kernels of an ops.yaml are included")
    parser.add_argument(
        "--cpp-namespace", metavar="NAME", help="the C++ namespace of the kernels (default: NAMESPACE::native)"
    )
    parser.add_argument("--torch-version", metavar="VERSION", help="select the entries for this PyTorch version")
    parser.add_argument(
        "--keep-going",
        action="store_true",
        help="skip wrong operators and derivatives, list them by cause, and write the others",
    )
    parser.add_argument("--strict", action="store_true", help="treat an unknown field as an error")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if the sources are not up to date")
    parser.add_argument(
        "--explain",
        metavar="OPERATOR",
        help="show the kernels and generated code of a call; without files, for the installed PyTorch",
    )


def run(options: argparse.Namespace) -> int:
    """Write the sources, or compare or explain them; return 1 if `--check` finds files that are not up to date."""
    if options.explain:
        return _explain(options)
    if not options.files or options.output is None:
        raise InputError("expected FILE.yaml and -o DIR", hint="or --explain OPERATOR")
    started = time.perf_counter()
    require_writable_folder(None if options.check else options.output)
    inputs = Inputs.read(options.files, _wish(options))
    with Cache().step(f"generating {options.output}"):
        made = ejected(inputs)[1] if _is_ejected(options, inputs) else generate(inputs, Cache())
    files = made.files
    found = changes(options.output, files) if options.check else write(options.output, files)
    for name in found.written:
        print(f"{'stale' if options.check else 'wrote'}  {name}")
    for name in found.removed:
        print(f"{'stale' if options.check else 'removed'}  {name}")
    took = f"({time.perf_counter() - started:.2f} s)"
    if options.check and found.any:
        print(red(f"{options.output} is not what its declarations give; run the command without --check    {took}"))
        return _STALE
    print(green(f"{bold(str(options.output))}: {len(files)} files, {len(found.unchanged)} as they were    {took}"))
    _tell(made)
    return 0


def _wish(options: argparse.Namespace) -> Wish:
    return Wish(
        options.key or Wish.key,
        options.namespace,
        options.cpp_namespace,
        options.torch_version,
        options.strict,
        options.keep_going,
    )


def _is_ejected(options: argparse.Namespace, inputs: Inputs) -> bool:
    return options.key is None and inputs.is_manifest


def _tell(made: Generated) -> None:
    """Print warnings about declarations that are not in the generated files."""
    if made.unknown_fields:
        print("warning: fields that opbridge does not know; --strict makes them errors", file=sys.stderr)
        print(*(f"  {line}" for line in made.unknown_fields), sep="\n", file=sys.stderr)
    if made.left_out:
        print("warning: left out, with everything that only they need", file=sys.stderr)
        print(*(f"  {line}" for line in made.left_out), sep="\n", file=sys.stderr)


def _explain(options: argparse.Namespace) -> int:
    if not options.files:
        found = explain_installed(options.explain, options.key or "CPU")
    else:
        inputs = Inputs.read(options.files, _wish(options))
        backend, made = ejected(inputs) if _is_ejected(options, inputs) else from_scratch(inputs)
        _tell(made)
        found = explain_generated(backend, made.files, options.explain)
    print("\n\n".join(map(str, found)))
    return 0
