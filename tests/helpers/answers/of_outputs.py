"""Outputs that are not the reference's."""

from __future__ import annotations

from tests.helpers.answers.extension import answer

OUTPUTS = {
    "float64": ("relu", answer("relu", "return extension.scaled_relu(x, self.scale).double()")),
    "float32 where half is asked": ("half", answer("half", "return extension.scaled_relu(x.half().float(), 3)")),
    "half on the way": ("relu", answer("relu", "return extension.scaled_relu(x.half().float(), self.scale)")),
    "a tuple": ("relu", answer("relu", "return (extension.scaled_relu(x, self.scale),)")),
    "another shape": ("sum", answer("sum", "return extension.row_sums(x, x.size(1)).unsqueeze(1)")),
    "one output for two": ("two", answer("two", "y = extension.scaled_relu(x, 1)\nreturn y, y")),
    "its input, changed": ("relu", answer("relu", "x.copy_(extension.scaled_relu(x, self.scale))\nreturn x")),
    "a part of a sum": ("sum", answer("sum", "return extension.row_sums(x, x.size(1) - x.size(1) // 200)")),
    "the mean of the row": ("sum", answer("sum", "return torch.full((x.size(0),), x.size(1) / 2.0, device=x.device)")),
    "zero where it is small": (
        "softmax",
        answer(
            "softmax",
            "e = extension.exponentials(x - x.amax(1, True))\ny = e / e.sum(1, True)\n"
            "return torch.where(y < y.mean(), torch.zeros_like(y), y)",
        ),
    ),
    "infinity": ("relu", answer("relu", "return extension.scaled_relu(x, self.scale) / 0.0")),
    "a bias": ("relu", answer("relu", "return extension.scaled_relu(x, self.scale * (1 + 3e-7))")),
}
