"""Train over several processes by PyTorch's own methods; this module does not depend on the operators."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import Replicate, Shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    RowwiseParallel,
    SequenceParallel,
    parallelize_module,
)
from torch.nn.parallel import DistributedDataParallel


def join() -> None:
    """Join the group of torchrun's processes, with new keys in its store whenever it restarts them.

    PyTorch 2.13 uses the same ones, and the new processes then look for each other where the killed ones were.
    """
    server = dist.TCPStore(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]), is_master=False)
    store = dist.PrefixStore(f"start {os.environ['TORCHELASTIC_RESTART_COUNT']}", server)
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    dist.init_process_group("gloo", store=store, rank=rank, world_size=size)


def leave() -> None:
    """End the group, and give its threads time to release the last tensors.

    DTensor's caches keep those threads alive, nothing waits for them, and one that frees a tensor after Python has
    ended aborts the process (PyTorch 2.13: `terminate called without an active exception`).
    """
    dist.destroy_process_group()
    time.sleep(0.2)


@dataclass(frozen=True)
class Divided:
    model: nn.Module
    data: DeviceMesh | None = None
    """The processes that divide the batch; None if each has the whole batch."""

    def part(self, batch: Tensor) -> Tensor:
        return batch if self.data is None else batch.chunk(self.data.size())[self.data.get_local_rank()]

    def mean(self, loss: Tensor) -> float:
        """Return the mean over the whole batch."""
        loss = loss.detach().clone()
        if self.data is not None:
            dist.all_reduce(loss, group=self.data.get_group())
            loss /= self.data.size()
        return loss.item()


def ddp(model: nn.Module) -> Divided:
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    return Divided(DistributedDataParallel(model), mesh)


def fsdp(model: nn.Module) -> Divided:
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    return Divided(_sharded(model, mesh), mesh)


def tensor(model: nn.Module) -> Divided:
    return Divided(_tensor_parallel(model, init_device_mesh("cpu", (dist.get_world_size(),))))


def grid(model: nn.Module) -> Divided:
    """Divide the batch between two groups of processes, and every layer among the processes of a group."""
    mesh = init_device_mesh("cpu", (2, dist.get_world_size() // 2), mesh_dim_names=("data", "tensor"))
    return Divided(_sharded(_tensor_parallel(model, mesh["tensor"]), mesh["data"]), mesh["data"])


WAYS: dict[str, Callable[[nn.Module], Divided]] = {
    "none": Divided,
    "ddp": ddp,
    "fsdp": fsdp,
    "tensor": tensor,
    "grid": grid,
}


def _sharded(model: nn.Module, mesh: DeviceMesh) -> nn.Module:
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    return fully_shard(model, mesh=mesh)


def _tensor_parallel(model: nn.Module, mesh: DeviceMesh) -> nn.Module:
    """Divide sequences for norms and inner features for `swiglu`; both operators get DTensors."""
    whole = PrepareModuleInput(input_layouts=Shard(1), desired_input_layouts=Replicate())
    into_sequence = RowwiseParallel(output_layouts=Shard(1))
    block = {
        "attention_norm": SequenceParallel(),
        "attention": whole,
        **dict.fromkeys(("attention.query", "attention.key", "attention.value"), ColwiseParallel()),
        "attention.out": into_sequence,
        "feed_norm": SequenceParallel(),
        "feed": whole,
        **dict.fromkeys(("feed.gate", "feed.up"), ColwiseParallel(use_local_output=False)),
        "feed.down": into_sequence,
    }
    plan = {
        "embedding": RowwiseParallel(input_layouts=Replicate(), output_layouts=Shard(1)),
        **{f"blocks.*.{name}": style for name, style in block.items()},
        "norm": SequenceParallel(),
        "head": ColwiseParallel(input_layouts=Shard(1), output_layouts=Replicate()),
    }
    return parallelize_module(model, mesh, plan)
