// The C++ side of the runtime API: typed memory, symbols, and functions of kernels.
#ifndef OPBRIDGE_TWIN_RUNTIME_TEMPLATES_H
#define OPBRIDGE_TWIN_RUNTIME_TEMPLATES_H

#include <cuda_runtime_api.h>
#include <opbridge_twin/thread.h>

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

// Inlined where nothing else is, for a report names the line that calls the library.

// Memory -------------------------------------------------------------------------------------------------------------

template <class T>
OB_TWIN_INLINE cudaError_t cudaMalloc(T** memory, size_t bytes) {
  return cudaMalloc((void**)memory, bytes);
}
template <class T>
OB_TWIN_INLINE cudaError_t cudaMallocManaged(T** memory, size_t bytes, unsigned flags = cudaMemAttachGlobal) {
  return cudaMallocManaged((void**)memory, bytes, flags);
}
template <class T>
OB_TWIN_INLINE cudaError_t cudaMallocHost(T** memory, size_t bytes, unsigned flags = cudaHostAllocDefault) {
  return cudaHostAlloc((void**)memory, bytes, flags);
}
template <class T>
OB_TWIN_INLINE cudaError_t cudaHostAlloc(T** memory, size_t bytes, unsigned flags) {
  return cudaHostAlloc((void**)memory, bytes, flags);
}
template <class T>
OB_TWIN_INLINE cudaError_t cudaMallocPitch(T** memory, size_t* pitch, size_t width, size_t height) {
  return cudaMallocPitch((void**)memory, pitch, width, height);
}
template <class T>
OB_TWIN_INLINE cudaError_t cudaMallocAsync(T** memory, size_t bytes, cudaStream_t stream) {
  return cudaMallocAsync((void**)memory, bytes, stream);
}
template <class T>
OB_TWIN_INLINE cudaError_t cudaHostGetDevicePointer(T** device, void* host, unsigned flags) {
  return cudaHostGetDevicePointer((void**)device, host, flags);
}
template <class T>
OB_TWIN_INLINE cudaError_t cudaMallocFromPoolAsync(T** memory, size_t bytes, cudaMemPool_t pool, cudaStream_t stream) {
  return cudaMallocFromPoolAsync((void**)memory, bytes, pool, stream);
}
template <class T>
OB_TWIN_INLINE cudaError_t cudaMallocAsync(T** memory, size_t bytes, cudaMemPool_t pool, cudaStream_t stream) {
  return cudaMallocFromPoolAsync(memory, bytes, pool, stream);
}
// For a place other than a device; there is nothing to do either.
OB_TWIN_INLINE cudaError_t cudaMemAdvise(const void* memory, size_t bytes, cudaMemoryAdvise advice,
                                         cudaMemLocation place) {
  return cudaMemAdvise(memory, bytes, advice, place.type == cudaMemLocationTypeDevice ? place.id : cudaCpuDeviceId);
}
OB_TWIN_INLINE cudaError_t cudaMemPrefetchAsync(const void* memory, size_t bytes, cudaMemLocation place, unsigned,
                                                cudaStream_t stream = nullptr) {
  const int device = place.type == cudaMemLocationTypeDevice ? place.id : cudaCpuDeviceId;
  return cudaMemPrefetchAsync(memory, bytes, device, stream);
}
OB_TWIN_INLINE cudaError_t cudaEventCreate(cudaEvent_t* event, unsigned flags) {
  return cudaEventCreateWithFlags(event, flags);
}

// CUDA 12's way to say it, and that of the versions before it.
OB_TWIN_INLINE cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph,
                                                unsigned long long flags = 0) {
  return cudaGraphInstantiateWithFlags(exec, graph, flags);
}
OB_TWIN_INLINE cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, cudaGraphNode_t*, char*,
                                                size_t) {
  return cudaGraphInstantiateWithFlags(exec, graph, 0);
}
OB_TWIN_INLINE cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphNode_t* node,
                                               cudaGraphExecUpdateResult* result) {
  const cudaError_t error = ob_twin_graph_update(exec, graph);
  if (node != nullptr) *node = nullptr;
  if (result != nullptr) {
    *result = error == cudaSuccess ? cudaGraphExecUpdateSuccess : cudaGraphExecUpdateErrorTopologyChanged;
  }
  return error;
}
OB_TWIN_INLINE cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph,
                                               cudaGraphExecUpdateResultInfo* info) {
  if (info == nullptr) return ob_twin_graph_update(exec, graph);
  info->errorFromNode = nullptr;
  return cudaGraphExecUpdate(exec, graph, &info->errorNode, &info->result);
}

