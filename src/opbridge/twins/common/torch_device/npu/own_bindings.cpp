#include "../own_bindings.h"

namespace opbridge::simulated {

// torch.accelerator has what torch.npu asks for.
void add_own_bindings(py::module_&) {}

}  // namespace opbridge::simulated
