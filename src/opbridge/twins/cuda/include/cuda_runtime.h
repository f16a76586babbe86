// CUDA C++ on the CPU: what a source for nvcc finds without including anything, and what <cuda_runtime.h> declares.
#ifndef OPBRIDGE_TWIN_CUDA_RUNTIME_H
#define OPBRIDGE_TWIN_CUDA_RUNTIME_H
#define __CUDA_RUNTIME_H__  // how programs ask whether it is included

#ifndef CCCL_DISABLE_NVTX
#define CCCL_DISABLE_NVTX  // CUB tells profilers what it does, by a header that is not installed with it
#endif

#include <assert.h>
#include <cuda_runtime_api.h>
#include <float.h>
#include <limits.h>
#include <math.h>
#include <opbridge_twin/aot.h>
#include <opbridge_twin/atomic.h>
#include <opbridge_twin/atomic_builtins.h>
#include <opbridge_twin/block.h>
#include <opbridge_twin/dpx.h>
#include <opbridge_twin/image.h>
#include <opbridge_twin/intrinsics.h>
#include <opbridge_twin/local.h>
#include <opbridge_twin/math.h>
#include <opbridge_twin/memory.h>
#include <opbridge_twin/memory_builtins.h>
#include <opbridge_twin/packed.h>
#include <opbridge_twin/phases.h>
#include <opbridge_twin/ptx.h>
#include <opbridge_twin/qualifiers.h>
#include <opbridge_twin/refused.h>
#include <opbridge_twin/runtime_templates.h>
#include <opbridge_twin/targets.h>
#include <opbridge_twin/textures.h>
#include <opbridge_twin/thread.h>
#include <opbridge_twin/warp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <vector_functions.h>

#endif
