// Which bytes of a buffer the last instruction that wrote to it has covered, and under which mask.
#ifndef OPBRIDGE_ASCEND_WRITING_H
#define OPBRIDGE_ASCEND_WRITING_H

#include <opbridge_ascend/place.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace opbridge_ascend {

// What the mask register allows an instruction that sets no mask itself.
struct MaskInForce {
  uint32_t lanes = 0, per_repeat = 0;
  Place set{nullptr, 0};  // null: nothing has set it since the block began
};

// One run of an instruction: `stretches` pieces as long as the first, if there is more than one.
struct Writing {
  uint16_t site = 0;
  size_t begin = 0, end = 0;
  size_t first = 0, step = 0;
  uint32_t stretches = 0;
  bool is_undefined = false;  // afterwards, in part or as a whole
  bool is_masked = false;
  MaskInForce mask;

  void add(size_t at, size_t bytes);
  // For reports; `by` is the instruction.
  std::vector<std::pair<std::string, std::string>> described(const std::string& by) const;
};

}  // namespace opbridge_ascend
#endif