// Symbols ------------------------------------------------------------------------------------------------------------

template <class T>
OB_TWIN_INLINE cudaError_t cudaMemcpyToSymbol(T& symbol, const void* from, size_t bytes, size_t offset = 0,
                                              cudaMemcpyKind = cudaMemcpyHostToDevice) {
  return ob_twin_copy_symbol(const_cast<void*>(static_cast<const volatile void*>(&symbol)), from, bytes, sizeof(T),
                             offset, 1);
}
template <class T>
OB_TWIN_INLINE cudaError_t cudaMemcpyToSymbolAsync(T& symbol, const void* from, size_t bytes, size_t offset,
                                                   cudaMemcpyKind kind, cudaStream_t = nullptr) {
  return cudaMemcpyToSymbol(symbol, from, bytes, offset, kind);
}
template <class T>
OB_TWIN_INLINE cudaError_t cudaMemcpyFromSymbol(void* to, const T& symbol, size_t bytes, size_t offset = 0,
                                                cudaMemcpyKind = cudaMemcpyDeviceToHost) {
  return ob_twin_copy_symbol(to, const_cast<const void*>(static_cast<const volatile void*>(&symbol)), bytes, sizeof(T),
                             offset, 0);
}
template <class T>
OB_TWIN_INLINE cudaError_t cudaMemcpyFromSymbolAsync(void* to, const T& symbol, size_t bytes, size_t offset,
                                                     cudaMemcpyKind kind, cudaStream_t = nullptr) {
  return cudaMemcpyFromSymbol(to, symbol, bytes, offset, kind);
}
template <class T>
OB_TWIN_INLINE cudaError_t cudaGetSymbolAddress(void** address, const T& symbol) {
  *address = const_cast<void*>(static_cast<const volatile void*>(&symbol));
  ob_twin_ask_for_symbol(*address);
  return cudaSuccess;
}
template <class Pointer, class T>
OB_TWIN_INLINE cudaError_t cudaGetSymbolAddress(Pointer** address, const T& symbol) {
  return cudaGetSymbolAddress((void**)address, symbol);
}
template <class T>
OB_TWIN_INLINE cudaError_t cudaGetSymbolSize(size_t* bytes, const T&) {
  *bytes = sizeof(T);
  return cudaSuccess;
}

// Kernels ------------------------------------------------------------------------------------------------------------

