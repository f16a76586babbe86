"""Models learn on the device what they learn on the CPU."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn


class Convolutional(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(64, 3)
        )

    def forward(self, x: torch.Tensor) -> Any:
        return self.layers(x)


class Transformer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Linear(8, 16)
        self.layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.1, batch_first=True)
        self.head = nn.Linear(16, 3)

    def forward(self, x: torch.Tensor) -> Any:
        return self.head(self.layer(self.embed(x.reshape(len(x), 8, 8))).mean(1))


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(8, 12, batch_first=True)
        self.gru = nn.GRU(12, 10, bidirectional=True, batch_first=True)
        self.head = nn.Linear(20, 3)

    def forward(self, x: torch.Tensor) -> Any:
        return self.head(self.gru(self.lstm(x.reshape(len(x), 8, 8))[0])[0][:, -1])


def losses(kind: type[nn.Module], device: str, optimizer: type[torch.optim.Optimizer], **options: Any) -> list[float]:
    torch.manual_seed(0)
    model = kind().to(device)
    optimize = optimizer(model.parameters(), lr=0.01, **options)
    torch.manual_seed(1)
    x, y = torch.randn(16, 1, 8, 8).to(device), torch.randint(0, 3, (16,)).to(device)
    torch.manual_seed(2)
    found = []
    for _ in range(4):
        optimize.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimize.step()
        found.append(loss.item())
    return found


@pytest.mark.parametrize("kind", [Convolutional, Transformer, Recurrent])
@pytest.mark.parametrize(
    ("optimizer", "options"), [(torch.optim.SGD, {"momentum": 0.9}), (torch.optim.AdamW, {}), (torch.optim.Adam, {})]
)
def test_training_goes_as_on_the_cpu(
    kind: type[nn.Module], optimizer: type[torch.optim.Optimizer], options: dict[str, Any]
) -> None:
    device, cpu = losses(kind, "npu", optimizer, **options), losses(kind, "cpu", optimizer, **options)
    torch.testing.assert_close(device, cpu)
    assert device[-1] < device[0]


def test_mixed_precision_with_scaled_gradients() -> None:
    torch.manual_seed(0)
    model = Convolutional().npu()
    optimize = torch.optim.SGD(model.parameters(), lr=0.05)
    scaler = torch.amp.GradScaler("npu", init_scale=1024.0)
    x, y = torch.randn(16, 1, 8, 8).npu(), torch.randint(0, 3, (16,)).npu()
    found = []
    for _ in range(6):
        optimize.zero_grad()
        with torch.autocast("npu"):
            out = model(x)
            loss = nn.functional.cross_entropy(out, y)
        assert out.dtype == torch.float16
        scaler.scale(loss).backward()
        scaler.step(optimize)
        scaler.update()
        found.append(loss.item())
    assert found[-1] < found[0]
    assert scaler.get_scale() == 1024.0


def test_what_overflows_is_not_learned() -> None:
    weight = torch.ones(2, device="npu", requires_grad=True)
    optimize = torch.optim.SGD([weight], lr=1.0)
    scaler = torch.npu.amp.GradScaler(init_scale=4.0)
    scaler.scale((weight * torch.inf).sum()).backward()
    scaler.step(optimize)
    scaler.update()
    assert weight.tolist() == [1, 1]
    assert scaler.get_scale() == 2.0


def test_gradients_of_gradients_and_checkpoints() -> None:
    x = torch.tensor([1.0, 2.0], device="npu", requires_grad=True)
    (first,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    assert second.tolist() == [6, 12]
    saved = torch.utils.checkpoint.checkpoint(lambda t: (t * t).sin(), x, use_reentrant=False)
    saved.sum().backward()
    torch.testing.assert_close(x.grad.cpu(), (2 * x * (x * x).cos()).detach().cpu())


@pytest.mark.filterwarnings("ignore:.torch.jit.script:DeprecationWarning")
def test_forward_mode_and_batches() -> None:
    x = torch.rand(4, device="npu")
    _, tangent = torch.func.jvp(lambda t: (t * t).sin(), (x,), (torch.ones_like(x),))
    torch.testing.assert_close(tangent, 2 * x * (x * x).cos())
    torch.testing.assert_close(torch.func.vmap(torch.func.grad(lambda t: t**2))(x), 2 * x)


def test_compiled_programs() -> None:
    model = Convolutional().npu().eval()
    compiled = torch.compile(model, backend="aot_eager", fullgraph=True)
    x = torch.randn(2, 1, 8, 8, device="npu")
    torch.testing.assert_close(compiled(x), model(x))
    compiled(x).sum().backward()
    assert model.layers[0].weight.grad.device.type == "npu"


def test_a_model_is_saved_and_loaded(tmp_path: Any) -> None:
    model = Transformer().npu()
    torch.save(model.state_dict(), tmp_path / "model.pt")
    loaded = Transformer().npu()
    loaded.load_state_dict(torch.load(tmp_path / "model.pt"))
    x = torch.randn(2, 1, 8, 8).npu()
    torch.testing.assert_close(loaded.eval()(x), model.eval()(x))
