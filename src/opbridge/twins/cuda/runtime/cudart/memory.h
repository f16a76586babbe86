// Device memory: a range of addresses of its own, so that a pointer tells what it points to.
#ifndef OPBRIDGE_TWIN_RUNTIME_CUDART_MEMORY_H
#define OPBRIDGE_TWIN_RUNTIME_CUDART_MEMORY_H

#include <cuda_runtime_api.h>
#include <stddef.h>

#include <functional>

namespace opbridge_twin {

// The memory of the machine, which counts as that of the device.
size_t total_memory();
void free_everything();
// The allocation that an address lies in; false where there is none.
bool find_allocation(const void* address, const void*& begin, size_t& bytes);
// Calls `visit` with where each live allocation begins, its bytes, and whether the host may use it too.
using Visit = std::function<void(char* begin, size_t bytes, bool is_shared)>;
void each_allocation(const Visit& visit);
// Host code goes on, which has no business in device memory.
void close_to_host();

// Memory that graphs allocate.  Its addresses are known, and stay taken, before a launch uses them.
struct GraphMemory {
  unsigned long long used = 0, most_used = 0, reserved = 0, most_reserved = 0;  // bytes
};
GraphMemory& graph_memory();
cudaError_t allocate_for_graph(void** result, size_t bytes, const char* how, const void* where);
// Replaces an allocation in the launch of a graph.  While `FreesAtLaunch` exists, it first frees the memory of the last
// one.
cudaError_t use_in_graph(void* memory, const char* how, const void* where);
cudaError_t free_in_graph(void* memory, const char* how, const void* where);
class FreesAtLaunch {
 public:
  explicit FreesAtLaunch(bool does);
  ~FreesAtLaunch();
  FreesAtLaunch(const FreesAtLaunch&) = delete;
  FreesAtLaunch& operator=(const FreesAtLaunch&) = delete;

 private:
  bool before_;
};

}  // namespace opbridge_twin
#endif
