// Nodes of graphs that allocate and free memory.
#include "allocations.h"
#include "memory.h"
#include "state.h"
#include "streams.h"

namespace opbridge_twin {

namespace {

// The stream whose captured work becomes the node.
template <class Do>
cudaError_t add_node(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* before, size_t count, Do work) {
  take_down(ob_twin_node_begins(), work);
  return ob_twin_node_added(node, graph, before, count);
}

unsigned long long* attribute_of(GraphMemory& memory, cudaGraphMemAttributeType attribute) {
  switch (attribute) {
    case cudaGraphMemAttrUsedMemCurrent:
      return &memory.used;
    case cudaGraphMemAttrUsedMemHigh:
      return &memory.most_used;
    case cudaGraphMemAttrReservedMemCurrent:
      return &memory.reserved;
    case cudaGraphMemAttrReservedMemHigh:
      return &memory.most_reserved;
  }
  return nullptr;
}

thread_local bool frees_at_launch = false;

}  // namespace

FreesAtLaunch::FreesAtLaunch(bool does) : before_(frees_at_launch) { frees_at_launch = does; }
FreesAtLaunch::~FreesAtLaunch() { frees_at_launch = before_; }

GraphMemory& graph_memory() { return memory().graphs(); }

cudaError_t allocate_for_graph(void** result, size_t bytes, const char* how, const void* where) {
  if (const cudaError_t error = memory().allocate(result, bytes, checks::Space::device, how, where)) return error;
  memory().give_to_graph(*result, where);
  return cudaSuccess;
}

cudaError_t use_in_graph(void* begin, const char* how, const void* where) {
  return memory().use_in_graph(begin, frees_at_launch, how, where);
}

cudaError_t free_in_graph(void* begin, const char* how, const void* where) {
  return memory().free(begin, false, how, where);
}

}  // namespace opbridge_twin

using namespace opbridge_twin;

cudaError_t cudaGraphAddMemAllocNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* before,
                                     size_t count, cudaMemAllocNodeParams* how) {
  OB_TWIN_REQUIRE_DEVICE();
  const void* const where = OB_TWIN_HERE;
  if (how == nullptr || how->bytesize == 0) return noted(cudaErrorInvalidValue);
  constexpr const char* kName = "cudaGraphAddMemAllocNode";
  if (const cudaError_t error = allocate_for_graph(&how->dptr, how->bytesize, kName, where)) return error;
  return add_node(node, graph, before, count,
                  [memory = how->dptr, where] { return use_in_graph(memory, kName, where); });
}

cudaError_t cudaGraphAddMemFreeNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* before,
                                    size_t count, void* memory) {
  OB_TWIN_REQUIRE_DEVICE();
  const void* const where = OB_TWIN_HERE;
  if (memory == nullptr) return noted(cudaErrorInvalidValue);
  return add_node(node, graph, before, count, [=] { return free_in_graph(memory, "cudaGraphAddMemFreeNode", where); });
}

cudaError_t cudaDeviceGetGraphMemAttribute(int device, cudaGraphMemAttributeType attribute, void* value) {
  if (device != 0) return noted(cudaErrorInvalidDevice);
  const unsigned long long* const found = attribute_of(graph_memory(), attribute);
  if (found == nullptr || value == nullptr) return noted(cudaErrorInvalidValue);
  *static_cast<unsigned long long*>(value) = *found;
  return cudaSuccess;
}

// A high-water mark begins again at what there is now; nothing else can be set.
cudaError_t cudaDeviceSetGraphMemAttribute(int device, cudaGraphMemAttributeType attribute, void* value) {
  if (device != 0) return noted(cudaErrorInvalidDevice);
  if (value == nullptr || *static_cast<unsigned long long*>(value) != 0) return noted(cudaErrorInvalidValue);
  GraphMemory& memory = graph_memory();
  if (attribute == cudaGraphMemAttrUsedMemHigh) {
    memory.most_used = memory.used;
  } else if (attribute == cudaGraphMemAttrReservedMemHigh) {
    memory.most_reserved = memory.reserved;
  } else {
    return noted(cudaErrorInvalidValue);
  }
  return cudaSuccess;
}

cudaError_t cudaDeviceGraphMemTrim(int device) {
  if (device != 0) return noted(cudaErrorInvalidDevice);
  graph_memory().reserved = graph_memory().used;
  return cudaSuccess;
}
