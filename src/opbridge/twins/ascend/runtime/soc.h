// The chips whose limits the twin knows.
#ifndef OPBRIDGE_ASCEND_SOC_H
#define OPBRIDGE_ASCEND_SOC_H

#include <cstdint>

namespace opbridge_ascend {

struct Soc {
  const char* name;
  uint32_t unified_buffer;
};

constexpr uint32_t kLargestUnifiedBuffer = 256 * 1024;

// The one that OPBRIDGE_ASCEND_SOC names, by default Ascend910B; null for a name that is none.
const Soc* chosen_soc();
// All names, for a message.
const char* soc_names();

}  // namespace opbridge_ascend
#endif
