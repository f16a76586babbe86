// What blocks do, for a profile: their instructions in program order, each with what its pipe had to wait for.
#ifndef OPBRIDGE_ASCEND_RECORDING_H
#define OPBRIDGE_ASCEND_RECORDING_H

#include <cstdint>
#include <string>
#include <vector>

#include "block.h"

namespace opbridge_ascend {

// One operand in local memory, all rows of it together.
struct Operand {
  const uint8_t* tensor;
  Space space;
  bool writes;
  uint64_t bytes;
};

// One instruction; it begins when every other pipe has finished as many as its clock says, and its own all before it.
struct Step {
  uint16_t site = 0;
  Clock known{};
  uint64_t from_global = 0, to_global = 0;  // bytes
  uint32_t pieces = 0;                      // stretches of global memory
  uint32_t misaligned = 0;                  // of them, those that do not begin where the memory's banks do
  std::vector<Operand> operands;
};

// What one InitBuffer took.
struct Taken {
  AscendC::TPosition position;
  uint32_t count, bytes;  // of each
  Place place;
};

// One block while it runs.
class Recording {
 public:
  void takes(const Taken& taken) { taken_.push_back(taken); }
  void begins(uint16_t site, const Clock& known);
  // The compiler has put a wait before the instruction under way.
  void waits_for(const Clock& known);
  void touches(const uint8_t* tensor, Space space, size_t bytes, bool writes);
  // `offset` is from where the allocation begins.
  void touches_global(size_t offset, size_t bytes, bool writes);
  // `most` is what was taken of each memory at a time.
  void ends(const std::vector<Site>& sites, const uint32_t (&most)[kSpaces]);

  std::string text() const { return text_; }

 private:
  static constexpr size_t kMostSteps = 1 << 16;

  std::vector<Taken> taken_;
  std::vector<Step> steps_;
  bool is_cut_ = false;
  std::string text_;  // as JSON, once the block has ended
};

// The recordings of one launch: its first and last block.
class Recordings {
 public:
  // Null where this launch is none of those that are wanted: the first of each kernel with so many blocks, where the
  // environment asks for a profile.
  static Recordings* of(const char* kernel, uint32_t blocks, uint32_t cores_per_block, Cores kind);

  Recordings(std::string head, uint32_t cores) : head_(std::move(head)), last_(cores - 1) {}
  Recording* of_block(uint32_t index) {
    return index == 0 ? &recordings_[0] : index == last_ ? &recordings_[1] : nullptr;
  }
  std::string text() const;

  uint64_t launches = 1;

 private:
  const std::string head_;  // the fields of the launch, as JSON
  const uint32_t last_;
  Recording recordings_[2];
};

}  // namespace opbridge_ascend
#endif
