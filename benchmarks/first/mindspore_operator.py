"""The same in MindSpore, with its gradient."""

import mindspore
from _scaled import scaled

gradient = mindspore.grad(lambda x: scaled(x, 2.5).sum())(mindspore.ops.ones(4))
assert gradient.asnumpy().tolist() == [2.5] * 4
