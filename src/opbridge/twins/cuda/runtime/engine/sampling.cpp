#include "sampling.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "host_guard.h"
#include "judge_functions.h"
#include "profile.h"

extern "C" {
// What a program was linked to check, where its environment says nothing else.
__attribute__((weak)) extern const unsigned ob_twin_check_blocks;
}

namespace opbridge_twin {

namespace {

constexpr uint64_t kFirstLaunches = 8;

struct Kernel {
  ob_twin_body checked;
  uint64_t launches = 0;
};

// Never destroyed: kernels may be launched in destructors too.
struct Kernels {
  std::mutex mutex;
  // The key includes the library, because an image may be loaded twice, each time with separate variables.
  std::map<std::tuple<const void*, std::string, std::string>, ob_twin_body> enrolled;
  std::unordered_map<const ob_twin_kernel*, Kernel> known;
  uint64_t sampled_launches = 0, launches = 0, sampled_blocks = 0, blocks = 0;
};

Kernels& kernels() {
  static Kernels& state = *new Kernels;
  return state;
}

bool is_wanted() {
  const char* const text = getenv("OPBRIDGE_TWIN_CHECKS");
  return text == nullptr || strcmp(text, "0") != 0;
}

// 0 for all blocks.
uint64_t wanted_blocks() {
  const char* const text = getenv("OPBRIDGE_TWIN_CHECK_BLOCKS");
  char* end = nullptr;
  const unsigned long long value = text == nullptr ? 0 : strtoull(text, &end, 10);
  if (text != nullptr && end != text && *end == '\0') return value;
  return &ob_twin_check_blocks == nullptr ? 0 : ob_twin_check_blocks;
}

std::atomic<bool> muted{false};
// The number of blocks of each launch that run; 0 if all run.
std::atomic<unsigned> alone{0};

// Steele, Lea and Flood's generator, whose every number is the hash of a count.
uint64_t hash(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

std::vector<uint64_t> drawn(uint64_t wanted, uint64_t blocks, uint64_t seed) {
  std::vector<uint64_t> chosen{0};
  if (wanted > 1) chosen.push_back(blocks - 1);
  for (uint64_t i = 0; chosen.size() < wanted; ++i) {
    const uint64_t block = hash(seed << 32 ^ i) % blocks;
    if (std::find(chosen.begin(), chosen.end(), block) == chosen.end()) chosen.push_back(block);
  }
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

const void* library_of(const void* address) {
  Dl_info info;
  return dladdr(address, &info) != 0 ? info.dli_fbase : nullptr;
}

bool is_power_of_two(uint64_t n) { return (n & (n - 1)) == 0; }

}  // namespace

Sample sample_of(const ob_twin_kernel* kernel, const checks::LaunchInfo& info, bool cooperative) {
  static const bool wanted = is_wanted();
  static const uint64_t most = wanted_blocks();
  if (kernel->unit == nullptr || !wanted) return {nullptr, false, {}};
  Kernels& state = kernels();
  const std::lock_guard<std::mutex> lock(state.mutex);
  const auto [known, is_new] = state.known.try_emplace(kernel, Kernel{nullptr});
  if (is_new) {
    const auto found = state.enrolled.find({library_of(kernel->unit), kernel->unit, kernel->name});
    if (found != state.enrolled.end()) known->second.checked = found->second;
  }
  const ob_twin_body body = known->second.checked;
  if (body == nullptr || most == 0) return {body, body != nullptr, {}};
  const uint64_t blocks = info.grid.count(), number = ++known->second.launches;
  ++state.launches;
  state.blocks += blocks;
  if (number > kFirstLaunches && !is_power_of_two(number)) return {nullptr, false, {}};
  ++state.sampled_launches;
  // Blocks of a cooperative launch wait for one another.
  const bool all = blocks <= most || cooperative;
  state.sampled_blocks += all ? blocks : most;
  return {body, all, all ? std::vector<uint64_t>() : drawn(most, blocks, number)};
}

bool kernels_do_nothing() { return muted; }

bool leaves_blocks_out() { return alone != 0 || profile::counts_alone(); }

std::vector<uint64_t> blocks_alone(uint64_t blocks) {
  const unsigned most = alone;
  return most == 0 || blocks <= most ? std::vector<uint64_t>() : drawn(most, blocks, 0);
}

bool hosts_are_unseen() {
  Kernels& state = kernels();
  const std::lock_guard<std::mutex> lock(state.mutex);
  return !state.enrolled.empty();
}

std::string sampled_in_words() {
  Kernels& state = kernels();
  const std::lock_guard<std::mutex> lock(state.mutex);
  if (state.sampled_blocks == state.blocks) return "";
  return "checked " + std::to_string(state.sampled_blocks) + " of " + std::to_string(state.blocks) + " blocks, in " +
         std::to_string(state.sampled_launches) + " of " + std::to_string(state.launches) +
         " launches; what the others did wrong was not seen";
}

}  // namespace opbridge_twin

void ob_twin_enroll(const char* unit, const char* name, ob_twin_body body) {
  using namespace opbridge_twin;
  note_program(reinterpret_cast<const void*>(body));
  Kernels& state = kernels();
  const std::lock_guard<std::mutex> lock(state.mutex);
  state.enrolled[{library_of(unit), unit, name}] = body;
}

void opbridge_twin::mute(int on) { muted = on != 0; }

void opbridge_twin::run_alone(unsigned blocks) { alone = blocks; }

extern "C" int ob_twin_leaves_blocks_out() { return opbridge_twin::leaves_blocks_out() ? 1 : 0; }
