"""Frameworks that packages of others bring, by an entry point: found by name, and imported when they are needed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from subprocesses import python

EXAMPLE = Path(__file__).parents[2] / "examples" / "a_framework"

OPERATOR = """
import sys
import opbridge as ob
from opbridge.base.errors import OpbridgeError

double = ob.inline(
    '''
    #include <opbridge/kernel.h>
    void twice(ob::In<float> x, ob::Out<float> out) { for (int64_t i = 0; i < x.numel(); ++i) out[i] = 2 * x[i]; }
    OB_KERNEL(twice)
    ''',
    schema="brought::twice(Tensor x) -> Tensor",
    out="x",
)
"""

ROW = (
    "from opbridge.frameworks import Framework\n"
    "TOYS = Framework('toys', ('toys',), 'a toys.ToyTensor', 'A function.', package='bridge_to_toys')\n"
)
PACKAGE = {
    "toys.py": "class ToyTensor:\n    def __init__(self, values): self.values = values\n",
    "bridge_to_toys/__init__.py": ROW,
    "bridge_to_toys/adapter.py": (
        "import numpy, toys\n"
        "def define(library): pass\n"
        "def view(library, index):\n"
        "    run = library.view(index, 'numpy')\n"
        "    return lambda x: toys.ToyTensor(run(numpy.array(x.values, numpy.float32)).tolist())\n"
        "def call(library, index): return library.view(index, 'toys')\n"
    ),
    "bridge_to_toys-1.dist-info/METADATA": "Metadata-Version: 2.1\nName: bridge-to-toys\nVersion: 1\n",
    "bridge_to_toys-1.dist-info/entry_points.txt": "[opbridge.frameworks]\ntoys = bridge_to_toys:TOYS\n",
}


def run(folder: Path, program: str) -> str:
    """What a program prints where the packages in a folder are installed."""
    paths = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "PYTHONPATH": paths}
    done = python(program, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    for name, text in PACKAGE.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return tmp_path


def test_an_operator_takes_its_tensors(installed: Path) -> None:
    program = OPERATOR + "import toys\nprint(double(toys.ToyTensor([1, 2])).values)"
    assert run(installed, program) == "[2.0, 4.0]"


def test_an_operator_has_its_view(installed: Path) -> None:
    program = OPERATOR + "import toys\nprint(double.toys(toys.ToyTensor([3])).values)"
    assert run(installed, program) == "[6.0]"


def test_nothing_of_it_is_imported_before_it_is_needed(installed: Path) -> None:
    program = OPERATOR + (
        "import numpy\n"
        "double(numpy.ones(2, numpy.float32))\n"
        "print('toys' in dir(double), hasattr(double, 'tois'), hasattr(double, '_toys'))\n"
        "print([name for name in sys.modules if 'toys' in name])\n"
    )
    assert run(installed, program) == "True False False\n[]"


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("bridge_to_toys/__init__.py", "1 / 0", "cannot be loaded (bridge_to_toys:TOYS): ZeroDivisionError"),
        ("bridge_to_toys/__init__.py", "TOYS = 1", "expected bridge_to_toys:TOYS to be a Framework whose name"),
        (
            "bridge_to_toys/__init__.py",
            PACKAGE["bridge_to_toys/__init__.py"].replace("'toys',)", "'toy',)"),
            "is 'toys'",
        ),
    ],
)
def test_a_row_that_cannot_be_used_says_whose_it_is(installed: Path, file: str, text: str, said: str) -> None:
    (installed / file).write_text(text)
    program = OPERATOR + "try:\n    double.toys\nexcept OpbridgeError as error:\n    print(error)"
    told = run(installed, program)
    assert told.startswith("the framework 'toys' of the package bridge-to-toys")
    assert said in told


def test_a_framework_that_is_not_here_says_how_it_comes(installed: Path) -> None:
    (installed / "toys.py").unlink()
    program = OPERATOR + "try:\n    double.toys\nexcept OpbridgeError as error:\n    print(error)"
    assert run(installed, program) == "toys is not installed; install it with `pip install toys`"


def test_no_package_takes_the_place_of_one_that_comes_with_opbridge(installed: Path) -> None:
    points = installed / "bridge_to_toys-1.dist-info" / "entry_points.txt"
    points.write_text("[opbridge.frameworks]\nnumpy = bridge_to_toys:TOYS\n")
    program = OPERATOR + "import numpy\nprint(double(numpy.ones(1, numpy.float32)), 'bridge_to_toys' in sys.modules)"
    assert run(installed, program) == "[2.] False"


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example's package, installed as its README says, into a folder of its own."""
    pytest.importorskip("tinygrad", reason="pip install tinygrad")
    copy = shutil.copytree(EXAMPLE, tmp_path_factory.mktemp("source") / "example")
    folder = tmp_path_factory.mktemp("site")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--target", folder]
    subprocess.run([*pip, copy], check=True, env={**os.environ, "PIP_NO_INDEX": "1", "PIP_ROOT_USER_ACTION": "ignore"})
    return folder


