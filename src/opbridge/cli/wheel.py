"""opbridge wheel: package the operators of a manifest for installation with pip, without a compiler."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from opbridge.authoring.wheel.build_hub_kernel import make_kernel
from opbridge.authoring.wheel.build_wheel import Order, make_wheel
from opbridge.build.cache import Cache
from opbridge.cli.output_paths import require_writable_folder
from opbridge.cli.terminal import bold, green, size


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `opbridge wheel`."""
    parser.add_argument("manifest", type=Path, metavar="ops.yaml", help="the manifest; its folder holds the kernels")
    parser.add_argument(
        "-o", "--output", type=Path, metavar="DIR", default=Path("dist"), help="write the package here (default: dist)"
    )
    parser.add_argument(
        "--format",
        choices=("wheel", "kernels"),
        default="wheel",
        help="kernels: a folder for Hugging Face `kernels`, also from the build.toml of a kernel-builder project",
    )
    parser.add_argument("--name", help="the name of the package (default: the namespace of the manifest)")
    parser.add_argument("--version", default="0.1.0", help="the version of the package (default: 0.1.0)")
    parser.add_argument("--license", metavar="SPDX", help='the license of the package, as in "Apache-2.0"')
    parser.add_argument(
        *("--license-file",),
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="add this license file; may be repeated",
    )
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="cuda: include the CUDA kernels")
    parser.add_argument(
        "--adapter-for",
        action="append",
        default=[],
        metavar="PYTHON",
        help="include the PyTorch adapter for this Python and its PyTorch, as in env/bin/python; may be repeated",
    )


def run(options: argparse.Namespace) -> int:
    """Make the package, print what is in it and how to install it; return 0."""
    started = time.perf_counter()
    require_writable_folder(options.output)
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
