"""torch.npu, as programs use it."""

from __future__ import annotations

import pytest
import torch

from opbridge.base.errors import CallError


@pytest.fixture(autouse=True)
def _nothing_left_over() -> None:
    torch.npu.empty_cache()
    torch.npu.reset_peak_memory_stats()


def test_there_are_two_devices() -> None:
    assert torch.npu.is_available()
    assert torch.npu.device_count() == 2
    assert torch.accelerator.current_accelerator() == torch.device("npu")
    assert torch.npu.get_device_name(0) == "Ascend910B (simulated)"
    assert torch.npu.get_device_properties("npu:1").total_memory == torch.npu.mem_get_info(1)[1]


def test_the_current_device() -> None:
    assert torch.npu.current_device() == 0
    with torch.npu.device("npu:1"):
        assert torch.npu.current_device() == 1
        with torch.npu.device_of(torch.ones(1, device="npu:0")):
            assert torch.npu.current_device() == 0
    torch.npu.set_device("npu:1")
    assert torch.ones(1).npu().device.index == 1
    torch.npu.set_device(0)
    torch.npu.synchronize()
    with pytest.raises(CallError, match="expected a device such as 'npu:0' or 0, got 'cpu'"):
        torch.npu.set_device("cpu")


def test_memory_is_counted() -> None:
    before = torch.npu.memory_allocated()
    x = torch.ones(1 << 20, device="npu")
    assert torch.npu.memory_allocated() == before + (4 << 20)
    assert torch.npu.memory_allocated("npu:1") == 0
    del x
    assert torch.npu.memory_allocated() == before
    assert torch.npu.max_memory_allocated() >= before + (4 << 20)
    assert torch.npu.memory_reserved() >= 4 << 20
    reserved = torch.npu.memory_reserved()
    torch.npu.empty_cache()
    assert torch.npu.memory_reserved() <= reserved - (4 << 20)
    torch.npu.reset_peak_memory_stats()
    assert torch.npu.max_memory_allocated() == before
    assert "allocated" in torch.npu.memory_summary()
    stats = torch.npu.memory_stats()
    assert stats["allocation.all.allocated"] - stats["allocation.all.freed"] == stats["allocation.all.current"]


def test_freed_memory_is_used_again() -> None:
    address = torch.ones(1000, device="npu").data_ptr()
    assert torch.ones(1000, device="npu").data_ptr() == address


def test_memory_ends() -> None:
    torch.npu.set_per_process_memory_fraction(0.0, "npu:1")
    with pytest.raises(torch.OutOfMemoryError, match="npu:1 is out of memory: tried to allocate 4096 bytes"):
        torch.ones(1024, device="npu:1")
    torch.npu.set_per_process_memory_fraction(1.0, 1)
    assert torch.ones(1024, device="npu:1").sum() == 1024


def test_streams_and_events() -> None:
    stream, default = torch.npu.Stream(), torch.npu.current_stream()
    assert default == torch.npu.default_stream() != stream
    begin, end = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
    assert isinstance(begin, torch.npu.Event)
    with torch.npu.stream(stream):
        assert torch.npu.current_stream() == stream
        assert torch.npu.current_stream().npu_stream == stream.npu_stream
        begin.record()
        x = torch.ones(100, device="npu") * 2
        end.record()
    assert torch.npu.current_stream() == default
    default.wait_stream(stream)
    stream.wait_event(end)
    x.record_stream(default)
    stream.synchronize()
    assert end.query()
    assert stream.query()
    assert 0 < begin.elapsed_time(end) < 60_000
    with torch.npu.stream(torch.npu.Stream(1)):
        assert torch.npu.current_device() == 1
    assert torch.npu.current_device() == 0
    assert isinstance(stream.record_event(), torch.Event)


