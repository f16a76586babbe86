"""Make an environment for `make demo` with only what the demo shows; call an operator during the installation.

    python tools/install_demo.py ENVIRONMENT

NumPy comes first, for the core to be compiled against and for the first operator.  Then the core and the twins are
compiled while pip downloads PyTorch, and the PyTorch adapter while it downloads MindSpore and JAX.  The core is built
in the environment, because a separate one would have another NumPy.  Nothing is byte-compiled: most modules of four
gigabytes are never imported, and Python caches the others.

pip installs, although uv is faster: uv ignores pip's configuration, which may select the CPU build of PyTorch, an index
or certificates, and the default build downloads gigabytes of CUDA.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
FIRST = """
import time, numpy, opbridge
began = time.perf_counter()
scaled = opbridge.inline(
    "#include <opbridge/kernel.h>\\n"
    "void scaled(ob::In<float> x, double by, ob::Out<float> y) {\\n"
    "  for (int64_t i = 0; i < y.numel(); ++i) y[i] = x[i] * by;\\n"
    "}\\n"
    "OB_KERNEL(scaled)",
    schema="demo::scaled(Tensor x, float by) -> Tensor", out="x",
)
result = scaled(numpy.arange(4, dtype="float32"), 2.5)
print(f"         a C++ kernel called from NumPy gives {result}, {time.perf_counter() - began:.1f} s after its source")
"""
TWINS = """
from opbridge.twins.ascend import toolchain as ascend_twin
from opbridge.twins.cuda import toolchain as cuda_twin
cuda_twin.runtime()
ascend_twin.runtime()
"""
ADAPTER = """
from opbridge.frameworks.torch.native import build_adapter
from opbridge.build.toolchains.torch_install import TorchInstall
build_adapter(TorchInstall.found())
"""


class Steps:
    """Commands of one environment, each after those it needs; each prints a line with the seconds since the start."""

    def __init__(self, python: Path) -> None:
        self._python = str(python)
        self._began = time.monotonic()

    def say(self, what: str) -> None:
        print(f"{time.monotonic() - self._began:5.0f} s  {what}", flush=True)

    def start(self, what: str, *words: str, waits: bool = False) -> subprocess.Popen[bytes]:
        """Start a command; with `waits`, at a lower priority than commands that the user waits for."""
        self.say(what)
        before = ("nice", "-n", "10") if waits else ()
        return subprocess.Popen([*before, self._python, *words], cwd=ROOT)

    def install(self, what: str, *words: str, waits: bool = False) -> subprocess.Popen[bytes]:
        quietly = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile")
        return self.start(f"installing {what}", *quietly, "--constraint", "constraints.txt", *words, waits=waits)


def finished(step: subprocess.Popen[bytes]) -> None:
    if step.wait() != 0:
        sys.exit(step.returncode)


def install(environment: Path) -> None:
    python = environment / "bin" / "python"
    if not python.exists():
        venv.create(environment, with_pip=True)
    steps = Steps(python)
    tools = [name for name in ("cmake", "ninja") if shutil.which(name) is None]
    finished(steps.install("NumPy", "numpy", "PyYAML", "scikit-build-core", *tools))
    torch = steps.install("PyTorch", "torch", waits=True)
    try:
        own = ("--no-deps", "--no-build-isolation", "--editable", ".")
        finished(steps.install("opbridge: its core is compiled", *own))
        finished(steps.start("the first operator", "-c", FIRST))
        twins = steps.start("compiling the twins, once", "-c", TWINS, waits=True)
    finally:
        finished(torch)
    others = steps.install("MindSpore and JAX", "mindspore", "jax")
    try:
        finished(steps.start("compiling the adapter for PyTorch, once", "-c", ADAPTER))
    finally:
        finished(others)
        finished(twins)
    steps.say("all is there")


if __name__ == "__main__":
    # Otherwise, Python would compile the same modules in each process of the demo.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    install(Path(sys.argv[1]))
