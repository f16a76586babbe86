// `opbridge._core.NumpyOp`: an operator on NumPy arrays.
//
// Calling convention: vectorcall; positional and keyword arguments as the schema names them, and `out=`.
#pragma once

#include "python.h"

namespace opbridge {

void add_numpy_op_type(PyObject* module);

}  // namespace opbridge