def test_the_same_seed_gives_the_numbers_of_the_cpu() -> None:
    def drawn(device: str) -> list[torch.Tensor]:
        torch.manual_seed(7)
        x = torch.ones(20, device=device)
        return [
            torch.rand(5, device=device).cpu(),
            torch.randn(20, device=device).cpu(),
            torch.nn.functional.dropout(x, 0.5).cpu(),
            torch.randperm(10, device=device).cpu(),
            torch.empty(6, device=device).exponential_().cpu(),
        ]

    for one, other in zip(drawn("npu"), drawn("cpu"), strict=True):
        assert torch.equal(one, other)


def test_each_device_has_its_own_numbers() -> None:
    host = torch.get_rng_state()
    torch.npu.manual_seed_all(3)
    state = torch.npu.get_rng_state(1)
    first = torch.rand(4, device="npu:1")
    torch.rand(9, device="npu:0")
    torch.nn.functional.dropout(torch.ones(9, device="npu:0"), 0.5)
    torch.npu.set_rng_state(state, "npu:1")
    assert torch.equal(torch.rand(4, device="npu:1"), first)
    assert torch.equal(torch.get_rng_state(), host)
    assert torch.npu.initial_seed() == 3
    generator = torch.Generator("npu").manual_seed(3)
    torch.npu.manual_seed(3)
    assert torch.equal(torch.rand(4, device="npu", generator=generator), torch.rand(4, device="npu"))
    with torch.random.fork_rng(devices=[0], device_type="npu"):
        inside = torch.rand(3, device="npu")
    assert torch.equal(torch.rand(3, device="npu"), inside)


def test_autocast() -> None:
    x = torch.ones(2, 2, device="npu")
    with torch.autocast("npu"):
        assert torch.npu.is_autocast_enabled()
        assert (x @ x).dtype == torch.float16
        assert torch.softmax(x.half(), 0).dtype == torch.float32
    with torch.autocast("npu", dtype=torch.bfloat16):
        assert torch.nn.functional.linear(x, x).dtype == torch.bfloat16
    with torch.npu.amp.autocast(), torch.autocast("npu", enabled=False):
        assert (x @ x).dtype == torch.float32


def test_autocast_has_the_operators_that_pytorch_lists_for_other_devices() -> None:
    has = torch._C._dispatch_has_kernel_for_dispatch_key
    names = [name for name in torch._C._dispatch_get_all_op_names() if name.startswith("aten::")]
    listed = {name for name in names if has(name, "AutocastMTIA")}
    listed.remove("aten::binary_cross_entropy")  # in no list: PyTorch refuses it where it registers those devices
    assert len(listed) > 80
    assert {name for name in names if has(name, "AutocastPrivateUse1")} == listed


def test_autocast_by_what_it_does_to_arguments() -> None:
    x, half = torch.rand(3, 3, device="npu"), torch.rand(3, 3, device="npu").half()
    double = x.double()
    with torch.autocast("npu"):
        assert torch.einsum("ij,jk->ik", x, half).dtype == torch.float16, "tensors in a list are cast too"
        assert torch.mm(double, double).dtype == torch.float64, "doubles are left alone"
        assert half.exp().dtype == torch.float32
        assert half.sum().dtype == half.sum(0).dtype == torch.float32
        assert half.sum(dtype=torch.float16).dtype == torch.float16, "what the caller asks for holds"
        assert torch.ones(3, dtype=torch.int32, device="npu").sum().dtype == torch.int64
        assert half.norm().dtype == half.norm(2, 0).dtype == torch.float32
        torch.testing.assert_close(half.norm(2, 1), half.float().pow(2).sum(1).sqrt())
        assert torch.dot(x[0], half[0]).dtype == torch.float32, "the widest of several"
        assert torch.dot(half[0], half[0]).dtype == torch.float16
        put = x.index_put((torch.tensor([0], device="npu"),), x[1:2])
    assert torch.equal(put[0], x[1])


def test_autocast_keeps_gradients() -> None:
    weight = torch.rand(3, 3, device="npu", requires_grad=True)
    with torch.autocast("npu"):
        torch.nn.functional.linear(torch.ones(2, 3, device="npu"), weight).sum().backward()
    assert weight.grad is not None
    assert weight.grad.dtype == torch.float32
    assert (weight.grad == 2).all()
