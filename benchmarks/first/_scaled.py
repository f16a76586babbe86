"""The operator that the programs of several frameworks share."""

import opbridge as ob

scaled = ob.inline(
    """
#include <opbridge/kernel.h>
template <class T>
void scaled(ob::In<T> x, double by, ob::Out<T> y) {
  for (int64_t i = 0; i < y.numel(); ++i) y[i] = x[i] * T(by);
}
OB_KERNEL(scaled, float, double)
""",
    schema="first::scaled(Tensor x, float by) -> Tensor",
    out="x",
    derivatives={"x": "grad * by"},
)
