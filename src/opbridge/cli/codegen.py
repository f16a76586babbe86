"""opbridge codegen: the sources of a backend from its declarations."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from opbridge.cache import Cache
from opbridge.cli.terminal import bold, green, red
from opbridge.codegen.generating import generate
from opbridge.codegen.inputs import Inputs, Wish
from opbridge.codegen.writing import changes, write

_STALE = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files", type=Path, nargs="+", metavar="FILE.yaml", help="declarations, of one or more dialects"
    )
    parser.add_argument("-o", "--output", type=Path, metavar="DIR", required=True, help="where the sources go")
    parser.add_argument("--namespace", metavar="NAME", help="of the backend's own operators, as in torch.ops.NAME")
    parser.add_argument("--key", default="PrivateUse1", help="the backend's dispatch key (default: PrivateUse1)")
    parser.add_argument("--cpp-namespace", metavar="NAME", help="of the kernels (default: NAMESPACE::native)")
    parser.add_argument("--torch-version", metavar="VERSION", help="where entries are for ranges of versions")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if what is there is not up to date")


def run(options: argparse.Namespace) -> int:
    started = time.perf_counter()
    wish = Wish(options.key, options.namespace, options.cpp_namespace, options.torch_version)
    files = generate(Inputs.read(options.files, wish), Cache())
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
    return 0
