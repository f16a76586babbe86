// Finds the elements of its outputs that a kernel does not write.
//
// A kernel that does not describe itself (a bare aot function, an attribute block, tvm-ffi) may expect other element
// types or ranks than it is given.  MindSpore's call has no way to refuse: the kernel then leaves
// a part of its outputs as it was, which is garbage.  The first call of each kind fills the outputs with a pattern and
// looks for it afterwards.  Later calls of that kind compare one number.
#ifndef OPBRIDGE_UNWRITTEN_H
#define OPBRIDGE_UNWRITTEN_H

#include <opbridge/dtype.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <string>
#include <vector>

namespace opbridge {

inline size_t element_bytes(int32_t dtype) { return static_cast<size_t>(ob::detail::dtype_sizes[dtype]); }

// A well-distributed number for each position: finalizer of splitmix64 (Steele et al., OOPSLA 2014).
inline uint64_t scrambled(uint64_t x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

// The kinds of calls that were checked: element types, ranks and orders of magnitude.  When the table is full, every
// call of a kind that is not in it counts as known.
class KnownKinds {
 public:
  // Adds `kind`, and returns whether it was new.
  bool is_new(uint64_t kind) {
    for (std::atomic<uint64_t>& known : known_) {
      uint64_t value = known.load(std::memory_order_relaxed);
      if (value == kind) return false;
      if (value == 0 && known.compare_exchange_strong(value, kind, std::memory_order_relaxed)) return true;
      if (value == kind) return false;
    }
    return false;
  }

 private:
  std::array<std::atomic<uint64_t>, 32> known_{};
};

// One output while its kernel runs.
class WatchedOutput {
 public:
  WatchedOutput(void* data, int64_t count, size_t element)
      : data_(static_cast<unsigned char*>(data)), count_(count), element_(element) {
    for (size_t i = 0; i < bytes(); i += kWord) {
      const uint64_t word = scrambled(i);
      std::memcpy(data_ + i, &word, std::min(kWord, bytes() - i));
    }
  }

  // Returns the number of elements that still hold the pattern, and the first of them.  The pattern has 64 bits per
  // word, so accidental matches are negligible; single elements of 4 bytes are compared in small outputs only.
  int64_t unwritten(int64_t& first) const {
    const size_t step = element_ < 4 || count_ > kFew ? std::max(element_, kWord) : element_;
    int64_t found = 0;
    for (size_t i = 0; i < bytes(); i += step) {
      const size_t here = std::min(step, bytes() - i);
      if (here < 4 || !holds_pattern(i, here)) continue;
      if (found == 0) first = static_cast<int64_t>(i / element_);
      found += static_cast<int64_t>(here / element_);
    }
    return found;
  }

 private:
  static constexpr size_t kWord = 8;
  static constexpr int64_t kFew = 4096;

  size_t bytes() const { return static_cast<size_t>(count_) * element_; }

  bool holds_pattern(size_t begin, size_t size) const {
    for (size_t i = begin; i < begin + size; ++i) {
      const uint64_t word = scrambled(i / kWord * kWord);
      if (data_[i] != reinterpret_cast<const unsigned char*>(&word)[i % kWord]) return false;
    }
    return true;
  }

  unsigned char* data_;
  int64_t count_;
  size_t element_;
};

}  // namespace opbridge

#endif
