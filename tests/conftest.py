"""What tests of several folders share: the operators of tests/kernels, and opbridge as a stranger installs it."""

from __future__ import annotations

import gc
import logging
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

import opbridge as ob
from opbridge.build.cache import Cache, Dependencies, KeyBuilder
from opbridge.verify.check.child_process import started_by
from opbridge.verify.check.forked_processes import Forks
from opbridge.waist.op import OpLibrary

# A change fails for what it changed: the same 40 examples in every run. `make fuzz` draws 500 new ones.
# How fast a machine is, and what else it does, fails no test.
AT_LEISURE = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("same examples", AT_LEISURE, derandomize=True, max_examples=40)
settings.register_profile("new examples", AT_LEISURE, derandomize=False, print_blob=True)
settings.register_profile("fuzz", settings.get_profile("new examples"), max_examples=500)
settings.load_profile("same examples")

# `make test` is no part of what the makefiles of the tests see: they run as from a shell.
# What is said of long builds depends on how busy the machine is; its own tests ask for it.
os.environ["OPBRIDGE_PROGRESS"] = "0"
for variable in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS"):
    os.environ.pop(variable, None)

# Compiled in half the time.  A nightly run repeats every test at the level that users get.
os.environ.setdefault("OPBRIDGE_OPTIMIZE", "1")

ROOT = Path(__file__).parents[1]
KERNELS = Path(__file__).parent / "kernels"
# Modules that tests of several folders share, by their bare names.
sys.path.insert(0, str(Path(__file__).parent / "helpers"))

from costs import CostRecorder  # noqa: E402
from forked_python import FORKS, PYTHON, ForkServer  # noqa: E402

_UNTIL = "OPBRIDGE_TESTS_UNTIL"
_SEEDS = {"numpy.random": "seed", "torch": "manual_seed", "mindspore": "set_seed", "paddle": "seed"}

_LONG = tuple(
    f"tests/{where}"
    for where in (
        "twins/ascend/torch_device/",
        "twins/cuda/torch_device/",
        "twins/cuda/test_torch.py",
        "codegen/test_eject.py",
        "distributed/",
        "cli/test_demo.py",
        "cli/test_commands.py",
        "test_docs.py",
        "test_examples.py",
        "verify/check/",
    )
)
"""Where one test may take a minute, with what it builds, in processes of their own."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--matrix", action="store_true", help="run the tests marked `matrix` too")
    parser.addoption("--costs", metavar="FILE", help="write what each test file costs to FILE")


def pytest_configure(config: pytest.Config) -> None:
    """Record costs, and start one server of forks for all processes of this run."""
    config.pluginmanager.register(CostRecorder(config.getoption("--costs")), "costs")
    if FORKS not in os.environ:
        server = ForkServer()
        config.add_cleanup(server.stop)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[object]:
    """Search for no garbage among ten thousand tests, neither while they are collected nor while they run."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what belongs to `make matrix`, and put the longest first.

    Otherwise one worker would be alone with a long test at the end.  A run that ends after so many minutes has an order
    of its own.
    """
    _mark_cases(items)
    if not config.getoption("--matrix"):
        left_out = [item for item in items if item.get_closest_marker("matrix")]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not item.get_closest_marker("matrix")]
    if _UNTIL not in os.environ:
        items.sort(key=lambda item: not item.nodeid.startswith(_LONG))


def _mark_cases(items: list[pytest.Item]) -> None:
    """Mark cases of tests with the marker `cases` for `make matrix`, all but as many as it says.

    The cases that stay are spread over the list: the first and the last are among them.
    """
    tests: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("cases"):
            tests.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for cases in tests.values():
        marker = cases[0].get_closest_marker("cases")
        kept = {round(place * (len(cases) - 1) / max(marker.args[0] - 1, 1)) for place in range(marker.args[0])}
        for place, item in enumerate(cases):
            if place not in kept:
                item.add_marker(pytest.mark.matrix("other cases of the same test"))


def pytest_runtest_setup() -> None:
    """`make fuzz` and `make quick` have so many minutes."""
    if time.time() > float(os.environ.get(_UNTIL, "inf")):
        pytest.skip("the time is up")
    _seed()
    # A test that ran `-v` in this process would add its debug log to the reports of all later tests.
    logging.getLogger("opbridge").setLevel(logging.NOTSET)


def _seed() -> None:
    """A test draws the same numbers alone and among others, whatever ran before it, its fixtures included.

    A framework that the test is the first to import starts from a seed of its own.
    """
    random.seed(0)
    for name, seed in _SEEDS.items():
        if module := sys.modules.get(name):
            getattr(module, seed)(0)


@pytest.fixture(autouse=True)
def _marked(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Do what the markers `real_process` and `optimized` say."""
    if request.node.get_closest_marker("real_process"):
        monkeypatch.delenv(FORKS, raising=False)
    if request.node.get_closest_marker("optimized"):
        monkeypatch.setenv("OPBRIDGE_OPTIMIZE", "3")


