// Kernels whose library is a twin's: called by way of its runtime, which lends them the call's tensors as memory of the
// device, and tells what it has found.
#ifndef OPBRIDGE_NATIVE_CORE_ANNOUNCED_KERNEL_H
#define OPBRIDGE_NATIVE_CORE_ANNOUNCED_KERNEL_H

#include <string>

#include "../aot_kernel.h"

namespace opbridge {

// Null where the library belongs to no twin.  `aot` is how the kernel takes its attributes, null for the plain C call.
AotKernel* announced_kernel(void* library, const std::string& symbol, ob_kernel function, AotKernel* aot);

}  // namespace opbridge

#endif
