#include "soc.h"

#include <stdlib.h>
#include <string.h>

namespace opbridge_ascend {

const Soc* chosen_soc() {
  static constexpr Soc chips[] = {
      {"Ascend910B", 192 * 1024},  // A2; A3 is Ascend910_93
      {"Ascend910_93", 192 * 1024},
      {"Ascend310P", kLargestUnifiedBuffer},
      {"Ascend950", 248 * 1024},
  };
  const char* const name = getenv("OPBRIDGE_ASCEND_SOC");
  if (name == nullptr || *name == '\0') return &chips[0];
  for (const Soc& chip : chips) {
    // SOC_VERSION has the variant behind it: Ascend910B3, Ascend310P1.
    if (strncmp(name, chip.name, strlen(chip.name)) == 0) return &chip;
  }
  return nullptr;
}

const char* soc_names() { return "Ascend910B, Ascend910_93, Ascend310P or Ascend950"; }

}  // namespace opbridge_ascend
