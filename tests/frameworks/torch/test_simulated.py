"""What the simulated devices need of PyTorch at a program's end."""

from __future__ import annotations

import pytest
from subprocesses import succeed

ENDS_WHILE_GRADIENTS_ARE_RELEASED = """
import importlib, os, sys, time
from pathlib import Path
import torch

importlib.import_module(sys.argv[1])


def spin(seconds, clock=time.monotonic):
    end = clock() + seconds
    while clock() < end:
        pass


class Late:
    "Destroyed by an interpreter that ends, which then takes as long."
    def __del__(self, spin=spin):
        spin(0.3)


def schedule(tasks, processors, policy):
    for task in tasks:
        os.sched_setaffinity(int(task.name), processors)
        os.sched_setscheduler(int(task.name), policy, os.sched_param(0))


def of_python(x):
    return x


late = Late()
x = torch.ones(3, device=sys.argv[2], requires_grad=True)
x.sum().backward()
processors = os.sched_getaffinity(0)
threads = list(Path("/proc/self/task").iterdir())
of_gradients = [thread for thread in threads if (thread / "comm").read_text().startswith("pt_autograd")]
assert of_gradients

# So the caller goes on before its gradients' thread has released the hooks, and the thread then waits for the GIL.
schedule(threads, {min(processors)}, os.SCHED_OTHER)
schedule(of_gradients, {min(processors)}, os.SCHED_IDLE)
y = x.sum()
with torch.autograd.graph.saved_tensors_hooks(of_python, of_python):
    y.backward()
sys.setswitchinterval(0.15)
schedule(threads, processors, os.SCHED_OTHER)
spin(0.05)
"""


@pytest.mark.parametrize(("module", "device"), [("opbridge.npu", "npu"), ("opbridge.cuda_twin", "cuda")])
def test_a_program_may_end_right_after_its_gradients(module: str, device: str) -> None:
    succeed(ENDS_WHILE_GRADIENTS_ARE_RELEASED, module, device)
