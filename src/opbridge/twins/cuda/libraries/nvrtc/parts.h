// Parts of bytes, each after its length, as twins/cuda/nvcc/nvrtc.py reads and writes them.
#ifndef OPBRIDGE_TWIN_LIBRARIES_NVRTC_PARTS_H
#define OPBRIDGE_TWIN_LIBRARIES_NVRTC_PARTS_H

#include <stdint.h>
#include <string.h>

#include <string>
#include <vector>

namespace opbridge_twin {

inline void add_part(std::string& to, const std::string& part) {
  const uint64_t length = part.size();
  to.append(reinterpret_cast<const char*>(&length), sizeof length);
  to += part;
}

inline void add_parts(std::string& to, const std::vector<std::string>& parts) {
  add_part(to, std::to_string(parts.size()));
  for (const std::string& part : parts) add_part(to, part);
}

// Those that are whole.
inline std::vector<std::string> parts_of(const std::string& text) {
  std::vector<std::string> parts;
  for (size_t at = 0; at + sizeof(uint64_t) <= text.size();) {
    uint64_t length;
    memcpy(&length, text.data() + at, sizeof length);
    at += sizeof length;
    if (length > text.size() - at) break;
    parts.push_back(text.substr(at, length));
    at += length;
  }
  return parts;
}

}  // namespace opbridge_twin
#endif
