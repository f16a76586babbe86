"""opbridge wheel: package the operators of a manifest for installation with pip, without a compiler."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from opbridge.authoring.wheel.hub_making import make_kernel
from opbridge.authoring.wheel.making import Order, make_wheel
from opbridge.build.cache import Cache
from opbridge.cli.terminal import bold, green, size


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `opbridge wheel`."""
    parser.add_argument("manifest", type=Path, metavar="ops.yaml", help="the manifest, whose folder holds the kernels")
    parser.add_argument("-o", "--output", type=Path, metavar="DIR", default=Path("dist"), help="default: dist")
    parser.add_argument(
        "--format",
        choices=("wheel", "kernels"),
        default="wheel",
        help="kernels: a folder that Hugging Face's `kernels` loads; also of a kernel-builder project's build.toml",
    )
    parser.add_argument("--name", help="of the package (default: the manifest's namespace)")
    parser.add_argument("--version", default="0.1.0", help="of the package (default: 0.1.0)")
    parser.add_argument("--license", metavar="SPDX", help='as in "Apache-2.0"')
    parser.add_argument(
        *("--license-file",), type=Path, action="append", default=[], metavar="FILE", help="goes with it; repeatable"
    )
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="cuda: the kernels for CUDA as well")
    parser.add_argument(
        "--adapter-for",
        action="append",
        default=[],
        metavar="PYTHON",
        help="bring the PyTorch adapter for this Python and the PyTorch it has, as in env/bin/python; repeatable",
    )


def run(options: argparse.Namespace) -> int:
    """Make the package, print what is in it and how to install it; return 0."""
    started = time.perf_counter()
    order = Order(
        manifest=options.manifest,
        version=options.version,
        name=options.name,
        license=options.license,
        license_files=tuple(options.license_file),
        devices=("cpu", "cuda") if options.device == "cuda" else ("cpu",),
        adapters_for=tuple(options.adapter_for),
    )
    of_hub = options.format == "kernels"
    cache = Cache()
    with cache.step(f"making a package of {options.manifest}"):
        made = (make_kernel if of_hub else make_wheel)(order, options.output, cache)
    for kernel, copies in made.kernels.items():
        print(f"{kernel}  {', '.join(copies) or 'one copy'}")
    for adapter in made.adapters:
        print(f"PyTorch adapter  {adapter}")
    for note in made.notes:
        print(note)
    seconds = f"({time.perf_counter() - started:.2f} s)"
    if of_hub:
        print(bold(str(made.path)))
        print(green(f"load it with: kernels.get_local_kernel(Path({str(made.path.parents[1])!r}))    {seconds}"))
    else:
        print(f"{bold(str(made.path))}  {size(made.path.stat().st_size)}")
        print(green(f"install it with: pip install {made.path}    {seconds}"))
    return 0
