// Opens kernels that are written to MindSpore's attribute block.
#ifndef OPBRIDGE_NATIVE_CORE_AOT_LIBRARY_H
#define OPBRIDGE_NATIVE_CORE_AOT_LIBRARY_H

#include <string>

#include "../aot_kernel.h"

namespace opbridge {

// The functions of one kernel, as the library exports them; all but the first may be missing.
struct AotFunctions {
  ob_kernel kernel;
  void* init;
  void* infer_shape;
  void* infer_type;
};

// The kernel of this name in an opened library; asking again gives the same one.  `flags`: AotBlockFlag.
AotKernel& aot_kernel(void* library, const std::string& symbol, const AotFunctions& functions, unsigned flags);

}  // namespace opbridge

#endif
