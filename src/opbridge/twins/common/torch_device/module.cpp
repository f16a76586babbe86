// The native module of opbridge.npu and of opbridge.cuda_twin.  Importing it changes only the dispatcher; `start`
// creates the devices.
#include <torch/csrc/utils/pybind.h>

#include "device.h"
#include "fallback.h"
#include "gradients.h"
#include "memory.h"
#include "own_bindings.h"

namespace opbridge::simulated {

PYBIND11_MODULE(OPBRIDGE_MODULE, m) {
  m.def("start", [](int devices) {
    const auto count = static_cast<c10::DeviceIndex>(devices);
    attach_to_twin();
    set_up_memory(count);
    set_up_devices(count);
    take_kernels_of_cpu();
  });
  m.def("await_gradients", &await_gradients, pybind11::call_guard<pybind11::gil_scoped_release>());
  m.def("default_generator", [](int device) { return default_generator(static_cast<c10::DeviceIndex>(device)); });
  m.def("limit_memory",
        [](int device, double fraction) { limit_memory(static_cast<c10::DeviceIndex>(device), fraction); });
  add_own_bindings(m);
}

}  // namespace opbridge::simulated
