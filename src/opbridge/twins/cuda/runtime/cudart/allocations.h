// What is allocated of the device's memory, and of the host's that CUDA has pinned.
#ifndef OPBRIDGE_TWIN_RUNTIME_CUDART_ALLOCATIONS_H
#define OPBRIDGE_TWIN_RUNTIME_CUDART_ALLOCATIONS_H

#include <cuda_runtime_api.h>
#include <stddef.h>

#include <map>
#include <mutex>

#include "checks/checks.h"
#include "memory.h"

namespace opbridge_twin {

// An allocation has separate pages, so that accesses before and after it are rejected.
struct Allocation {
  size_t bytes;
  checks::Space space;
  char* pages;  // that hold it, in the region
  size_t page_bytes;
  bool of_graph = false;  // its addresses stay taken for the next launch of the graph
  bool in_use = true;
};

// Addresses are taken one after the other, and come back only when all have been used: what was freed stays unreadable,
// and between two allocations lies memory that nobody may touch.
class Memory {
 public:
  cudaError_t allocate(void** result, size_t bytes, checks::Space space, const char* how, const void* where);
  // `of_host`: whether it is for memory of the host's that `allocate` gave, and for no other.
  cudaError_t free(void* memory, bool of_host, const char* how, const void* where);
  // Gives what was allocated to a graph, whose launches use it and free it.
  void give_to_graph(void* memory, const void* where);
  cudaError_t use_in_graph(void* memory, bool free_first, const char* how, const void* where);
  GraphMemory& graphs() { return graphs_; }
  cudaError_t adopt(void* memory, size_t bytes, const char* how, const void* where);
  cudaError_t release(void* memory, const char* how, const void* where);
  // The allocation that an address lies in.
  bool find(const void* memory, Allocation& found, const char*& begin);
  size_t available();
  void free_everything();
  void close_to_host();
  void each(const Visit& visit);

 private:
  void close_all_to_host();
  bool reserve();
  char* take(size_t bytes);
  bool open(char* pages, size_t bytes);
  void close(char* begin, const Allocation& allocation);
  char* end_before(char* address);

  std::mutex guard_;
  char* region_ = nullptr;
  size_t region_bytes_ = 0;
  char* first_ = nullptr;
  char* next_ = nullptr;
  size_t used_ = 0;
  std::map<const char*, Allocation> live_;
  GraphMemory graphs_;
};

Memory& memory();
inline size_t round_up(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

}  // namespace opbridge_twin
#endif
