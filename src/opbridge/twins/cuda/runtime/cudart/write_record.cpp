#include "write_record.h"

#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>

#include "closed_pages.h"
#include "engine/host_guard.h"
#include "engine/judge_functions.h"
#include "memory.h"

namespace opbridge_twin {

namespace {

// What an allocation holds, by where it begins.
struct Known {
  const char* begin;
  uint64_t hash;
};

// What goes to the file are entries: a token of eight bytes, the kind, the number of bytes in eight bytes, and the
// bytes.  Memory that was written is of the kind 'k' if kernels wrote it, or 'o'; 'l' is a launch, 'c' a call of an
// operator, 'h' and 'd' the bytes that came to the host and to the device, 's' those that the host wrote to memory that
// it shares with kernels, after one of these wrote to any, 'b' the name of what follows, and 'e' its end.  Only who
// knows the key can write the next token.
struct Record {
  int file = -1;
  bool is_begun = false, is_kept = false;  // the record; that of memory, too
  bool is_shared_by_kernels = false;       // whether a kernel wrote to memory that the host may read
  uint64_t key[2] = {0, 0};
  uint64_t entries = 0;
  size_t left = 0;    // bytes that the file may still take
  size_t unread = 0;  // bytes that may still be compared
  size_t library_count = 0;
  std::array<const char*, 512> of_libraries{};  // allocations that libraries write to
  std::array<Known, 1 << 13> known{};           // a table with open addresses
};

ClosedPages<Record> pages;  // without a destructor: kernels may be launched while the process ends
using Held = ClosedPages<Record>::Held;

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

// Steele, Lea and Flood's generator.
uint64_t mixed(uint64_t x) {
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

uint64_t next_token(Record& all) { return mixed(all.key[0] + mixed(all.key[1] + ++all.entries)); }

void enter(Record& all, char kind, const char* begin, size_t bytes) {
  if (all.file < 0) return;
  char head[17];
  const uint64_t token = next_token(all), length = bytes;
  memcpy(head, &token, 8);
  head[8] = kind;
  memcpy(head + 9, &length, 8);
  put(all, head, sizeof(head));
  put(all, begin, bytes);
}

// What there is no more room for is left out.
void enter_memory(Record& all, char who, const char* begin, size_t bytes) {
  if (bytes > all.left) return;
  all.left -= bytes;
  enter(all, who, begin, bytes);
}

// Where the table has an allocation, or room for it; null if it is full.
Known* place_of(Record& all, const char* begin) {
  const size_t most = all.known.size(), first = mixed(reinterpret_cast<uintptr_t>(begin)) % most;
  for (size_t i = 0; i < most; ++i) {
    Known& one = all.known[(first + i) % most];
    if (one.begin == nullptr || one.begin == begin) return &one;
  }
  return nullptr;
}

// Whether the allocation holds something else than when this was last asked.
bool has_changed(Record& all, const char* begin, size_t bytes) {
  if (bytes > all.unread) return false;
  all.unread -= bytes;
  const uint64_t hash = hash_of(begin, bytes);
  Known* const found = place_of(all, begin);
  if (found == nullptr) return true;  // the table is full
  const bool changed = found->begin == nullptr || found->hash != hash;
  *found = {begin, hash};
  return changed;
}

void enter_count(Record& all, char kind, size_t bytes) {
  enter(all, kind, reinterpret_cast<const char*>(&bytes), sizeof(bytes));
}

void enter_changes(Record& all, char who) {
  open_pages();
  each_allocation([&](const char* begin, size_t bytes, bool is_shared) {
    if (!has_changed(all, begin, bytes)) return;
    const auto end = all.of_libraries.begin() + all.library_count;
    const char by = std::find(all.of_libraries.begin(), end, begin) != end ? 'k' : who;
    enter_memory(all, by, begin, bytes);
    if (is_shared && by == 'o' && all.is_shared_by_kernels) enter_count(all, 's', bytes);
    all.is_shared_by_kernels |= is_shared && by == 'k';
  });
  all.library_count = 0;
}

// What each allocation held when this was asked, by where it begins.
std::map<const char*, std::string>& memory_before() {
  static auto& one = *new std::map<const char*, std::string>;
  return one;
}

}  // namespace

void others_wrote() {
  if (!pages.is_made()) return;
  const Held all(pages);
  if (!all->is_begun) return;
  enter(*all, 'l', nullptr, 0);
  if (all->is_kept) enter_changes(*all, 'o');
}

void kernels_wrote() {
  if (!pages.is_made()) return;
  const Held all(pages);
  if (all->is_kept) enter_changes(*all, 'k');
}

void library_writes(const void* address) {
  const void* begin = nullptr;
  size_t bytes = 0;
  if (!pages.is_made()) return;
  const Held all(pages);
  if (!all->is_begun || !find_allocation(address, begin, bytes)) return;
  enter(*all, 'l', nullptr, 0);
  if (all->is_kept && all->library_count < all->of_libraries.size())
    all->of_libraries[all->library_count++] = static_cast<const char*>(begin);
}

void crossed(bool to_host, size_t bytes) {
  if (!pages.is_made()) return;
  const Held all(pages);
  if (all->is_begun) enter_count(*all, to_host ? 'h' : 'd', bytes);
}

int open_record(const char* path, const char* key) {
  if (!pages.make()) return 0;
  const Held all(pages);
  const int secret = open(key, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  const bool is_read = secret >= 0 && read(secret, all->key, sizeof(all->key)) == sizeof(all->key);
  if (secret >= 0) close(secret);
  all->file = is_read ? open(path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC) : -1;
  return all->file >= 0;
}

void record(const char* name, size_t most) {
  if (!pages.is_made()) return;
  const Held all(pages);
  if (all->is_kept) enter_changes(*all, 'o');
  if (name == nullptr) enter(*all, 'e', nullptr, 0);
  all->is_begun = name != nullptr && all->file >= 0;
  all->is_kept = all->is_begun && most > 0;
  all->known.fill({});
  all->is_shared_by_kernels = false;
  all->left = 0;
  all->unread = 4 * most;
  if (all->is_kept) enter_changes(*all, 'o');  // there is no room for these
  all->left = most;
  if (all->is_begun) enter(*all, 'b', name, strlen(name));
}

void operator_was_called(const char* name, double elements, double products) {
  if (!pages.is_made()) return;
  const Held all(pages);
  if (!all->is_begun) return;
  std::string entry(reinterpret_cast<const char*>(&elements), sizeof(elements));
  entry.append(reinterpret_cast<const char*>(&products), sizeof(products));
  entry += name;
  enter(*all, 'c', entry.data(), entry.size());
}

void framework_copied(int to_host, size_t bytes) { crossed(to_host != 0, bytes); }

void keep_memory() {
  open_pages();
  memory_before().clear();
  each_allocation([](const char* begin, size_t bytes, bool) { memory_before()[begin].assign(begin, bytes); });
  close_to_host();
}

void take_back_memory() {
  open_pages();
  each_allocation([](char* begin, size_t bytes, bool) {
    const auto found = memory_before().find(begin);
    const bool was_there = found != memory_before().end() && found->second.size() == bytes;
    if (was_there) {
      memcpy(begin, found->second.data(), bytes);
    } else {
      memset(begin, 0xff, bytes);
    }
  });
  memory_before().clear();
  close_to_host();
}

}  // namespace opbridge_twin
