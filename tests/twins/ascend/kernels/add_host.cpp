// A host in another source than its kernel.
#include "aclrtlaunch_add.h"

extern "C" uint32_t add_by_macro(uint32_t blocks, void* x, void* y, void* z, int length) {
  return ACLRT_LAUNCH_KERNEL(add)(blocks, nullptr, x, y, z, length);
}
