// What Python is told of one of the devices alone.
#pragma once

#include <torch/csrc/utils/pybind.h>

namespace opbridge::simulated {

void add_own_bindings(py::module_& m);

}  // namespace opbridge::simulated
