// The memory of the simulated devices as PyTorch meets it: a caching allocator on the twin's, with statistics.
#ifndef OPBRIDGE_TORCH_DEVICE_MEMORY_H
#define OPBRIDGE_TORCH_DEVICE_MEMORY_H

#include <c10/core/Allocator.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/Device.h>

#include "twin.h"

namespace opbridge::simulated {

// Before anything else of this header is used.
void set_up_memory(c10::DeviceIndex devices);

c10::DeviceAllocator& device_memory();
c10::Allocator& pinned_memory();
bool is_pinned(const void* address);

// Refuses what would make a device hold more than this part of its memory.
void limit_memory(c10::DeviceIndex device, double fraction);

// While it lives, what this thread allocates as memory of the CPU is memory of a device, seen through the window.
class OnDevice {
 public:
  explicit OnDevice(c10::DeviceIndex device);
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;
  ~OnDevice();

 private:
  const c10::DeviceIndex before_;
};

// Whether a CPU tensor's memory was allocated under an OnDevice.
bool is_in_window(const c10::DataPtr& data);

}  // namespace opbridge::simulated

#endif
