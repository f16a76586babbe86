// `opbridge._core.Dispatcher`: forwards a call by the type of its first tensor.
#ifndef OPBRIDGE_NATIVE_CORE_DISPATCHER_H
#define OPBRIDGE_NATIVE_CORE_DISPATCHER_H

#include "python.h"

namespace opbridge {

void add_dispatcher_type(PyObject* module);

}  // namespace opbridge

#endif
