// Whether a kernel's results depend on the number of blocks: it is run again, on the same memory, on other numbers.
#ifndef OPBRIDGE_ASCEND_RERUN_H
#define OPBRIDGE_ASCEND_RERUN_H

#include <mutex>
#include <optional>
#include <vector>

#include "launch.h"

namespace opbridge_ascend {

// What one run writes to global memory, and what was there before.
//
// Two kinds of bytes do not count as results: those that atomics change, whose last bit depends on an order, and those
// that the kernel reads after it has written them, which are its workspace.
class Writes {
 public:
  void add(const uint8_t* at, size_t bytes, Use use, const Site& site, uint32_t block);
  // Gives back to memory what was there before, or what was written.
  void undo();
  void redo();

  // Where another run, whose writes still stand in memory, has left something else than this one.
  struct Difference {
    const uint8_t* at = nullptr;
    Site site{};
    uint32_t block = 0;
  };
  Difference first_difference(const Writes& other) const;

  struct Writer {
    Site site;
    uint32_t block;
  };
  // The first that wrote a byte.
  std::optional<Writer> writer_of(const uint8_t* byte) const;

 private:
  // Memory that the first run changed, so that a second run starts from what the first one did.
  struct Piece {
    uint8_t* at;
    std::vector<uint8_t> before, after;
    Site site;
    uint32_t block;
  };

  bool is_result(const uint8_t* byte) const { return !no_result_.has(byte); }

  std::mutex mutex_;
  std::vector<Piece> pieces_;
  Stretches written_, no_result_;
};

// Runs the kernel, and once more where it races only by loads of whole blocks, to know whether anything is made of what
// they brought along; what the first run wrote stays.
std::vector<Report> run_once(const Work& work, uint32_t blocks, Writes* log, Recordings* recordings);
// Runs the kernel on `blocks` blocks, whose results stay, and then on 1 and on 2.
std::vector<Report> run_on_several(const Work& work, uint32_t blocks);

}  // namespace opbridge_ascend
#endif
