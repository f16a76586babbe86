// The GPU that the twin claims to be: compute capability 8.0, with eight multiprocessors.
#ifndef OPBRIDGE_TWIN_RUNTIME_CUDART_DEVICE_H
#define OPBRIDGE_TWIN_RUNTIME_CUDART_DEVICE_H

#include <stddef.h>

#include "engine/block.h"

namespace opbridge_twin {

constexpr int kComputeMajor = 8, kComputeMinor = 0;  // the compute capability
constexpr unsigned kMostGridX = 2147483647;
constexpr unsigned kMostGridYZ = 65535;
constexpr unsigned kMostBlockZ = 64;
constexpr unsigned kMultiprocessors = 8;
constexpr unsigned kThreadsPerMultiprocessor = 2048;
constexpr unsigned kBlocksPerMultiprocessor = 32;
constexpr size_t kSharedPerMultiprocessor = size_t{164} << 10;
constexpr size_t kSharedReserved = 1024;  // of each block, by the system

// What the function was allowed by cudaFuncSetAttribute.
size_t dynamic_shared_limit(const ob_twin_kernel* kernel);
unsigned blocks_per_multiprocessor(unsigned threads, size_t shared_bytes);

}  // namespace opbridge_twin
#endif
