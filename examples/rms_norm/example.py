"""Train one layer whose normalisation is a C++ kernel, forward and backward."""

from pathlib import Path

import torch

import opbridge as ob

rms_norm = ob.load(Path(__file__).parent / "ops.yaml").rms_norm


class Layer(torch.nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(width, width)
        self.weight = torch.nn.Parameter(torch.ones(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return rms_norm(self.linear(x), self.weight)


torch.manual_seed(0)
x, weight = torch.randn(4, 6, dtype=torch.float64), torch.randn(6, dtype=torch.float64)
expected = torch.nn.functional.rms_norm(x, (6,), weight, eps=1e-6)
assert torch.allclose(rms_norm(x, weight), expected)
assert torch.autograd.gradcheck(rms_norm, (x.requires_grad_(), weight.requires_grad_()))

model = torch.compile(Layer(32), fullgraph=True, backend="aot_eager")
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
inputs, targets = torch.randn(2, 64, 32).unbind()
losses = []
for _ in range(50):
    optimizer.zero_grad()
    loss = torch.nn.functional.mse_loss(model(inputs), targets)
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(f"loss {losses[0]:.3f} -> {losses[-1]:.3f}")
assert losses[-1] < 0.8 * losses[0]
