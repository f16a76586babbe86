#include "soc.h"

#include <stdlib.h>
#include <string.h>

namespace opbridge_ascend {

const Soc* chosen_soc() {
  static constexpr Soc chips[] = {
      // A2; A3 is Ascend910_93.
      {"Ascend910B", 2, {192 * kKilo, 512 * kKilo, 64 * kKilo, 64 * kKilo, 128 * kKilo, 1 * kKilo}},
      {"Ascend910_93", 2, {192 * kKilo, 512 * kKilo, 64 * kKilo, 64 * kKilo, 128 * kKilo, 1 * kKilo}},
      {"Ascend310P", 1, {256 * kKilo, 1024 * kKilo, 64 * kKilo, 64 * kKilo, 256 * kKilo, 0}},
      {"Ascend950", 2, {248 * kKilo, 512 * kKilo, 64 * kKilo, 64 * kKilo, 256 * kKilo, 4 * kKilo}},
  };
  const char* const name = getenv("OPBRIDGE_ASCEND_SOC");
  if (name == nullptr || *name == '\0') return &chips[0];
  for (const Soc& chip : chips) {
    // SOC_VERSION ends with the variant: Ascend910B3, Ascend310P1.
    if (strncmp(name, chip.name, strlen(chip.name)) == 0) return &chip;
  }
  return nullptr;
}

const char* soc_names() { return "Ascend910B, Ascend910_93, Ascend310P or Ascend950"; }

}  // namespace opbridge_ascend
