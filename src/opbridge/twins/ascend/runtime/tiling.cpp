// Compares the tiling struct that the host has written with the one that the kernel reads.
#include <opbridge_ascend/launch.h>
#include <string.h>

#include <map>
#include <mutex>
#include <vector>

#include "block.h"
#include "memory.h"

namespace opbridge_ascend {
namespace {

// Tiling data that hosts have filled, by address.
struct Written {
  std::mutex mutex;
  std::map<const void*, std::vector<uint8_t>> by_begin;
};

// Never destroyed: a host may start kernels when it exits.
Written& written() {
  static Written& state = *new Written;
  return state;
}

// Returns the size of the struct that the host has written there; zero if none, or if it was overwritten.
size_t size_by_host(const void* memory, uint64_t readable) {
  Written& state = written();
  const std::lock_guard<std::mutex> lock(state.mutex);
  const auto found = state.by_begin.find(memory);
  if (found == state.by_begin.end()) return 0;
  const std::vector<uint8_t>& bytes = found->second;
  if (bytes.size() > readable || memcmp(memory, bytes.data(), bytes.size()) != 0) return 0;
  return bytes.size();
}

}  // namespace

void check_tiling(const void* memory, size_t bytes, Place at) {
  Block& block = Block::current();
  const auto mismatch = [&](uint64_t given, const char* by) {
    block.fail(Kind::tiling_mismatch, "the kernel's struct has " + std::to_string(bytes) + " bytes",
               text_of(at) + ", GET_TILING_DATA", {{"memory", std::to_string(given) + by}});
  };
  const Allocation whole = allocation_of(memory);
  if (whole.bytes == 0) return;
  const uint64_t rest = whole.bytes - static_cast<uint64_t>(static_cast<const uint8_t*>(memory) - whole.begin);
  if (rest < bytes) mismatch(rest, " bytes are there for it");
  const size_t given = size_by_host(memory, rest);
  if (given != 0 && given != bytes) mismatch(given, " bytes has the struct that the host's SaveToBuffer wrote there");
}

}  // namespace opbridge_ascend

void ob_ascend_note_tiling(const void* begin, uint64_t bytes) {
  // Only of memory that is known: of any other nobody says when it is freed.
  if (opbridge_ascend::allocation_of(begin).bytes < bytes) return;
  opbridge_ascend::Written& state = opbridge_ascend::written();
  const auto* const first = static_cast<const uint8_t*>(begin);
  const std::lock_guard<std::mutex> lock(state.mutex);
  state.by_begin[begin].assign(first, first + bytes);
}
