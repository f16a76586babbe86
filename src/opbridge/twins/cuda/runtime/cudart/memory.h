// Device memory: a range of addresses of its own, so that a pointer tells what it points to.
#ifndef OPBRIDGE_TWIN_RUNTIME_CUDART_MEMORY_H
#define OPBRIDGE_TWIN_RUNTIME_CUDART_MEMORY_H

#include <stddef.h>

#include <functional>

namespace opbridge_twin {

// Of the machine, which stands for the device's.
size_t total_memory();
void free_everything();
// The allocation that an address lies in; false where there is none.
bool find_allocation(const void* address, const void*& begin, size_t& bytes);
// Calls `visit` with where each live allocation begins, and its bytes.
void each_allocation(const std::function<void(const char*, size_t)>& visit);
// Host code goes on, which has no business in device memory.
void close_to_host();

}  // namespace opbridge_twin
#endif
