// The chips whose limits the twin knows.
#ifndef OPBRIDGE_ASCEND_SOC_H
#define OPBRIDGE_ASCEND_SOC_H

#include <cstdint>

namespace opbridge_ascend {

// The memories of a core.
enum class Space : uint8_t { unified_buffer, l1, l0a, l0b, l0c, bias_table };
constexpr int kSpaces = 6;

// A chip as far as kernels can tell chips apart.
struct Soc {
  const char* name;
  uint32_t vector_cores;  // for each core with a matrix unit; 1 where that one has a vector unit itself
  uint32_t bytes[kSpaces];
};

constexpr uint32_t kKilo = 1024;
// For each memory, the size on the chip that has most of it.
constexpr uint32_t kLargest[kSpaces] = {256 * kKilo, 1024 * kKilo, 64 * kKilo, 64 * kKilo, 256 * kKilo, 4 * kKilo};

// The one that OPBRIDGE_ASCEND_SOC names, by default Ascend910B; null for a name that is none.
const Soc* chosen_soc();
// All names, for a message.
const char* soc_names();

}  // namespace opbridge_ascend
#endif