namespace opbridge_twin {

// A value of a type that may have no constructor to call.
template <class T>
struct Anything {
  alignas(T) unsigned char bytes[sizeof(T)];
};

// Which kernel a function is.  It is called for the answer, with arguments that nobody looks at.
template <class... Parameters>
const ob_twin_kernel* kernel_of(void (*function)(Parameters...)) {
  if (function == nullptr) return nullptr;
  std::tuple<Anything<std::decay_t<Parameters>>...> blank{};
  ob_twin_ask_kernel();
  std::apply([&](auto&... each) { function(reinterpret_cast<std::decay_t<Parameters>&>(each)...); }, blank);
  return ob_twin_asked_kernel();
}

// The same of one whose type has been lost: it looks at none of the arguments that it is given, but copies them.
inline const ob_twin_kernel* kernel_of(const void* function) {
  constexpr std::size_t kMostBytes = 4096;
  using Any = void (*)(long, long, long, long, long, long, Anything<unsigned char[kMostBytes]>);
  if (function == nullptr) return nullptr;
  ob_twin_ask_kernel();
  reinterpret_cast<Any>(const_cast<void*>(function))(0, 0, 0, 0, 0, 0, {});
  return ob_twin_asked_kernel();
}

template <class... Parameters, std::size_t... I>
void call(void (*function)(Parameters...), void** arguments, std::index_sequence<I...>) {
  function(*static_cast<std::decay_t<Parameters>*>(arguments[I])...);
}

template <class... Parameters>
cudaError_t launch_by_pointer(void (*function)(Parameters...), dim3 grid, dim3 block, void** arguments,
                              size_t shared_bytes, cudaStream_t stream, bool cooperative) {
  if (function == nullptr) return cudaErrorInvalidDeviceFunction;
  ob_twin_configure(plain(grid), plain(block), shared_bytes, stream, cooperative);
  call(function, arguments, std::index_sequence_for<Parameters...>());
  return cudaPeekAtLastError();
}

// A kernel of which a program keeps nothing but the address, and who calls it with its arguments.
struct LostKernel {
  const void* function;
  void (*call)(const void*, void**);
  LostKernel* next;
};
inline LostKernel* lost_kernels = nullptr;

inline const LostKernel* lost_kernel(const void* function) {
  const LostKernel* kernel = __atomic_load_n(&lost_kernels, __ATOMIC_ACQUIRE);
  while (kernel != nullptr && kernel->function != function) kernel = kernel->next;
  return kernel;
}

template <class... P>
void call_lost(const void* function, void** arguments) {
  call(reinterpret_cast<void (*)(P...)>(const_cast<void*>(function)), arguments, std::index_sequence_for<P...>());
}

// What the rewriting puts for the cast in `(void*)kernel`.
struct LosingType {
  template <class... P>
  void* operator->*(void (*function)(P...)) const {
    void* const address = reinterpret_cast<void*>(function);
    if (address == nullptr || lost_kernel(address) != nullptr) return address;
    auto* const kernel = new LostKernel{address, call_lost<P...>, __atomic_load_n(&lost_kernels, __ATOMIC_RELAXED)};
    while (
        !__atomic_compare_exchange_n(&lost_kernels, &kernel->next, kernel, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
    }
    return address;
  }
  // Something else that has the name of a kernel.
  template <class T, class = std::enable_if_t<!std::is_function<std::remove_reference_t<T>>::value>>
  void* operator->*(T&& value) const {
    return (void*)value;
  }
};
inline constexpr LosingType losing_type{};

inline cudaError_t launch_lost(const void* function, dim3 grid, dim3 block, void** arguments, size_t shared_bytes,
                               cudaStream_t stream, bool cooperative) {
  const LostKernel* const kernel = lost_kernel(function);
  if (kernel == nullptr) return cudaErrorInvalidDeviceFunction;
  ob_twin_configure(plain(grid), plain(block), shared_bytes, stream, cooperative);
  kernel->call(function, arguments);
  return cudaPeekAtLastError();
}

}  // namespace opbridge_twin

template <class... P>
OB_TWIN_INLINE cudaError_t cudaLaunchKernel(void (*function)(P...), dim3 grid, dim3 block, void** arguments,
                                            size_t shared_bytes = 0, cudaStream_t stream = nullptr) {
  return opbridge_twin::launch_by_pointer(function, grid, block, arguments, shared_bytes, stream, false);
}
template <class... P>
OB_TWIN_INLINE cudaError_t cudaLaunchCooperativeKernel(void (*function)(P...), dim3 grid, dim3 block, void** arguments,
                                                       size_t shared_bytes = 0, cudaStream_t stream = nullptr) {
  return opbridge_twin::launch_by_pointer(function, grid, block, arguments, shared_bytes, stream, true);
}

OB_TWIN_INLINE cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments,
                                            size_t shared_bytes = 0, cudaStream_t stream = nullptr) {
  return opbridge_twin::launch_lost(function, grid, block, arguments, shared_bytes, stream, false);
}
OB_TWIN_INLINE cudaError_t cudaLaunchCooperativeKernel(const void* function, dim3 grid, dim3 block, void** arguments,
                                                       size_t shared_bytes = 0, cudaStream_t stream = nullptr) {
  return opbridge_twin::launch_lost(function, grid, block, arguments, shared_bytes, stream, true);
}

