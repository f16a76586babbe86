"""What the users of the installed package do: its values, its gradient, PyTorch's own checks of operators."""

import muladd_ext
import torch

a, b = torch.randn(2, 3, 4, requires_grad=True).unbind()
result = muladd_ext.ops.mymuladd(a, b, 2.0)
torch.testing.assert_close(result, a * b + 2.0)
grads = torch.autograd.grad(result.sum(), (a, b))
torch.testing.assert_close(grads, (b.detach(), a.detach()))
torch.library.opcheck(torch.ops.muladd_ext.mymuladd.default, (torch.randn(3), torch.randn(3, requires_grad=True), 1.0))
print(muladd_ext._C.__file__)
