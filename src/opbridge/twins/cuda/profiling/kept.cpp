#include "kept.h"

#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <map>
#include <mutex>
#include <set>
#include <string>
#include <tuple>

#include "checks/launch.h"
#include "engine/launch.h"

namespace opbridge_twin::profile {

namespace {

constexpr uint64_t kFirstLaunches = 4;

// Launches of one kernel with equal sizes.
struct Kernel {
  uint64_t launches = 0;
  uint64_t profiled_launches = 0;
  uint64_t profiled_blocks = 0;
  uint64_t left_out = 0;
  size_t static_shared_bytes = 0;
  Counters counters;
};

using Sizes = std::tuple<unsigned, unsigned, unsigned>;
using Key = std::tuple<std::string, Sizes, Sizes, size_t>;

// A file of code while it is loaded, by where it lies.
struct Image {
  std::string path;
  uintptr_t base, begin, end;
  bool operator<(const Image& other) const { return std::tie(begin, path) < std::tie(other.begin, other.path); }
};

// Never destroyed: kernels may be launched in destructors too.
struct State {
  std::mutex mutex;
  std::map<Key, Kernel> kernels;
  std::set<Image> images;
  Kernel* running = nullptr;
  bool is_profiled = false;
};

State& state() {
  static State& made = *new State;
  return made;
}

std::string path_of(const dl_phdr_info& info) {
  if (*info.dlpi_name != '\0') return info.dlpi_name;
  char* const program = realpath("/proc/self/exe", nullptr);
  const std::string result = program == nullptr ? "" : program;
  free(program);
  return result;
}

int note_image(dl_phdr_info* info, size_t, void*) {
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& part = info->dlpi_phdr[i];
    if (part.p_type != PT_LOAD || (part.p_flags & PF_X) == 0) continue;
    const uintptr_t begin = info->dlpi_addr + part.p_vaddr;
    state().images.insert({path_of(*info), info->dlpi_addr, begin, begin + part.p_memsz});
  }
  return 0;
}

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    if (static_cast<unsigned char>(c) >= ' ') result += c;
  }
  return result + "\"";
}

// Writes a list whose members `each` writes.
template <class Range, class Each>
void write_list(FILE* file, const Range& range, const Each& each) {
  const char* before = "[";
  for (const auto& member : range) {
    fputs(before, file);
    before = ",\n ";
    each(member);
  }
  fputs(before[0] == '[' ? "[]" : "]", file);
}

unsigned long long number(uint64_t value) { return value; }

void write_place(FILE* file, const Place& place, const Count& c) {
  fprintf(file, "[%d,%d", static_cast<int>(place.kind), static_cast<int>(place.space));
  for (const uint64_t value : {c.requests, c.lanes, c.bytes, c.parts, c.least, c.joined, c.fresh, c.missed, c.queued,
                               c.longest, c.worst, c.worst_lanes}) {
    fprintf(file, ",%llu", number(value));
  }
  fprintf(file, ",%lld,%llu,%u]", static_cast<long long>(c.worst_stride), number(place.address), c.array);
}

void write_touch(FILE* file, const Touch& touch) {
  const Request& request = touch.request;
  fprintf(file, "[%llu,%d,%u,%u,%u,[", number(touch.place), static_cast<int>(touch.kind), touch.array, touch.warp,
          request.bytes);
  for (unsigned i = 0; i < request.lanes; ++i) {
    fprintf(file, "%s[%u,%llu]", i == 0 ? "" : ",", request.numbers[i], number(request.addresses[i]));
  }
  fputs("]]", file);
}

