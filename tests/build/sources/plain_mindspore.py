"""Runs operators of one library in MindSpore alone, in both modes; test_standalone.py says which.

A program of its own: MindSpore compiles what it finds in a file.
"""

from __future__ import annotations

import json
import sys

import mindspore as ms
import numpy as np
from mindspore import nn, ops

library, steps = json.loads(sys.argv[1])
ms.set_device("CPU")


def primitive(function, attributes, shape=None, dtype=None, several=False):
    made = ops.Custom(f"{library}:{function}", out_shape=shape, out_dtype=dtype, func_type="aot")
    made.add_prim_attr("reg_op_name", function)
    made.add_prim_attr("multi_output", several)
    for name, value in attributes.items():
        made.add_prim_attr(name, value)
    return made


class Net(nn.Cell):
    def __init__(self, made):
        super().__init__()
        self.made = made

    def construct(self, *inputs):
        return self.made(*inputs)


def answer(step):
    tensors = [ms.Tensor(np.array(value, dtype)) for value, dtype in step["inputs"]]
    options = {"several": step.get("several", False)}
    if "like" in step:
        options |= {"shape": step["like"][0], "dtype": getattr(ms, step["like"][1])}
    net = Net(primitive(step["function"], step["attributes"], **options))
    if "sizes" in step:
        net.set_inputs(*(ms.Tensor(shape=step["sizes"], dtype=tensor.dtype) for tensor in tensors))
    try:
        results = net(*tensors)
        results = results if isinstance(results, tuple) else (results,)
        return [[result.asnumpy().tolist(), str(result.dtype)] for result in results]
    except Exception as error:
        return str(error).partition("\n")[0]


answers = []
for mode in (ms.PYNATIVE_MODE, ms.GRAPH_MODE):
    ms.set_context(mode=mode)
    answers.append([answer(step) for step in steps])
assert not any(name.startswith("opbridge") for name in sys.modules)
print(json.dumps(answers))
