"""The `hccl` backend, by which processes with NPUs communicate.

Here gloo does the work, on host copies of the device tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed import distributed_c10d

NAME = "hccl"

_COLLECTIVES = (
    *("allgather", "allgather_coalesced", "_allgather_base"),
    *("allreduce", "allreduce_coalesced", "alltoall", "alltoall_base", "broadcast", "gather"),
    *("recv", "recv_anysource", "reduce", "reduce_scatter", "_reduce_scatter_base"),
    *("scatter", "send"),
)
_ALSO_CALLED = {
    "all_gather_single": "_allgather_base",
    "all_to_all_single": "alltoall_base",
    "reduce_scatter_single": "_reduce_scatter_base",
}
"""Names of process-group methods, mapped to the names that backends use for them."""
_OF_MANY = {
    "allgather_into_tensor_coalesced": "_allgather_base",
    "all_gather_single_coalesced": "_allgather_base",
    "reduce_scatter_tensor_coalesced": "_reduce_scatter_base",
    "reduce_scatter_single_coalesced": "_reduce_scatter_base",
}
"""Calls on lists of tensors, mapped to the gloo call for a single tensor."""


class HostGroup(dist.ProcessGroup):  # type: ignore[misc]
    """A group of processes that communicates by gloo on the host; each call is complete when it returns."""

    def __init__(self, store: dist.Store, rank: int, size: int, timeout: timedelta) -> None:
        super().__init__(rank, size)
        self._gloo = dist.ProcessGroupGloo(store, rank, size, timeout)
        # The registration also keeps the group's name.
        self._register_backend(torch.device("cpu"), dist.ProcessGroup.BackendType.GLOO, self._gloo)

    def getBackendName(self) -> str:  # noqa: N802 - the name that PyTorch calls
        """Return `hccl`, the name that programs ask for, although gloo does the work."""
        return NAME

    def barrier(self, *given: object, **named: object) -> object:
        """Wait until every process of the group has arrived."""
        self._gloo.barrier().wait()
        return Done([])

    def shutdown(self) -> None:
        """Shut down the gloo group."""
        self._gloo.shutdown()

    def abort(self) -> None:
        """Abort the gloo group."""
        self._gloo.abort()

    def set_timeout(self, timeout: timedelta) -> None:
        """Set the timeout of later calls."""
        self._gloo._set_default_timeout(timeout)


def _on_host(name: str) -> Callable[..., object]:
    def call(self: HostGroup, *given: Any, **named: Any) -> Any:
        copies: list[tuple[torch.Tensor, torch.Tensor]] = []
        passed = [_lent(value, copies) for value in given]
        work = getattr(self._gloo, name)(*passed, **{key: _lent(value, copies) for key, value in named.items()})
        work.wait()
        for own, copy in copies:
            own.copy_(copy)
        return Done(given[0] if given else [], getattr(work, "_source_rank", None))

    call.__name__ = name
    return call


for _name in _COLLECTIVES:
    setattr(HostGroup, _name, _on_host(_name))
for _name, _of_backend in _ALSO_CALLED.items():
    setattr(HostGroup, _name, _on_host(_of_backend))


def _one_by_one(name: str) -> Callable[..., object]:
    def call(self: HostGroup, outputs: Sequence[Any], inputs: Sequence[Any], *given: Any, **named: Any) -> Any:
        for output, own in zip(outputs, inputs, strict=True):
            getattr(self, name)(output, own, *given, **named)
        return Done(outputs)

    return call


for _name, _of_backend in _OF_MANY.items():
    setattr(HostGroup, _name, _one_by_one(_of_backend))


def _lent(value: object, copies: list[tuple[torch.Tensor, torch.Tensor]]) -> object:
    if isinstance(value, torch.Tensor):
        if value.device.type == "cpu":
            return value
        copy = value.detach().cpu().contiguous()
        copies.append((value.detach(), copy))
        return copy
    return [_lent(one, copies) for one in value] if isinstance(value, list | tuple) else value


class Done(dist.Work):  # type: ignore[misc]
    """The finished work that every call returns."""

    def __init__(self, result: Any, source: Callable[[], int] | None = None) -> None:
        super().__init__()
        self._future: torch.futures.Future[object] = torch.futures.Future()
        self._future.set_result(result)
        self._source = source

    def wait(self, *timeout: object) -> bool:
        """Return True at once: the work is finished."""
        return True

    def is_completed(self) -> bool:
        """Return True: the work is finished."""
        return True

    def is_success(self) -> bool:
        """Return True: a call that fails raises instead of returning this work."""
        return True

    def get_future(self) -> torch.futures.Future[object]:
        """Return a future that already holds the result."""
        return self._future

    def result(self) -> Any:
        """Return the result of the call."""
        return self._future.value()

    def _source_rank(self) -> int:
        """Return the rank that sent the data, after a receive from any source."""
        assert self._source is not None
        return self._source()


def install() -> None:
    """Register `hccl`, so that `init_process_group("hccl")` works; with NPUs it is also the default backend."""
    if NAME in dist.Backend.backend_list:
        return
    distributed_c10d.Backend.register_backend(NAME, HostGroup, devices=["npu"])
    dist.is_hccl_available = lambda: True
