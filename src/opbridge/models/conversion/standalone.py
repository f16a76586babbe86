"""Make a package that needs only its framework: with copies of the modules that its source calls, and a test."""

from __future__ import annotations

import re
from pathlib import Path

_HERE = Path(__file__).parent
_SCAN = _HERE.parent / "scan"
_NEEDED = {
    "mindspore": ((_HERE, ("cells.py", "weights.py")), "forms"),
    "jax": ((_HERE, ("arrays.py", "drawing.py", "nnx_module.py", "weights.py")), "jax_forms"),
}
"""The modules that the source of each framework may call, and the folder of its forms."""
_ERRORS = '''"""The errors of this package."""


class PackageError(Exception):
    """The base of all errors of this package."""

    def __init__(self, message, hint=""):
        super().__init__(f"{message}\\n  {hint}" if hint else message)


class InputError(PackageError, ValueError):
    """A file does not fit the network."""


class CallError(PackageError, TypeError):
    """The network is called in another way than it takes."""


class UnsupportedError(PackageError, NotImplementedError):
    """Something that this package needs is not installed."""
'''
_CALL = {
    "mindspore": "load()(*map(ms.Tensor, inputs))",
    "jax": "apply(values, *map(jnp.asarray, inputs))",
}
_SETUP = {"mindspore": "", "jax": "    apply, values = load()\n"}
_IMPORT = {"mindspore": "import mindspore as ms", "jax": "import jax.numpy as jnp"}
_ARRAY = {"mindspore": "each.asnumpy()", "jax": "np.asarray(each)"}
EXAMPLE = "example.safetensors"


def files(framework: str) -> dict[str, str]:
    """Return the texts of the modules that a package of its own needs, by their paths in it."""
    (folder, names), forms = _NEEDED[framework]
    found = {"errors.py": _ERRORS}
    for name in names:
        found[name] = relative((folder / name).read_text(encoding="utf-8"))
    for path in sorted((_SCAN / forms).glob("*.py")):
        found[f"{forms}/{path.name}"] = relative(path.read_text(encoding="utf-8"), inside=True)
    return found


def relative(source: str, *, inside: bool = False) -> str:
    """Return a source whose imports are those of its package; `inside` is for the folder of forms."""
    up = ".." if inside else "."
    source = re.sub(r"from opbridge\.base\.errors import", f"from {up}errors import", source)
    source = re.sub(r"from opbridge\.models\.scan\.(?:jax_)?forms\.", "from .", source)
    source = re.sub(r"from opbridge\.models\.scan\.(?:jax_)?forms import", "from . import", source)
    source = re.sub(r"from opbridge\.models\.scan import", "from . import", source)
    source = re.sub(r"from opbridge\.models\.conversion\.", "from .", source)
    source = re.sub(r"from opbridge\.models\.conversion import", "from . import", source)
    return re.sub(r"^import opbridge as ob\n", "", source, flags=re.MULTILINE)


def test_text(framework: str, mark: str) -> str:
    """Return the test of a package, which compares it with what PyTorch gave for the example inputs."""
    return f'''"""{mark}. The network gives what PyTorch gave for the example inputs.

Run it with `python -m pytest`.
"""

from pathlib import Path

{_IMPORT[framework]}
import numpy as np

from . import load, weights

EXAMPLE = weights.load(Path(__file__).with_name("{EXAMPLE}"))


def numbered(start):
    """Return the arrays of the example whose names begin so, in order."""
    return [EXAMPLE[f"{{start}}.{{place}}"] for place in range(sum(name.startswith(start) for name in EXAMPLE))]


def test_values_are_those_of_pytorch():
    inputs = numbered("input")
{_SETUP[framework]}    results = {_CALL[framework]}
    results = results if isinstance(results, tuple) else (results,)
    for want, each in zip(numbered("result"), results, strict=True):
        have = {_ARRAY[framework]}
        assert have.shape == want.shape
        finite = np.isfinite(want)
        largest = float(np.abs(np.where(finite, want, 0)).max(initial=1e-6))
        assert np.array_equal(np.isfinite(have), finite)
        assert np.allclose(np.where(finite, have, 0), np.where(finite, want, 0), 0, 1e-4 * largest)
'''
