"""Outputs without values: shapes and element types by the `out` rule, on the device of the inputs."""

from __future__ import annotations

import torch

from opbridge.frameworks.torch.fake_outputs import fake_outputs
from opbridge.waist.op import OpLibrary


def test_an_output_has_the_shape_the_element_type_and_the_device_of_the_rule(lib: OpLibrary) -> None:
    x = torch.empty(2, 3, dtype=torch.float16, device="meta")
    made = fake_outputs(lib.scaled_add.spec, {"x": x, "y": x, "alpha": 1.0})
    assert (made.shape, made.dtype, made.device.type) == ((2, 3), torch.float16, "meta")
