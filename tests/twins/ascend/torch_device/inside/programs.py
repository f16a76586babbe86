"""Programs as people have them: written for CUDA and moved by one import, graphs, fused optimizers, profiles."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import torch
import torch_npu
import torch_npu.optim
import torch_npu.profiler
from forked_python import PYTHON

FOR_CUDA = """
import torch
import torch_npu
from torch_npu.contrib import transfer_to_npu

assert torch.cuda.is_available() and torch.cuda.device_count() == torch.npu.device_count()
device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
assert device == torch.device("npu", 0) and isinstance(device, torch.device)
torch.cuda.set_device(device)
torch.cuda.manual_seed(0)
model = torch.nn.Linear(8, 4).to("cuda")
data = torch.randn(16, 8, device="cuda") + torch.ones(8).cuda() + torch.zeros(8).to(device)
scaler = torch.cuda.amp.GradScaler()
optimizer = torch.optim.SGD(model.parameters(), 0.1)
with torch.autocast(device_type="cuda", dtype=torch.float16):
    loss = model(data).square().mean()
assert loss.device.type == "npu" and data.is_cuda
scaler.scale(loss).backward()
scaler.step(optimizer)
scaler.update()
torch.cuda.synchronize()
with torch.cuda.stream(torch.cuda.Stream()):
    data.cuda(non_blocking=True)
generator = torch.Generator(device="cuda").manual_seed(1)
assert torch.rand(3, generator=generator, device="cuda").device.index == 0
assert isinstance(generator, torch.Generator)
assert torch.cuda.max_memory_allocated() > 0
torch.save(model.state_dict(), "model.pt")
state = torch.load("model.pt", map_location="cuda:0")
assert state["weight"].device.type == "npu"
model.load_state_dict(state)
"""


def test_a_program_for_cuda_runs_behind_one_import(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(FOR_CUDA)
    done = subprocess.run([PYTHON, "train.py"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_graph_runs_again_on_what_its_inputs_hold_then() -> None:
    x, weight = torch.ones(3).npu(), torch.full((3,), 2.0).npu()
    total = torch.zeros(3).npu()
    captured = torch.npu.NPUGraph()
    with torch.npu.graph(captured):
        y = (x * weight)[1:] + 1
        total += x
    x.fill_(5)
    captured.replay()
    captured.replay()
    assert torch.equal(y.cpu(), torch.full((2,), 11.0))
    assert torch.equal(total.cpu(), torch.full((3,), 11.0))


def test_a_graph_of_a_step_of_training() -> None:
    weight, x = torch.ones(3).npu().requires_grad_(), torch.ones(3).npu()
    captured = torch.npu.NPUGraph()
    with torch.npu.graph(captured):
        loss = (weight * x).square().sum()
        (gradient,) = torch.autograd.grad(loss, weight)
    x.fill_(3)
    captured.replay()
    assert loss.item() == 27
    assert torch.equal(gradient.cpu(), torch.full((3,), 18.0))


def test_a_graph_that_has_captured_nothing_says_so() -> None:
    with pytest.raises(ValueError, match="has captured nothing to replay"):
        torch.npu.NPUGraph().replay()
    with pytest.raises(ValueError, match="does not capture"):
        torch.npu.NPUGraph().capture_end()


@pytest.mark.parametrize("name", ["Adam", "AdamW", "SGD", "Adadelta", "RMSprop"])
def test_fused_optimizers_take_pytorchs_steps(name: str) -> None:
    ours, theirs = (torch.ones(4).npu().requires_grad_() for _ in range(2))
    fused = getattr(torch_npu.optim, f"NpuFused{name}")([ours], lr=0.1)
    plain = getattr(torch.optim, name)([theirs], lr=0.1)
    for value in (ours, theirs):
        value.square().sum().backward()
    assert fused.clip_grad_norm_fused_(1.0).item() == pytest.approx(4.0)
    torch.nn.utils.clip_grad_norm_([theirs], 1.0)
    fused.step()
    plain.step()
    assert torch.equal(ours, theirs)


def test_a_profile_has_the_operators(tmp_path: Path) -> None:
    x = torch.ones(3).npu()
    with torch_npu.profiler.profile(
        activities=[torch_npu.profiler.ProfilerActivity.CPU, torch_npu.profiler.ProfilerActivity.NPU],
        on_trace_ready=torch_npu.profiler.tensorboard_trace_handler(str(tmp_path)),
        experimental_config=torch_npu.profiler._ExperimentalConfig(
            profiler_level=torch_npu.profiler.ProfilerLevel.Level1
        ),
    ):
        torch.sin(x)
    assert any("aten::sin" in path.read_text() for path in tmp_path.glob("*.json"))


DISTRIBUTED = """
import sys
from datetime import timedelta

import torch
import torch.distributed as dist
import torch_npu
from torch_npu.contrib import transfer_to_npu

rank, size = int(sys.argv[1]), 2
dist.init_process_group("nccl", init_method=f"file://{sys.argv[2]}", rank=rank, world_size=size)
assert dist.get_backend() == "hccl" and dist.is_hccl_available()
torch.cuda.set_device(rank)

x = torch.full((3,), rank + 1.0).cuda()
dist.all_reduce(x)
assert x.tolist() == [3.0] * 3
dist.broadcast(x, 1)
parts = [torch.empty(2).cuda() for _ in range(size)]
dist.all_gather(parts, torch.full((2,), float(rank)).cuda())
assert [part.tolist() for part in parts] == [[0, 0], [1, 1]]
whole = torch.empty(4).cuda()
dist.all_gather_single(whole, torch.full((2,), float(rank)).cuda())
assert whole.tolist() == [0, 0, 1, 1]
part = torch.empty(2).cuda()
dist.reduce_scatter_single(part, torch.arange(4.0).cuda())
assert part.tolist() == [4 * rank, 4 * rank + 2]
dist.all_to_all_single(part, torch.arange(2.0).cuda() + 10 * rank)
assert part.tolist() == [rank, rank + 10]
if rank == 0:
    dist.send(part, 1)
else:
    assert dist.recv(part) == 0 and part.tolist() == [0, 10]
group = dist.new_group([0, 1], backend="nccl", timeout=timedelta(seconds=60))
work = dist.all_reduce(part, group=group, async_op=True)
assert work.wait() and part.tolist() == [0, 20]
dist.barrier()

torch.manual_seed(rank)
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(3, 2).cuda(), device_ids=[rank])
model(torch.full((1, 3), float(rank)).cuda()).sum().backward()
assert model.module.weight.grad.tolist() == [[0.5] * 3] * 2
held = [None] * size
dist.all_gather_object(held, model.module.bias.tolist())
assert held[0] == held[1]
summed = dist._functional_collectives.all_reduce(torch.ones(2).cuda(), "sum", dist.group.WORLD)
assert summed.tolist() == [2, 2]
dist.destroy_process_group()
"""


def test_processes_talk_by_hccl(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(DISTRIBUTED)
    command = [PYTHON, "train.py"]
    processes = [
        subprocess.Popen(
            [*command, str(rank), str(tmp_path / "store")], cwd=tmp_path, stderr=subprocess.PIPE, text=True
        )
        for rank in range(2)
    ]
    said = [process.communicate()[1] for process in processes]
    assert [process.returncode for process in processes] == [0, 0], "\n".join(said)