@pytest.fixture(scope="session")
def kernels() -> Path:
    """The folder of the shared kernels and their ops.yaml."""
    return KERNELS


@pytest.fixture(scope="session")
def lib() -> OpLibrary:
    library: OpLibrary = ob.load(KERNELS / "ops.yaml")
    return library


@pytest.fixture(scope="session")
def forks() -> Iterator[Forks]:
    """Fork processes from one that has imported frameworks, as the demo does.  JAX warns of each fork."""
    with Forks(["numpy", "torch", "jax", "opbridge.verify.check.checks"], {"PYTHONWARNINGS": "ignore"}) as made:
        yield made


@pytest.fixture(scope="module")
def forked(forks: Forks) -> Iterator[None]:
    """Start the processes that call operators as forks, in all tests of a module; no sanitizer works there."""
    with started_by(forks.start):
        yield


@pytest.fixture(scope="module")
def forked_trials() -> Iterator[None]:
    """Try operators in forks: the program that starts them is the client, which is the same interpreter."""
    with pytest.MonkeyPatch.context() as changed:
        changed.setattr(sys, "executable", PYTHON)
        yield


@pytest.fixture(scope="session")
def distributions() -> Path:
    """A folder with opbridge's source distribution and the wheel that pip makes of it, built once for its sources."""
    parts = ("src", "pyproject.toml", "CMakeLists.txt", "README.md", "tools/ship.py")
    files = [file for part in parts for file in ((ROOT / part).rglob("*") if part == "src" else [ROOT / part])]
    key = KeyBuilder("opbridge's distributions").add("python", sys.version).add("compiler", os.environ.get("CXX", ""))
    for file in sorted(files):
        if file.is_file() and "__pycache__" not in file.parts:
            key.add("file", str(file.relative_to(ROOT)), file)

    def build(folder: Path) -> Dependencies:
        make = "from scikit_build_core.build import build_sdist; import sys; build_sdist(sys.argv[1])"
        subprocess.run([sys.executable, "-c", make, str(folder)], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        (sdist,) = folder.glob("*.tar.gz")
        command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-build-isolation", "--no-deps", str(sdist)]
        settings = ["--config-settings", f"build-dir={folder}/cmake", "-w", str(folder)]
        # What the tests of the twins compile is what a wheel brings.
        variables = {**os.environ, "OPBRIDGE_CACHE_DIR": str(Cache().root)}
        subprocess.run([*command, *settings], check=True, env=variables)
        shutil.rmtree(folder / "cmake")
        return Dependencies()

    return Cache().fetch(key.key(), build).path


@pytest.fixture(scope="session")
def opbridge_wheel(distributions: Path) -> Path:
    """opbridge itself as pip installs it."""
    (wheel,) = distributions.glob("*.whl")
    return wheel
