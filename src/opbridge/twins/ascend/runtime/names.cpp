#include "names.h"

#include <stdio.h>

namespace opbridge_ascend {

std::string name_of(int pipe) {
  static constexpr const char* names[] = {"S", "V", "M", "MTE1", "MTE2", "MTE3", "FIX"};
  return names[pipe];
}

std::string name_of(AscendC::TPosition position) {
  static constexpr const char* names[] = {"GM",  "A1",    "A2",     "B1",      "B2",  "C1",  "C2",  "CO1",
                                          "CO2", "VECIN", "VECOUT", "VECCALC", "LCM", "SPM", "TSCM"};
  return names[static_cast<int>(position)];
}

std::string name_of(Space space) {
  static constexpr const char* names[] = {"the unified buffer", "L1", "L0A", "L0B", "L0C", "the bias table"};
  return names[static_cast<int>(space)];
}

std::string event_name(int from, int to) { return name_of(from) + "_" + name_of(to); }
std::string event_name(int from, int to, int id) { return event_name(from, to) + ", id " + std::to_string(id); }

std::string described(const Site& site) {
  return text_of(site.place) + ", " + site.name + " on PIPE_" + name_of(site.pipe);
}

std::string hexadecimal(uint64_t number) {
  char text[16 + 1];
  snprintf(text, sizeof text, "%llx", static_cast<unsigned long long>(number));
  return text;
}

}  // namespace opbridge_ascend
