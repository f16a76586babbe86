// The module behind opbridge.npu: importing it changes nothing but the dispatcher; `start` brings up the devices.
#include <torch/csrc/utils/pybind.h>

#include "device.h"
#include "fallback.h"
#include "memory.h"

namespace opbridge::npu {

PYBIND11_MODULE(opbridge_npu, m) {
  m.def("start", [](int devices) {
    const auto count = static_cast<c10::DeviceIndex>(devices);
    set_up_memory(count);
    set_up_devices(count);
    take_kernels_of_cpu();
  });
  m.def("default_generator", [](int device) { return default_generator(static_cast<c10::DeviceIndex>(device)); });
  m.def("limit_memory",
        [](int device, double fraction) { limit_memory(static_cast<c10::DeviceIndex>(device), fraction); });
}

}  // namespace opbridge::npu
