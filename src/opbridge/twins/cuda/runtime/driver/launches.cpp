// The driver API's launches and what else is asked of kernels.
#include <algorithm>
#include <vector>

#include "cudart/device.h"
#include "driver.h"
#include "modules.h"

namespace opbridge_twin {

namespace {

size_t packed_bytes(const ob_twin_function& function) {
  if (function.count == 0) return 0;
  const ob_twin_parameter& last_one = function.parameters[function.count - 1];
  return last_one.offset + last_one.bytes;
}

std::vector<void*> pointers_into(const ob_twin_function& function, char* packed) {
  std::vector<void*> pointers(function.count);
  for (size_t i = 0; i < function.count; ++i) pointers[i] = packed + function.parameters[i].offset;
  return pointers;
}

// A kernel says which it is when it is called, and looks at no argument for that.
const ob_twin_kernel* kernel_of(const CUfunc_st& called) {
  std::vector<double> blank(packed_bytes(called.function) / sizeof(double) + 1);
  std::vector<void*> pointers = pointers_into(called.function, reinterpret_cast<char*>(blank.data()));
  ob_twin_ask_kernel();
  called.function.call(called.address, pointers.data());
  return ob_twin_asked_kernel();
}

// What `extra` says: pairs of a word and a value, up to the one that says that they end.
struct Packed {
  char* begin = nullptr;
  size_t bytes = 0;
};
Packed packed_of(void** extra) {
  Packed result;
  for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
    if (extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER) result.begin = static_cast<char*>(extra[1]);
    if (extra[0] == CU_LAUNCH_PARAM_BUFFER_SIZE) result.bytes = *static_cast<const size_t*>(extra[1]);
  }
  return result;
}

struct How {
  ob_twin_dim grid, block;
  size_t shared_bytes;
  CUstream stream;
  bool cooperative;
};

CUresult launch(CUfunction called, const How& how, void** arguments, void** extra) {
  if (!is_known(called)) return CUDA_ERROR_INVALID_HANDLE;
  const ob_twin_function& function = called->function;
  std::vector<void*> pointers;
  if (extra != nullptr) {
    const Packed packed = packed_of(extra);
    const bool is_short = packed.bytes < packed_bytes(function);
    if (arguments != nullptr || packed.begin == nullptr || is_short) return CUDA_ERROR_INVALID_VALUE;
    pointers = pointers_into(function, packed.begin);
    arguments = pointers.data();
  }
  if (arguments == nullptr && function.count > 0) return CUDA_ERROR_INVALID_VALUE;
  if (poisoned() != cudaSuccess) return result_of(poisoned());
  ob_twin_configure(how.grid, how.block, how.shared_bytes, how.stream, how.cooperative ? 1 : 0);
  function.call(called->address, arguments);
  // What a kernel does wrong the next call tells, as on a GPU.
  return poisoned() != cudaSuccess ? CUDA_SUCCESS : result_of(cudaPeekAtLastError());
}

CUresult attribute_of(int* value, CUfunction_attribute attribute, const CUfunc_st& called) {
  cudaFuncAttributes known;
  if (const cudaError_t error = ob_twin_function_get(&known, kernel_of(called))) return result_of(error);
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      *value = known.maxThreadsPerBlock;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
      *value = static_cast<int>(known.sharedSizeBytes);
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
      *value = static_cast<int>(known.constSizeBytes);
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
      *value = static_cast<int>(known.localSizeBytes);
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
      *value = known.numRegs;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
      *value = known.ptxVersion;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
      *value = known.binaryVersion;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA:
      *value = known.cacheModeCA;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      *value = known.maxDynamicSharedSizeBytes;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      *value = known.preferredShmemCarveout;
      return CUDA_SUCCESS;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

// The threads of a block by which most of a multiprocessor is in use.
CUresult best_block(int* least_grid, int* block_threads, CUoccupancyB2DSize shared_bytes_of, size_t shared_bytes,
                    int limit) {
  unsigned best = 0;
  for (int threads = 32; threads <= (limit > 0 ? std::min(limit, 1024) : 1024); threads += 32) {
    const size_t bytes = shared_bytes_of != nullptr ? shared_bytes_of(threads) : shared_bytes;
    const unsigned blocks = blocks_per_multiprocessor(static_cast<unsigned>(threads), bytes);
    if (blocks * static_cast<unsigned>(threads) < best) continue;
    best = blocks * static_cast<unsigned>(threads);
    *block_threads = threads;
    *least_grid = static_cast<int>(blocks);
  }
  int processors = 0;
  const cudaError_t error = cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0);
  *least_grid *= processors;
  return result_of(error);
}

}  // namespace

}  // namespace opbridge_twin

using namespace opbridge_twin;

// At the start of what is asked of a kernel.
#define OF_KERNEL(function, pointer)                         \
  OB_TWIN_DRIVER_CALL();                                     \
  if ((pointer) == nullptr) return CUDA_ERROR_INVALID_VALUE; \
  if (!is_known(function)) return CUDA_ERROR_INVALID_HANDLE

CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                        unsigned block_y, unsigned block_z, unsigned shared_bytes, CUstream stream, void** arguments,
                        void** extra) {
  OB_TWIN_DRIVER_CALL();
  const How how{{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes, stream, false};
  return launch(function, how, arguments, extra);
}
CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                                   CUstream stream, void** arguments) {
  OB_TWIN_DRIVER_CALL();
  const How how{{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes, stream, true};
  return launch(function, how, arguments, nullptr);
}

CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction function) {
  OF_KERNEL(function, value);
  return attribute_of(value, attribute, *function);
}
CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) {
  OF_KERNEL(function, function);
  return result_of(ob_twin_function_set(kernel_of(*function), static_cast<cudaFuncAttribute>(attribute), value));
}
CUresult cuFuncSetCacheConfig(CUfunction function, CUfunc_cache) {
  OF_KERNEL(function, function);
  return CUDA_SUCCESS;
}
CUresult cuFuncSetSharedMemConfig(CUfunction function, CUsharedconfig) {
  OF_KERNEL(function, function);
  return CUDA_SUCCESS;
}
CUresult cuFuncGetModule(CUmodule* module, CUfunction function) {
  OF_KERNEL(function, module);
  *module = function->module;
  return CUDA_SUCCESS;
}
CUresult cuFuncGetName(const char** name, CUfunction function) {
  OF_KERNEL(function, name);
  *name = function->name.c_str();
  return CUDA_SUCCESS;
}
CUresult cuFuncGetParamInfo(CUfunction function, size_t index, size_t* offset, size_t* bytes) {
  OF_KERNEL(function, offset);
  if (index >= function->function.count) return CUDA_ERROR_INVALID_VALUE;
  const ob_twin_parameter& parameter = function->function.parameters[index];
  *offset = parameter.offset;
  if (bytes != nullptr) *bytes = parameter.bytes;
  return CUDA_SUCCESS;
}
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction function, int block_threads,
                                                     size_t shared_bytes) {
  OF_KERNEL(function, blocks);
  return result_of(ob_twin_occupancy(blocks, kernel_of(*function), block_threads, shared_bytes));
}
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, CUfunction function, int block_threads,
                                                              size_t shared_bytes, unsigned) {
  return cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, block_threads, shared_bytes);
}
CUresult cuOccupancyMaxPotentialBlockSize(int* least_grid, int* block_threads, CUfunction function,
                                          CUoccupancyB2DSize shared_bytes_of, size_t shared_bytes, int limit) {
  OF_KERNEL(function, least_grid);
  if (block_threads == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return best_block(least_grid, block_threads, shared_bytes_of, shared_bytes, limit);
}
