#include "surroundings.h"

#include <link.h>
#include <opbridge_twin/runtime.h>

#include <algorithm>
#include <functional>

#include "describe.h"
#include "heap.h"
#include "shadow.h"

namespace opbridge_twin::checks {

bool SharedArena::begin_block(Range arena, uint64_t launch) {
  declared_ = 0;
  if (arena.begin == arena_.begin && launch == launch_) return true;
  if (!cover(arena.begin, arena.bytes)) return false;
  arena_ = arena;
  launch_ = launch;
  variables_.clear();
  clear_cells(arena.begin, arena.bytes);
  return true;
}

void SharedArena::variable(Range range, const char* name) {
  const bool is_known = declared_ < variables_.size() && variables_[declared_].range.begin == range.begin &&
                        variables_[declared_].range.bytes == range.bytes;
  if (!is_known) {
    for (size_t i = declared_; i < variables_.size(); ++i) {
      clear_cells(variables_[i].range.begin, variables_[i].range.bytes);
    }
    variables_.resize(declared_);
    variables_.push_back({range, name});
  }
  ++declared_;
  // It holds what another block left there.
  set_cells(range.begin, range.end(), kUnset);
}

std::string SharedArena::position_of(uintptr_t address) const {
  const auto distance = [address](const Variable& variable) {
    return variable.range.holds(address)    ? 0
           : address < variable.range.begin ? variable.range.begin - address
                                            : address - variable.range.end() + 1;
  };
  const auto nearest =
      std::min_element(variables_.begin(), variables_.end(),
                       [&](const Variable& a, const Variable& b) { return distance(a) < distance(b); });
  if (nearest == variables_.end()) return "where this kernel has no shared memory";
  const Range& range = nearest->range;
  const std::string of = "the " + bytes_in_words(range.bytes) + " of " + nearest->name;
  if (range.holds(address)) return bytes_in_words(address - range.begin) + " into " + of;
  if (address < range.begin) return bytes_in_words(range.begin - address) + " before " + of;
  return bytes_in_words(address - range.end()) + " after the end of " + of;
}

namespace {

struct Search {
  uintptr_t address;
  Range found;
};

// Constants in the image of a library or program, and the calling thread's own copy of its thread-local data.  Its
// variables are not among them: device code cannot reach those of the host.
int look_into_image(dl_phdr_info* image, size_t, void* state) {
  auto& search = *static_cast<Search*>(state);
  for (int i = 0; i < image->dlpi_phnum; ++i) {
    const auto& part = image->dlpi_phdr[i];
    Range range;
    if (part.p_type == PT_TLS && image->dlpi_tls_data != nullptr) {
      range = Range(image->dlpi_tls_data, part.p_memsz);
    } else if ((part.p_type == PT_LOAD && (part.p_flags & PF_W) == 0) || part.p_type == PT_GNU_RELRO) {
      range = Range(reinterpret_cast<const void*>(image->dlpi_addr + part.p_vaddr), part.p_memsz);
    }
    if (range.holds(search.address)) {
      search.found = range;
      return 1;
    }
  }
  return 0;
}

// Where a thread of a kernel finds out who it is.  The library's thread-local data holds these, but where that is, the
// loader tells on x86-64 alone.
Range thread_indices() {
  const auto [first, last] = std::minmax(
      {&ob_twin_thread_index, &ob_twin_block_index, &ob_twin_block_size, &ob_twin_grid_size}, std::less<>());
  return Range(first, static_cast<size_t>(last + 1 - first) * sizeof *first);
}

}  // namespace

bool is_harmless(uintptr_t address) {
  const RunningBlock& block = running_block();
  Search search{address, {}};
  for (const Range& range : {block.arguments, block.view, thread_indices()}) {
    if (range.holds(address)) search.found = range;
  }
  if (search.found.bytes == 0) search.found = of_heap(address);
  if (search.found.bytes == 0) dl_iterate_phdr(look_into_image, &search);
  if (search.found.bytes == 0) return false;
  worker.harmless_begin = search.found.begin;
  worker.harmless_bytes = search.found.bytes;
  return true;
}

}  // namespace opbridge_twin::checks
