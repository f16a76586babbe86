// The simulated devices: which is current, their streams, events and generators.
#ifndef OPBRIDGE_TORCH_DEVICE_DEVICE_H
#define OPBRIDGE_TORCH_DEVICE_DEVICE_H

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/Generator.h>
#include <c10/core/Device.h>
#include <c10/core/Storage.h>

namespace opbridge::simulated {

constexpr c10::DeviceIndex kMostDevices = 16;

// Registers the guard and the hooks by which PyTorch reaches the devices; once in a process.
void set_up_devices(c10::DeviceIndex count);

// Gives a storage more or less memory, with what it held.
void resize_storage(const c10::Storage& storage, size_t bytes);

c10::DeviceIndex device_count();
c10::DeviceIndex current_device();

const at::Generator& default_generator(c10::DeviceIndex device);
// The generator of the CPU whose numbers a device's are.
at::Generator numbers_of(const at::Generator& generator);

}  // namespace opbridge::simulated

#endif
