// `opbridge._core.Dispatcher`: forwards a call by the type of its first tensor.
#pragma once

#include "python.h"

namespace opbridge {

void add_dispatcher_type(PyObject* module);

}  // namespace opbridge
