"""Report the parts of opbridge that are compiled on first use, unless the wheel or the cache has them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec

from opbridge.authoring.doctor.finding import Finding
from opbridge.base.durations import kept
from opbridge.base.errors import OpbridgeError
from opbridge.build.cache import Cache
from opbridge.build.toolchains.builder import is_built
from opbridge.build.toolchains.interface import BuildRequest
from opbridge.build.toolchains.torch_install import TorchInstall

READY, LATER = "ready", "compiled on first use"
_SECONDS = 120
_ASK_JAX = """
from opbridge.authoring.doctor.parts import state
from opbridge.frameworks.jax.handler import request
print(state(request()))
"""


def parts() -> Iterator[Finding]:
    """Yield the state of each part whose framework is installed."""
    if find_spec("torch"):
        yield _part("PyTorch adapter")
    yield _part("CUDA twin")
    yield _part("Ascend C twin")
    if find_spec("jax"):
        yield _jax_handler()


def state(request: BuildRequest) -> str:
    """Return whether a library is ready, or how long it took the last time that it was compiled."""
    cache = Cache()
    return READY if is_built(request, cache) else _later(request, cache)


def _part(what: str) -> Finding:
    try:
        return Finding(what, _STATES[what](), required=False)
    except (OpbridgeError, ImportError) as error:
        return Finding(what, None, str(error), required=False)


def _adapter() -> str:
    from opbridge.frameworks.torch.native import Interpreter, is_ready, request

    install, cache = TorchInstall.found(), Cache()
    return READY if is_ready(install, cache) else _later(request(install, Interpreter.current()), cache)


def _cuda_twin() -> str:
    from opbridge.twins.cuda.toolchain import runtime_request

    return state(runtime_request())


def _ascend_twin() -> str:
    from opbridge.twins.ascend.toolchain import runtime_request

    return state(runtime_request())


_STATES = {"PyTorch adapter": _adapter, "CUDA twin": _cuda_twin, "Ascend C twin": _ascend_twin}
_JAX = "JAX handler"
NAMES = (*_STATES, _JAX)
"""All parts, in the order of the report."""


def _jax_handler() -> Finding:
    """Ask in a separate process, because importing JAX may fail in ways that end a process."""
    try:
        asked = subprocess.run([sys.executable, "-c", _ASK_JAX], capture_output=True, text=True, timeout=_SECONDS)
    except subprocess.TimeoutExpired:
        return Finding(_JAX, None, f"import jax has not ended after {_SECONDS} s", required=False)
    reason = (asked.stderr.strip().splitlines() or [""])[-1]
    return Finding(_JAX, asked.stdout.strip() or None, reason, required=False)


def _later(request: BuildRequest, cache: Cache) -> str:
    seconds = kept(cache.root, request.about)
    return LATER if seconds is None else f"{LATER}, in {seconds:.0f} s last time"
