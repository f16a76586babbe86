#include "names.h"

#include <stdio.h>

namespace opbridge_ascend {

std::string name_of(int pipe) {
  static constexpr const char* names[] = {"S", "V", "M", "MTE1", "MTE2", "MTE3", "FIX"};
  return names[pipe];
}

std::string name_of(AscendC::TPosition position) {
  switch (position) {
    case AscendC::TPosition::VECIN:
      return "VECIN";
    case AscendC::TPosition::VECOUT:
      return "VECOUT";
    default:
      return "VECCALC";
  }
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
