// `opbridge._core.NumpyOp`: an operator on NumPy arrays.
//
// Calling convention: vectorcall; positional and keyword arguments as the schema names them, and `out=`.
#ifndef OPBRIDGE_NATIVE_CORE_NUMPY_OP_H
#define OPBRIDGE_NATIVE_CORE_NUMPY_OP_H

#include "python.h"

namespace opbridge {

void add_numpy_op_type(PyObject* module);

}  // namespace opbridge

#endif
