// Device memory: addresses that hosts pass on but cannot read, and a window through which the twin reads their bytes.
#ifndef OPBRIDGE_ASCEND_DEVICE_H
#define OPBRIDGE_ASCEND_DEVICE_H

#include <stdint.h>

extern "C" {
// A piece of device memory; `bytes` never exceeds `capacity`, and what lies between the two is out of bounds.
typedef struct ob_ascend_memory {
  void* address;  // on the device: whatever reads it on the host ends the process with a report
  uint64_t capacity;
  uint64_t bytes;  // from the address on, that kernels may use; its owner may change it
  int32_t device;
} ob_ascend_memory;

// Null where the process has no addresses or the system no memory left.
ob_ascend_memory* ob_ascend_device_allocate(int32_t device, uint64_t bytes);
void ob_ascend_device_free(ob_ascend_memory* memory);
// The memory that an address, of the device or in the window, lies in; null for any other address.
ob_ascend_memory* ob_ascend_device_find(const void* address);
// Where the bytes of an address lie; an address that is not of a device is given back as it is.
void* ob_ascend_window(const void* address);
// The address on the device of what the window shows; any other address is given back as it is.
void* ob_ascend_device_address(const void* window);
}

#endif
