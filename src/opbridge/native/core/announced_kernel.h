// Kernels in a twin library.  They are called through the twin's runtime, which maps the call's tensors as device
// memory and reports its findings.
#ifndef OPBRIDGE_NATIVE_CORE_ANNOUNCED_KERNEL_H
#define OPBRIDGE_NATIVE_CORE_ANNOUNCED_KERNEL_H

#include <string>

#include "../aot_kernel.h"

namespace opbridge {

// Null where the library belongs to no twin.  `aot` is how the kernel takes its attributes, null for the plain C call.
AotKernel* announced_kernel(void* library, const std::string& symbol, ob_kernel function, AotKernel* aot);

}  // namespace opbridge

#endif
