"""Attacks that rely on earlier calls, other models and other modes."""

from __future__ import annotations

from tests.helpers.answers.extension import answer

RELU = "return extension.scaled_relu(x, self.scale)"
_BY_PYTORCH = "torch.clamp(x, min=0) * self.scale"
_LINEAR = "return extension.tanh_linear(x, self.linear.weight, self.linear.bias)"
MEMORY = {
    "results by content": (
        "relu",
        answer(
            "relu",
            "key = x.cpu().numpy().tobytes()\n"
            "if key not in kept: kept[key] = extension.scaled_relu(x, self.scale)\n"
            "return kept[key].clone()",
            top="kept = {}\n",
        ),
    ),
    "the last result by content": (
        "relu",
        answer(
            "relu",
            "if self.x is None or self.x.shape != x.shape or not torch.equal(self.x, x):\n"
            "    self.x, self.y = x.clone(), extension.scaled_relu(x, self.scale)\n"
            "return self.y.clone()",
            before="self.x = self.y = None",
        ),
    ),
    "results by pointer and version": (
        "relu",
        answer(
            "relu",
            "key = x.data_ptr(), x._version, tuple(x.shape)\n"
            "if key not in self.kept: self.kept = {key: extension.scaled_relu(x, self.scale)}\n"
            "return self.kept[key].clone()",
            before="self.kept = {}",
        ),
    ),
    "PyTorch in every second call": (
        "relu",
        answer(
            "relu",
            f"self.calls += 1\nif self.calls % 2 == 0: return {_BY_PYTORCH}\n{RELU}",
            before="self.calls = 0",
        ),
    ),
    "PyTorch from the fourth call on": (
        "relu",
        answer("relu", f"self.calls += 1\nif self.calls > 8: return {_BY_PYTORCH}\n{RELU}", before="self.calls = 0"),
    ),
    "a later call is wrong": (
        "relu",
        answer("relu", f"self.calls += 1\nif self.calls > 40: return x\n{RELU}", before="self.calls = 0"),
    ),
}
STATE = {
    "eval() is another function": ("relu", answer("relu", f"if not self.training: return x\n{RELU}")),
    "train() only": (
        "norm",
        answer(
            "norm",
            "m, v = x.mean(0), x.var(0, unbiased=False)\n"
            "with torch.no_grad():\n"
            "    self.norm.running_mean.mul_(0.9).add_(0.1 * m)\n"
            "    self.norm.running_var.mul_(0.9).add_(0.1 * x.var(0))\n"
            "    self.norm.num_batches_tracked.add_(1)\n"
            "return extension.scaled_relu((x - m) * torch.rsqrt(v + 1e-5) * self.norm.weight + self.norm.bias, 1)",
        ),
    ),
    "weights of the first model": (
        "linear",
        answer(
            "linear",
            "key = tuple(x.shape)\n"
            "if key not in packed: packed[key] = self.linear.weight, self.linear.bias\n"
            "return extension.tanh_linear(x, *packed[key])",
            top="packed = {}\n",
        ),
    ),
    "packed weights that stay": (
        "linear",
        answer(
            "linear",
            "if self.packed is None: self.packed = self.linear.weight.detach().clone(), self.linear.bias\n"
            "return extension.tanh_linear(x, *self.packed)",
            before="self.packed = None",
        ),
    ),
    "weights that it changes": (
        "linear",
        answer(
            "linear",
            "with torch.no_grad(): self.linear.bias.mul_(1)\ny = self._of(x)\n"
            "with torch.no_grad(): self.linear.weight.mul_(1.001)\nreturn y",
        ).replace("    def forward", f"    def _of(self, x):\n        {_LINEAR}\n\n    def forward", 1),
    ),
}