inline cudaError_t ob_twin_configure_with(const cudaLaunchConfig_t& how) {
  bool cooperative = false;
  for (unsigned i = 0; i < how.numAttrs; ++i) {
    const cudaLaunchAttributeValue& value = how.attrs[i].val;
    if (how.attrs[i].id == cudaLaunchAttributeCooperative) cooperative = value.cooperative != 0;
    const bool says_cluster = how.attrs[i].id == cudaLaunchAttributeClusterDimension ||
                              how.attrs[i].id == cudaLaunchAttributePreferredClusterDimension;
    const bool in_clusters = says_cluster && value.clusterDim.x * value.clusterDim.y * value.clusterDim.z > 1;
    if (in_clusters) return cudaErrorNotSupported;
  }
  ob_twin_configure(opbridge_twin::plain(how.gridDim), opbridge_twin::plain(how.blockDim), how.dynamicSmemBytes,
                    how.stream, cooperative);
  return cudaSuccess;
}
template <class... P, class... Arguments>
OB_TWIN_INLINE cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* how, void (*function)(P...),
                                              Arguments&&... arguments) {
  if (how == nullptr || function == nullptr) return cudaErrorInvalidValue;
  if (const cudaError_t error = ob_twin_configure_with(*how)) return error;
  function(static_cast<Arguments&&>(arguments)...);
  return cudaPeekAtLastError();
}
template <class... P>
OB_TWIN_INLINE cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* how, void (*function)(P...),
                                               void** arguments) {
  if (how == nullptr || function == nullptr) return cudaErrorInvalidValue;
  if (const cudaError_t error = ob_twin_configure_with(*how)) return error;
  opbridge_twin::call(function, arguments, std::index_sequence_for<P...>());
  return cudaPeekAtLastError();
}
OB_TWIN_INLINE cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* how, const void* function, void** arguments) {
  const opbridge_twin::LostKernel* const kernel = opbridge_twin::lost_kernel(function);
  if (how == nullptr || kernel == nullptr) return cudaErrorInvalidDeviceFunction;
  if (const cudaError_t error = ob_twin_configure_with(*how)) return error;
  kernel->call(function, arguments);
  return cudaPeekAtLastError();
}
// There are none.
template <class Function>
OB_TWIN_INLINE cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, Function, const cudaLaunchConfig_t*) {
  *clusters = 0;
  return cudaSuccess;
}

// Kernels in graphs ---------------------------------------------------------------------------------------------------

namespace opbridge_twin {

// A kernel of any type, and who calls it with its arguments.  The rewriting takes the cast to void* from before it.
class KernelOfGraph {
 public:
  KernelOfGraph() = default;
  KernelOfGraph(std::nullptr_t) {}
  template <class... P>
  KernelOfGraph(void (*function)(P...)) : address_(reinterpret_cast<void*>(function)), call_(call_it<P...>) {}
  explicit operator bool() const { return call_ != nullptr; }
  operator void*() const { return address_; }
  void operator()(void** arguments) const { call_(address_, arguments); }

 private:
  template <class... P>
  static void call_it(void* function, void** arguments) {
    call(reinterpret_cast<void (*)(P...)>(function), arguments, std::index_sequence_for<P...>());
  }
  void* address_ = nullptr;
  void (*call_)(void*, void**) = nullptr;
};

}  // namespace opbridge_twin

struct cudaKernelNodeParams {
  opbridge_twin::KernelOfGraph func;
  dim3 gridDim;
  dim3 blockDim;
  unsigned sharedMemBytes;
  void** kernelParams;
  void** extra;
};

