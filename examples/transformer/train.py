"""Train the transformer: `torchrun --standalone --nproc-per-node 4 train.py --parallel fsdp`; see README.md."""

from __future__ import annotations

import argparse
import os
import signal
import warnings
from pathlib import Path

import checkpoints
import torch
import torch.distributed as dist
from model import OPERATORS, SMALL, Sizes, Transformer, batch_of
from parallel import WAYS, Divided, join, leave
from torch.distributed.tensor.debug import CommDebugMode


class Training:
    def __init__(self, way: str, operators: str, sizes: Sizes = SMALL) -> None:
        torch.manual_seed(0)
        self.sizes = sizes
        self.divided: Divided = WAYS[way](Transformer(OPERATORS[operators](), sizes))
        self.optimizer = torch.optim.AdamW(self.divided.model.parameters(), lr=3e-3)

    def step(self, number: int) -> torch.Tensor:
        """Run one step, and return the loss of this process's part of the batch."""
        self.optimizer.zero_grad()
        loss = self.divided.model(self.divided.part(batch_of(number, self.sizes)))
        loss.backward()
        self.optimizer.step()
        return loss

    def counted_step(self, number: int) -> tuple[torch.Tensor, dict[str, int]]:
        """Run one step, and return how its processes communicate, too."""
        with CommDebugMode() as mode, warnings.catch_warnings():
            # Its hooks on modules warn about inputs that are not floats.
            warnings.filterwarnings("ignore", "Full backward hook is firing")
            loss = self.step(number)
        return loss, {str(name).rpartition(".")[2]: count for name, count in mode.get_comm_counts().items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parallel", choices=WAYS, default="none")
    parser.add_argument("--operators", choices=OPERATORS, default="opbridge", help="whose norm and activation")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--checkpoints", type=Path, help="a folder: save there every fifth step, go on from the last")
    parser.add_argument("--kill-at", type=int, metavar="STEP", help="the last process dies after this step, once")
    options = parser.parse_args()
    if options.parallel != "none":
        join()
    leads = not dist.is_initialized() or dist.get_rank() == 0

    training = Training(options.parallel, options.operators)
    first = 0
    if options.checkpoints:
        first = checkpoints.resume(options.checkpoints, training.divided.model, training.optimizer)
    for number in range(first, options.steps):
        if number == first:
            loss, communication = training.counted_step(number)
            if leads:
                print(f"a step communicates: {communication}", flush=True)
        else:
            loss = training.step(number)
        mean = training.divided.mean(loss)
        if leads:
            print(f"step {number:3}  loss {mean:.6f}", flush=True)
        if options.checkpoints and number % 5 == 4:
            checkpoints.save(options.checkpoints, number, training.divided.model, training.optimizer)
        if number == options.kill_at and dist.is_initialized() and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
            dist.barrier()
            if dist.get_rank() == dist.get_world_size() - 1:
                os.kill(os.getpid(), signal.SIGKILL)
    if dist.is_initialized():
        leave()


if __name__ == "__main__":
    main()
