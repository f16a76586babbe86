// Python bindings that only one of the devices has.
#ifndef OPBRIDGE_TORCH_DEVICE_OWN_BINDINGS_H
#define OPBRIDGE_TORCH_DEVICE_OWN_BINDINGS_H

#include <torch/csrc/utils/pybind.h>

namespace opbridge::simulated {

void add_own_bindings(py::module_& m);

}  // namespace opbridge::simulated

#endif
