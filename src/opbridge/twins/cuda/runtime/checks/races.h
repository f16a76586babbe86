// Accesses that race with an earlier one, and what is said of them.
#ifndef OPBRIDGE_TWIN_CHECKS_RACES_H
#define OPBRIDGE_TWIN_CHECKS_RACES_H

#include <stddef.h>
#include <stdint.h>

#include <optional>
#include <string>

#include "state.h"

namespace opbridge_twin::checks {

// An access as the code has it; what is judged at a time is a part of it, of at most four bytes.
struct Touch {
  uintptr_t address;
  size_t bytes;
  Access access;
  const void* at;
  bool shared;
};

std::string in_words(const Touch& touch);
std::string where_it_lies(const Touch& touch);

// `other_block` is unknown if several threads read and the one in `last` does not conflict, or if it belongs to another
// stream.
void report_race(const Touch& touch, Cell last, std::optional<uint64_t> other_block);

// Notes that are not failures: a value passed by volatile, and one used without a fence after the atomic that announces
// it.
void note_volatile(const Touch& touch, Cell last, uint64_t other_block);
void note_missing_fence(const Touch& touch, Cell last, uint64_t other_block);

// A write that is about to race with another write.  Where it leaves the bytes as it found them, both wrote the same
// value, and that is a note: so they are looked at again before anybody else can have written them.
void suspect(const Touch& touch, uintptr_t address, size_t bytes, Cell last, std::optional<uint64_t> other_block);

}  // namespace opbridge_twin::checks

#endif  // OPBRIDGE_TWIN_CHECKS_RACES_H
