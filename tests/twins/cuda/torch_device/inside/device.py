"""PyTorch's `cuda` without a GPU: tensors, streams, memory, random numbers, training."""

from __future__ import annotations

import copy
import io
import resource
from pathlib import Path

import pytest
import torch
from torch import nn


def test_the_device_is_there_under_its_own_name() -> None:
    assert torch.cuda.is_available()
    assert torch.cuda.device_count() == 1
    assert torch.cuda.current_device() == 0
    assert torch.cuda.get_device_capability() == (8, 0)
    assert "twin" in torch.cuda.get_device_name()
    assert torch.cuda.get_device_properties("cuda").multi_processor_count > 0
    assert torch.backends.cuda.is_built()
    assert torch.cuda.get_arch_list() == ["sm_80"]
    x = torch.ones(3).cuda()
    assert x.is_cuda
    assert x.device == torch.device("cuda:0")
    assert x.get_device() == 0
    assert torch.zeros(2, device="cuda").to("cpu").device.type == "cpu"
    with pytest.raises(RuntimeError, match="cuda:1 is not there"):
        torch.zeros(2, device="cuda:1")


def test_tensors_are_made_by_their_types() -> None:
    """As programs of before 2018 do, and much that is older than its users think."""
    assert torch.cuda.IntTensor(2, 3).shape == (2, 3)
    x = torch.cuda.FloatTensor([1, 2])
    assert (x.tolist(), x.dtype, x.device.type) == ([1, 2], torch.float32, "cuda")
    assert torch.cuda.BoolTensor().numel() == 0
    assert x.new(4).device == x.device
    assert isinstance(x, torch.cuda.FloatTensor)
    with pytest.raises(TypeError, match="new\\(\\)"):
        torch.cuda.LongTensor({})
    assert torch.IntTensor(2).device.type == "cpu"


def test_dynamo_traces_programs_of_it() -> None:
    """It tells PyTorch's own functions apart by what they are, and takes no two that are one."""
    layer = nn.Linear(3, 2).cuda()
    x = torch.ones(4, 3, device="cuda")
    compiled = torch.compile(lambda x: layer(x).relu(), backend="eager", fullgraph=True)
    assert torch.equal(compiled(x), layer(x).relu())


def test_operators_are_those_of_the_cpu() -> None:
    x = torch.arange(12.0).reshape(3, 4)
    y = x.cuda()
    for ours, cpu in (
        (y @ y.t(), x @ x.t()),
        (y.softmax(1), x.softmax(1)),
        (y[y > 3], x[x > 3]),
        (y.t()[1:], x.t()[1:]),
    ):
        assert ours.is_cuda
        torch.testing.assert_close(ours.cpu(), cpu)
    q = torch.randn(1, 2, 4, 8)
    attend = nn.functional.scaled_dot_product_attention
    torch.testing.assert_close(attend(*[q.cuda()] * 3).cpu(), attend(q, q, q))
    y[1:] = torch.ones(2, 4)
    assert y.sum().item() == 6 + 8
    assert torch.empty(4, device="cuda").isnan().all(), "what nobody wrote does not look like a result"


def test_a_process_with_little_memory_calls_operators_for_long() -> None:
    """Each gives and frees memory, whose addresses are taken anew while there is room for what is known of them."""
    pages = int(Path("/proc/self/statm").read_text().split()[5])
    before = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (pages * resource.getpagesize() + (1 << 30), before[1]))
    try:
        x = torch.zeros(4, device="cuda")
        for _ in range(20_000):
            x = x + 1
        assert x.tolist() == [20_000.0] * 4
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)


def test_devices_do_not_mix() -> None:
    x = torch.ones(3, device="cuda")
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        x + torch.ones(3)
    with pytest.raises(TypeError, match="can't convert cuda:0"):
        x.numpy()


@pytest.mark.parametrize(
    "layer",
    [
        nn.Conv2d(4, 4, 3, groups=4),
        nn.Conv2d(4, 6, 3, dilation=2, bias=False),
        nn.ConvTranspose2d(4, 2, 3, stride=2),
        nn.BatchNorm2d(4),
    ],
)
def test_layers_train_as_on_the_cpu(layer: nn.Module) -> None:
    theirs = copy.deepcopy(layer)
    ours = copy.deepcopy(layer).cuda()
    x = torch.randn(2, 4, 9, 9)
    for module, value in ((ours, x.cuda()), (theirs, x)):
        optimizer = torch.optim.AdamW(module.parameters())
        module(value).square().mean().backward()
        optimizer.step()
    for (name, mine), their in zip(ours.named_parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(mine.detach().cpu(), their.detach(), msg=name)


def test_mixed_precision() -> None:
    model = nn.Linear(4, 4).cuda()
    scaler = torch.amp.GradScaler("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with torch.autocast("cuda"):
        out = model(torch.randn(2, 4, device="cuda"))
    assert out.dtype is torch.float16
    scaler.scale(out.float().sum()).backward()
    scaler.step(optimizer)
    scaler.update()


def test_streams_and_events() -> None:
    stream, begin, end = torch.cuda.Stream(), torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    before = torch.cuda.current_stream()
    with torch.cuda.stream(stream):
        assert torch.cuda.current_stream() == stream != before
        begin.record()
        x = torch.randn(100, 100, device="cuda").matmul(torch.randn(100, 100, device="cuda"))
        end.record()
    assert torch.cuda.current_stream() == before
    x.record_stream(stream)
    before.wait_stream(stream)
    stream.synchronize()
    torch.cuda.synchronize()
    assert end.query()
    assert begin.elapsed_time(end) > 0
    with pytest.raises(ValueError, match="enable_timing"):
        begin.elapsed_time(torch.cuda.Event())


def test_random_numbers() -> None:
    torch.manual_seed(3)
    first = torch.randn(5, device="cuda")
    torch.cuda.manual_seed(3)
    state = torch.cuda.get_rng_state()
    assert torch.equal(first, torch.randn(5, device="cuda"))
    torch.cuda.set_rng_state(state)
    assert torch.equal(first, torch.randn(5, device="cuda"))
    generator = torch.Generator("cuda").manual_seed(3)
    assert torch.equal(first, torch.randn(5, device="cuda", generator=generator))


def test_memory_is_counted() -> None:
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    x = torch.empty(1 << 20, device="cuda")
    assert torch.cuda.memory_allocated() - before == x.nbytes
    del x
    assert torch.cuda.memory_allocated() == before
    assert torch.cuda.max_memory_allocated() >= before + (4 << 20)
    free, total = torch.cuda.mem_get_info()
    assert 0 < free <= total
    assert "Allocated memory" in torch.cuda.memory_summary()
    with pytest.raises(torch.cuda.OutOfMemoryError, match="cuda:0 is out of memory"):
        torch.empty(1 << 50, dtype=torch.uint8, device="cuda")


def test_tensors_are_saved_loaded_and_copied() -> None:
    x = torch.randn(3, device="cuda")
    file = io.BytesIO()
    torch.save(x, file)
    for to, where in ((None, "cuda"), ("cpu", "cpu")):
        file.seek(0)
        loaded = torch.load(file, map_location=to)
        assert loaded.device.type == where
        assert torch.equal(loaded.cpu(), x.cpu())
    assert torch.equal(copy.deepcopy(x), x)
    assert x.cpu().pin_memory().is_pinned()
