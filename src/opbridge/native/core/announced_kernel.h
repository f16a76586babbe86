// Kernels whose library is a twin's: called by way of its runtime, which lends them the call's tensors as memory of the
// device, and tells what it has found.
#pragma once

#include <string>

#include "../aot_kernel.h"

namespace opbridge {

// Null where the library belongs to no twin.  `aot` is how the kernel takes its attributes, null for the plain C call.
AotKernel* announced_kernel(void* library, const std::string& symbol, ob_kernel function, AotKernel* aot);

}  // namespace opbridge