@pytest.mark.cases(1)
def test_the_example_brings_tinygrad(example: Path) -> None:
    run(example, (EXAMPLE / "use.py").read_text())


def test_the_example_is_as_short_as_contributing_says() -> None:
    lines = [line for path in (EXAMPLE / "opbridge_tinygrad").glob("*.py") for line in path.read_text().splitlines()]
    assert len(lines) <= 150


IN_TINYGRAD = """
import numpy as np
import opbridge as ob
from opbridge.base.errors import OpbridgeError
from tinygrad import Tensor

def kernel(name, inputs, outputs, body):
    tensors = [*(f"ob::In<float> {one}" for one in inputs), *(f"ob::Out<float> {one}" for one in outputs)]
    each = f"for (int64_t i = 0; i < {inputs[0]}.numel(); ++i) {{ {body} }}"
    include = "#include <opbridge/kernel.h>\\n#include <cmath>\\n"
    return f"{include}void {name}({', '.join(tensors)}) {{ {each} }}\\nOB_KERNEL({name})"

def refusal(function):
    try:
        function()
    except OpbridgeError as error:
        return str(error)
"""


def test_formulas_are_differentiated_in_tinygrad_as_often_as_one_likes(example: Path) -> None:
    program = IN_TINYGRAD + (
        "op = ob.inline(kernel('squash', ['x'], ['out'], 'out[i] = std::tanh(x[i]);'),\n"
        "    schema='brought::squash(Tensor x) -> Tensor', out='x',\n"
        "    derivatives={'x': 'grad * (1 - result * result)'})\n"
        "x = Tensor([0.3, -0.2])\n"
        "first = op(x).sum().gradient(x)[0]\n"
        "second = first.sum().gradient(x)[0]\n"
        "t = np.tanh(np.float32([0.3, -0.2]))\n"
        "np.testing.assert_allclose(first.numpy(), 1 - t * t, rtol=1e-6)\n"
        "np.testing.assert_allclose(second.numpy(), -2 * t * (1 - t * t), rtol=1e-6)\n"
    )
    run(example, program)


def test_several_outputs_each_give_their_part_of_a_gradient(example: Path) -> None:
    program = IN_TINYGRAD + (
        "op = ob.inline(kernel('both', ['x', 'y'], ['a', 'b'], 'a[i] = x[i] * y[i]; b[i] = x[i] - y[i];'),\n"
        "    schema='brought::both(Tensor x, Tensor y) -> (Tensor, Tensor)', out=['x', 'x'],\n"
        "    derivatives={'x': 'zeros_like(x) if grads[1] is None else grads[1]', 'y': '0 * y'})\n"
        "x, y = Tensor([1.0, 2.0]), Tensor([3.0, 4.0])\n"
        "a, b = op(x, y)\n"
        "assert a.numpy().tolist() == [3, 8] and b.numpy().tolist() == [-2, -2]\n"
        "assert (a + b).sum().gradient(x)[0].numpy().tolist() == [1, 1]\n"
    )
    run(example, program)


def test_what_has_no_derivative_is_an_error_and_no_zero(example: Path) -> None:
    program = IN_TINYGRAD + (
        "op = ob.inline(kernel('same', ['x'], ['out'], 'out[i] = x[i];'),\n"
        "    schema='brought::same(Tensor x) -> Tensor', out='x')\n"
        "x = Tensor([1.0])\n"
        "print(refusal(lambda: op(x).sum().gradient(x)))\n"
        "print(refusal(lambda: op(np.ones(1, np.float32), Tensor([1.0]))))\n"
    )
    missing, mixed = run(example, program).splitlines()[:2]
    assert missing.startswith("brought::same has no derivative for 'x'")
    assert mixed.startswith("brought::same")
