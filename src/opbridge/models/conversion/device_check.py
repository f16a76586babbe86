"""The program in a package that compares the network on another device with what PyTorch gave."""

from __future__ import annotations

from opbridge.models.conversion.standalone import EXAMPLE


def text(mark: str) -> str:
    """Return the source of `check_on_device.py`."""
    return f'''"""{mark}. Compare the network on a device with what PyTorch gave.

Run it above this folder, where the NPU is: python -m PACKAGE.check_on_device --device Ascend
"""

import argparse
import sys
from pathlib import Path

import mindspore as ms
import numpy as np
from mindspore import nn

from . import load, weights


class WeightedSum(nn.Cell):
    """The sum of all results, each element times its own factor."""

    def __init__(self, network, factors):
        super().__init__()
        self.network = network
        self.factors = factors

    def construct(self, *inputs):
        results = self.network(*inputs)
        results = results if isinstance(results, tuple) else (results,)
        total = 0.0
        for place, factor in self.factors:
            total = total + (results[place].astype(ms.float32) * factor).sum()
        return total


def numbered(example, start):
    """Return the arrays of the example whose names begin so, in order."""
    return [example[f"{{start}}.{{place}}"] for place in range(sum(name.startswith(f"{{start}}.") for name in example))]


def computed(network, example):
    """Yield the name and the array of every result and gradient."""
    inputs = [ms.Tensor(each) for each in numbered(example, "input")]
    results = network(*inputs)
    for place, each in enumerate(results if isinstance(results, tuple) else (results,)):
        yield f"result.{{place}}", each.astype(ms.float32).asnumpy() if each.dtype == ms.bfloat16 else each.asnumpy()
    places = sorted(int(name.removeprefix("factor.")) for name in example if name.startswith("factor."))
    factors = tuple((place, ms.Tensor(example[f"factor.{{place}}"])) for place in places)
    # A cell that contains the network gives its parameters other names.
    trained = {{f"gradient.{{each.name}}": each for each in network.trainable_params()}}
    trained = {{name: each for name, each in trained.items() if name in example}}
    if factors and trained:
        gradients = ms.grad(WeightedSum(network, factors), None, ms.ParameterTuple(trained.values()))(*inputs)
        for name, gradient in zip(trained, gradients, strict=True):
            yield name, gradient.astype(ms.float32).asnumpy()


def difference(have, want):
    """Return the largest difference, relative to the largest number of the tensor; infinite for other shapes or nan."""
    have, want = np.asarray(have, np.float64), np.asarray(want, np.float64)
    finite = np.isfinite(want)
    if have.shape != want.shape or not np.array_equal(have[~finite], want[~finite], equal_nan=True):
        return np.inf
    largest = np.abs(want[finite]).max(initial=1e-6)
    found = np.abs(have[finite] - want[finite]).max(initial=0.0) / largest
    return found if np.isfinite(found) else np.inf


def main():
    """Print the difference of every tensor in both modes; return 1 if one is above the tolerance."""
    parser = argparse.ArgumentParser(description="compare the network on a device with what PyTorch gave")
    parser.add_argument("--device", default="Ascend", help="Ascend (default), CPU or GPU")
    parser.add_argument("--tolerance", type=float, default=1e-3, help="of the largest number of a tensor (0.001)")
    options = parser.parse_args()
    ms.set_device(options.device)
    example = weights.load(Path(__file__).with_name("{EXAMPLE}"))
    wrong = count = 0
    for title, mode in (("PyNative", ms.PYNATIVE_MODE), ("Graph", ms.GRAPH_MODE)):
        ms.set_context(mode=mode)
        for name, have in computed(load().set_train(False), example):
            found = difference(have, example[name])
            count, wrong = count + 1, wrong + (found > options.tolerance)
            print(f"{{found:10.1e}}  {{title}}  {{name}}")
    right = f"all {{count}} tensors agree with PyTorch on {{options.device}}"
    print(f"{{wrong}} of {{count}} tensors differ" if wrong else right)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
'''
