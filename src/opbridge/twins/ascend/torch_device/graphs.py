"""The `torch.npu.NPUGraph` class, which records operators while it captures and replays them on the same memory."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from opbridge.base.errors import CallError

__all__ = ["NPUGraph", "graph", "graph_pool_handle"]


class _Recorder(TorchDispatchMode):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.steps: list[tuple[Any, tuple[Any, ...], dict[str, Any], Any]] = []

    def __torch_dispatch__(self, func: Any, types: object, args: Any = (), kwargs: Any = None) -> object:
        made = func(*args, **(kwargs or {}))
        self.steps.append((func, args, kwargs or {}, made))
        return made


class NPUGraph:
    """A recorded sequence of operators; unlike on hardware, capturing also executes them."""

    def __init__(self) -> None:
        self._recorder: _Recorder | None = None
        self._is_capturing = False

    def capture_begin(self, pool: object = None, capture_error_mode: str = "global") -> None:
        """Start recording operators.

        Raises:
            CallError: The graph is already capturing.
        """
        if self._is_capturing:
            raise CallError("this NPUGraph captures already; end it by capture_end() first")
        self._recorder = _Recorder()
        self._is_capturing = True
        self._recorder.__enter__()

    def capture_end(self) -> None:
        """Stop recording operators.

        Raises:
            CallError: The graph is not capturing.
        """
        if self._recorder is None or not self._is_capturing:
            raise CallError("this NPUGraph does not capture; begin by capture_begin()")
        self._recorder.__exit__(None, None, None)
        self._is_capturing = False

    def replay(self) -> None:
        """Run the recorded operators again and write their results to the memory of the first run.

        Raises:
            CallError: Nothing has been captured.
        """
        if self._recorder is None or self._is_capturing:
            raise CallError("this NPUGraph has captured nothing to replay")
        with torch.no_grad():
            for func, args, kwargs, made in self._recorder.steps:
                again = func(*args, **kwargs)
                for kept, new in zip(tree_leaves(made), tree_leaves(again), strict=True):
                    # Views and results written in place already occupy their original memory.
                    if isinstance(kept, torch.Tensor) and kept.data_ptr() != new.data_ptr():
                        kept.detach().copy_(new)

    def reset(self) -> None:
        """Discard the recorded operators."""
        self._recorder = None

    def pool(self) -> tuple[int, int]:
        """Return the memory pool of the graph, which all graphs share."""
        return graph_pool_handle()


def graph_pool_handle() -> tuple[int, int]:
    """Return the memory pool of graphs, which is always the common one."""
    return (0, 0)


class graph:  # noqa: N801 - as torch.cuda.graph
    """The context manager `with torch.npu.graph(g):`, which captures into `g`."""

    def __init__(self, npu_graph: NPUGraph, pool: object = None, stream: torch.Stream | None = None, **_: Any) -> None:
        self._graph = npu_graph

    def __enter__(self) -> None:
        self._graph.capture_begin()

    def __exit__(self, *_: object) -> None:
        self._graph.capture_end()