inline cudaError_t ob_twin_kernel_of_node(const cudaKernelNodeParams* how) {
  if (how == nullptr || !how->func || how->kernelParams == nullptr) return cudaErrorInvalidValue;
  ob_twin_configure(opbridge_twin::plain(how->gridDim), opbridge_twin::plain(how->blockDim), how->sharedMemBytes,
                    ob_twin_node_begins(), false);
  how->func(how->kernelParams);
  return cudaSuccess;
}
OB_TWIN_INLINE cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                                  const cudaGraphNode_t* before, size_t count,
                                                  const cudaKernelNodeParams* how) {
  const cudaError_t error = ob_twin_kernel_of_node(how);
  return error != cudaSuccess ? error : ob_twin_node_added(node, graph, before, count);
}
OB_TWIN_INLINE cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                            const cudaKernelNodeParams* how) {
  const cudaError_t error = ob_twin_kernel_of_node(how);
  return error != cudaSuccess ? error : ob_twin_node_replaced(exec, node);
}
OB_TWIN_INLINE cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node, const cudaKernelNodeParams* how) {
  return cudaGraphExecKernelNodeSetParams(nullptr, node, how);
}

template <class... P>
OB_TWIN_INLINE cudaError_t cudaFuncSetAttribute(void (*function)(P...), cudaFuncAttribute attribute, int value) {
  return ob_twin_function_set(opbridge_twin::kernel_of(function), attribute, value);
}
OB_TWIN_INLINE cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute attribute, int value) {
  return ob_twin_function_set(opbridge_twin::kernel_of(function), attribute, value);
}
template <class... P>
OB_TWIN_INLINE cudaError_t cudaFuncSetCacheConfig(void (*)(P...), cudaFuncCache) {
  return cudaSuccess;
}
template <class... P>
OB_TWIN_INLINE cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, void (*function)(P...)) {
  return ob_twin_function_get(attributes, opbridge_twin::kernel_of(function));
}
OB_TWIN_INLINE cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* function) {
  return ob_twin_function_get(attributes, opbridge_twin::kernel_of(function));
}
OB_TWIN_INLINE cudaError_t cudaFuncSetCacheConfig(const void*, cudaFuncCache) { return cudaSuccess; }
template <class... P>
OB_TWIN_INLINE cudaError_t cudaFuncSetSharedMemConfig(void (*)(P...), cudaSharedMemConfig) {
  return cudaSuccess;
}
OB_TWIN_INLINE cudaError_t cudaFuncSetSharedMemConfig(const void*, cudaSharedMemConfig) { return cudaSuccess; }
template <class... P>
OB_TWIN_INLINE cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void (*function)(P...),
                                                                         int block_threads, size_t shared_bytes) {
  return ob_twin_occupancy(blocks, opbridge_twin::kernel_of(function), block_threads, shared_bytes);
}
OB_TWIN_INLINE cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function,
                                                                         int block_threads, size_t shared_bytes) {
  return ob_twin_occupancy(blocks, opbridge_twin::kernel_of(function), block_threads, shared_bytes);
}
template <class... P>
OB_TWIN_INLINE cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, void (*function)(P...),
                                                                                  int block_threads,
                                                                                  size_t shared_bytes, unsigned) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, block_threads, shared_bytes);
}
template <class SharedBytes, class... P>
OB_TWIN_INLINE cudaError_t cudaOccupancyMaxPotentialBlockSizeVariableSMem(int* least_grid, int* block_threads,
                                                                          void (*function)(P...),
                                                                          SharedBytes shared_bytes, int limit = 0) {
  int best = 0;
  for (int threads = 32; threads <= (limit > 0 ? std::min(limit, 1024) : 1024); threads += 32) {
    int blocks = 0;
    const cudaError_t error =
        cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, threads, shared_bytes(threads));
    if (error != cudaSuccess) return error;
    if (blocks * threads < best) continue;
    best = blocks * threads;
    *block_threads = threads;
    *least_grid = blocks;
  }
  int processors = 0;
  const cudaError_t error = cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0);
  *least_grid *= processors;
  return error;
}
template <class... P>
OB_TWIN_INLINE cudaError_t cudaOccupancyMaxPotentialBlockSize(int* least_grid, int* block_threads,
                                                              void (*function)(P...), size_t shared_bytes = 0,
                                                              int limit = 0) {
  return cudaOccupancyMaxPotentialBlockSizeVariableSMem(
      least_grid, block_threads, function, [shared_bytes](int) { return shared_bytes; }, limit);
}

#endif
