"""What is collected, and what the tests of MindSpore share: how a function runs in its modes, and where it writes."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest

# `make paddle` has an environment of its own.
collect_ignore_glob = [] if importlib.util.find_spec("paddle") else ["paddle"]

if importlib.util.find_spec("mindspore"):
    # Read when it is imported; it tells of every error by itself, in C++.
    os.environ.setdefault("GLOG_v", "4")

Run = Callable[..., Any]


@pytest.fixture(autouse=True)
def _scratch_folder(request: pytest.FixtureRequest) -> Iterator[None]:
    """MindSpore leaves a folder where it is when a graph does not compile."""
    if request.path.parent.name != "mindspore":
        yield
        return
    request.getfixturevalue("monkeypatch").chdir(request.getfixturevalue("tmp_path"))
    yield


def run_now(function: Callable[..., Any], *args: Any) -> Any:
    return function(*args)


def run_as_graph(function: Callable[..., Any], *args: Any) -> Any:
    import mindspore as ms

    return ms.jit(function)(*args)


@pytest.fixture(params=[run_now, run_as_graph], ids=["PyNative", "Graph"])
def run(request: pytest.FixtureRequest) -> Run:
    """Calls a function with tensors, in either mode."""
    runner: Run = request.param
    return runner