void write_kernel(FILE* file, const Key& key, const Kernel& kernel) {
  const auto& [name, grid, block, dynamic] = key;
  fprintf(file, "{\"name\":%s,\n", quoted(checks::short_name(name)).c_str());
  for (const auto& [field, sizes] : {std::pair{"grid", grid}, std::pair{"block", block}}) {
    fprintf(file, "\"%s\":[%u,%u,%u],", field, std::get<0>(sizes), std::get<1>(sizes), std::get<2>(sizes));
  }
  fprintf(file, "\"dynamic_shared\":%zu,\"static_shared\":%zu,\"launches\":%llu,\"profiled_launches\":%llu,", dynamic,
          kernel.static_shared_bytes, number(kernel.launches), number(kernel.profiled_launches));
  fprintf(file, "\"profiled_blocks\":%llu,\"left_out\":%llu,\n\"arrays\":", number(kernel.profiled_blocks),
          number(kernel.left_out));
  write_list(file, kernel.counters.arrays(), [file](const Array& array) {
    fprintf(file, "{\"name\":%s,\"made_at\":%llu,\"bytes\":%llu,\"is_read\":%s,\"is_written\":%s}",
            quoted(array.name).c_str(), number(reinterpret_cast<uint64_t>(array.made_at)), number(array.bytes),
            array.is_read ? "true" : "false", array.is_written ? "true" : "false");
  });
  fputs(",\n\"places\":", file);
  write_list(file, kernel.counters.places(),
             [file](const auto& counted) { write_place(file, counted.first, counted.second); });
  fputs(",\n\"touches\":", file);
  write_list(file, kernel.counters.touches.all(), [file](const Touch& touch) { write_touch(file, touch); });
  fputs("}", file);
}

// One file a process, in the folder that the environment names.
void write_all() {
  const char* const folder = getenv("OPBRIDGE_TWIN_PROFILE");
  if (folder == nullptr || *folder == '\0') return;
  const std::lock_guard<std::mutex> lock(state().mutex);
  const std::string path = std::string(folder) + "/" + std::to_string(getpid()) + ".json";
  FILE* const file = fopen((path + ".part").c_str(), "w");
  if (file == nullptr) return perror(path.c_str());
  fputs("{\"images\":", file);
  write_list(file, state().images, [file](const Image& image) {
    fprintf(file, "[%s,%llu,%llu,%llu]", quoted(image.path).c_str(), number(image.base), number(image.begin),
            number(image.end));
  });
  fputs(",\n\"kernels\":", file);
  write_list(file, state().kernels, [file](const auto& kernel) { write_kernel(file, kernel.first, kernel.second); });
  fputs("}\n", file);
  fclose(file);
  rename((path + ".part").c_str(), path.c_str());
}

Sizes sizes(ob_twin_dim d) { return {d.x, d.y, d.z}; }

}  // namespace

void launch_begins(const Launch& launch) {
  State& all = state();
  const std::lock_guard<std::mutex> lock(all.mutex);
  static const int registered = atexit(write_all);
  static_cast<void>(registered);
  const auto [found, is_new] =
      all.kernels.try_emplace(Key{launch.info.kernel, sizes(launch.grid), sizes(launch.block), launch.shared_bytes});
  // The kernel's code is loaded now, and may not be when the process ends.
  if (is_new) dl_iterate_phdr(note_image, nullptr);
  all.running = &found->second;
  const uint64_t launches = ++all.running->launches;
  all.is_profiled = launches <= kFirstLaunches || (launches & (launches - 1)) == 0;
  all.running->profiled_launches += all.is_profiled;
}

bool launch_is_profiled() { return state().is_profiled; }
bool launch_is_first() { return state().running->launches == 1; }

void keep(Counters& counters, size_t static_shared_bytes) {
  const std::lock_guard<std::mutex> lock(state().mutex);
  Kernel& kernel = *state().running;
  ++kernel.profiled_blocks;
  kernel.static_shared_bytes = std::max(kernel.static_shared_bytes, static_shared_bytes);
  kernel.counters.take(counters);
}

void leave_out() {
  const std::lock_guard<std::mutex> lock(state().mutex);
  ++state().running->left_out;
}

}  // namespace opbridge_twin::profile

// For a process that will end without what is done at its end.
extern "C" void ob_twin_write_counts() { opbridge_twin::profile::write_all(); }
