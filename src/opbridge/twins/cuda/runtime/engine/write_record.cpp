#include "write_record.h"

#include <fcntl.h>
#include <stdint.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <mutex>
#include <set>

#include "cudart/memory.h"
#include "host_guard.h"

namespace opbridge_twin {

namespace {

// A file of entries: who wrote ('k' for kernels, 'o' for others), the number of bytes in eight bytes, and the bytes.
struct Record {
  std::mutex mutex;
  int file = -1;
  size_t left = 0;                        // bytes that the file may still take
  size_t unread = 0;                      // bytes that may still be compared
  std::map<const char*, uint64_t> known;  // the hash of what each allocation holds, by where it begins
  std::set<const char*> of_libraries;     // allocations that libraries write to
};

Record& record() {
  static Record& one = *new Record;  // kernels may be launched in destructors too
  return one;
}

std::atomic<bool> is_kept{false};

// FNV-1a: it only has to tell that memory has changed.
uint64_t hash_of(const char* begin, size_t bytes) {
  constexpr uint64_t kPrime = 0x100000001b3;
  uint64_t hash = 0xcbf29ce484222325;
  for (size_t i = 0; i < bytes; ++i) hash = (hash ^ static_cast<unsigned char>(begin[i])) * kPrime;
  return hash;
}

void put(Record& all, const void* data, size_t bytes) {
  const auto* from = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t done = write(all.file, from, bytes);
    if (done <= 0) return;
    from += done;
    bytes -= static_cast<size_t>(done);
  }
}

void enter(Record& all, char who, const char* begin, size_t bytes) {
  const uint64_t length = bytes;
  if (bytes + sizeof(length) + 1 > all.left) return;
  all.left -= bytes + sizeof(length) + 1;
  put(all, &who, 1);
  put(all, &length, sizeof(length));
  put(all, begin, bytes);
}

// Whether the allocation holds something else than when this was last asked.
bool has_changed(Record& all, const char* begin, size_t bytes) {
  if (bytes > all.unread) return false;
  all.unread -= bytes;
  const uint64_t hash = hash_of(begin, bytes);
  const auto [found, is_new] = all.known.try_emplace(begin, hash);
  const bool changed = is_new || found->second != hash;
  found->second = hash;
  return changed;
}

void enter_changes(Record& all, char who) {
  open_pages();
  each_allocation([&](const char* begin, size_t bytes) {
    if (has_changed(all, begin, bytes)) enter(all, all.of_libraries.count(begin) != 0 ? 'k' : who, begin, bytes);
  });
  all.of_libraries.clear();
}

void changed_by(char who) {
  if (!is_kept) return;
  Record& all = record();
  const std::lock_guard<std::mutex> lock(all.mutex);
  enter_changes(all, who);
}

}  // namespace

void others_wrote() { changed_by('o'); }
void kernels_wrote() { changed_by('k'); }

void library_writes(const void* address) {
  const void* begin = nullptr;
  size_t bytes = 0;
  if (!is_kept || !find_allocation(address, begin, bytes)) return;
  Record& all = record();
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.of_libraries.insert(static_cast<const char*>(begin));
}

}  // namespace opbridge_twin

// Begins a record in a new file of at most so many bytes; without a path, ends it.  Memory as it is now counts as
// known.
extern "C" void ob_twin_record_writes(const char* path, size_t most) {
  using namespace opbridge_twin;
  Record& all = record();
  const std::lock_guard<std::mutex> lock(all.mutex);
  if (all.file >= 0) {
    enter_changes(all, 'o');
    close(all.file);
  }
  all.file = path == nullptr ? -1 : open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  all.known.clear();
  all.left = 0;
  all.unread = 4 * most;
  is_kept = all.file >= 0;
  if (is_kept) enter_changes(all, 'o');  // there is no room for these: memory as it is now counts as known
  all.left = most;
}
