#include "recording.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <map>
#include <memory>
#include <mutex>
#include <tuple>

#include "names.h"

namespace opbridge_ascend {
namespace {

// Loads from and stores to memory beyond the chip are as fast as can be from such addresses on.
constexpr size_t kGoodAlignment = 512;

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    if (static_cast<unsigned char>(c) >= ' ') result += c;
  }
  return result + "\"";
}

template <class Range, class Each>
std::string list(const Range& range, Each each) {
  std::string result;
  for (const auto& member : range) result += (result.empty() ? "" : ",\n ") + each(member);
  return "[" + result + "]";
}

std::string text_of(const Site& site) {
  return "[" + quoted(site.name) + "," + quoted(text_of(site.place)) + "," + quoted(name_of(site.pipe)) + "]";
}

std::string text_of(const Operand& operand) {
  return "[" + std::to_string(static_cast<int>(operand.space)) + "," + std::to_string(operand.writes) + "," +
         std::to_string(operand.bytes) + "]";
}

std::string text_of(const Step& step) {
  std::string known;
  for (const uint32_t count : step.known) known += (known.empty() ? "" : ",") + std::to_string(count);
  std::string result = "[" + std::to_string(step.site) + ",[" + known + "]";
  for (const uint64_t number : {step.from_global, step.to_global, uint64_t{step.pieces}, uint64_t{step.misaligned}}) {
    result += "," + std::to_string(number);
  }
  return result + "," + list(step.operands, [](const Operand& operand) { return text_of(operand); }) + "]";
}

std::string text_of(const Taken& taken) {
  return "[" + quoted(name_of(taken.position)) + "," + std::to_string(taken.count) + "," + std::to_string(taken.bytes) +
         "," + quoted(text_of(taken.place)) + "]";
}

using Key = std::tuple<std::string, uint32_t>;

// Never destroyed: kernels may be launched in destructors too.
struct State {
  std::mutex mutex;
  std::map<Key, std::unique_ptr<Recordings>> launches;
};

State& state() {
  static State& made = *new State;
  return made;
}

const char* folder() {
  static const char* const named = getenv("OPBRIDGE_TWIN_PROFILE");
  return named == nullptr || *named == '\0' ? nullptr : named;
}

// One file a process.
void write_all() {
  const std::lock_guard<std::mutex> lock(state().mutex);
  const std::string path = std::string(folder()) + "/" + std::to_string(getpid()) + ".steps";
  FILE* const file = fopen((path + ".part").c_str(), "w");
  if (file == nullptr) return perror(path.c_str());
  const auto text = list(state().launches, [](const auto& launch) { return launch.second->text(); });
  fputs(text.c_str(), file);
  fclose(file);
  rename((path + ".part").c_str(), path.c_str());
}

}  // namespace

void Recording::begins(uint16_t site, const Clock& known) {
  if (steps_.size() == kMostSteps) {
    is_cut_ = true;
    return;
  }
  Step step;
  step.site = site;
  step.known = known;
  steps_.push_back(std::move(step));
}

void Recording::waits_for(const Clock& known) {
  if (!is_cut_) Block::join(steps_.back().known, known);
}

void Recording::touches(const uint8_t* tensor, Space space, size_t bytes, bool writes) {
  if (is_cut_) return;
  for (Operand& operand : steps_.back().operands) {
    if (operand.tensor != tensor || operand.writes != writes) continue;
    operand.bytes += bytes;
    return;
  }
  steps_.back().operands.push_back({tensor, space, writes, bytes});
}

void Recording::touches_global(size_t offset, size_t bytes, bool writes) {
  if (is_cut_) return;
  Step& step = steps_.back();
  (writes ? step.to_global : step.from_global) += bytes;
  ++step.pieces;
  step.misaligned += offset % kGoodAlignment != 0;
}

void Recording::ends(const std::vector<Site>& sites, const uint32_t (&most)[kSpaces]) {
  text_ = "{\"cut\":" + std::string(is_cut_ ? "true" : "false") +
          ",\n\"sites\":" + list(sites, [](const Site& site) { return text_of(site); }) +
          ",\n\"buffers\":" + list(taken_, [](const Taken& taken) { return text_of(taken); }) +
          ",\n\"most\":" + list(most, [](uint32_t bytes) { return std::to_string(bytes); }) +
          ",\n\"steps\":" + list(steps_, [](const Step& step) { return text_of(step); }) + "}";
  steps_ = {};
}

Recordings* Recordings::of(const char* kernel, uint32_t blocks, uint32_t cores_per_block, Cores kind) {
  if (folder() == nullptr) return nullptr;
  const std::lock_guard<std::mutex> lock(state().mutex);
  static const int registered = atexit(write_all);
  static_cast<void>(registered);
  std::unique_ptr<Recordings>& known = state().launches[{kernel, blocks}];
  if (known != nullptr) {
    ++known->launches;
    return nullptr;
  }
  const Soc& soc = *chosen_soc();
  const std::string head = "\"name\":" + quoted(kernel) + ",\"blocks\":" + std::to_string(blocks) +
                           ",\"cores_per_block\":" + std::to_string(cores_per_block) +
                           ",\"is_cube\":" + (kind == Cores::cube ? "true" : "false") + ",\"soc\":" + quoted(soc.name) +
                           ",\"memories\":" + list(soc.bytes, [](uint32_t bytes) { return std::to_string(bytes); });
  known = std::make_unique<Recordings>(head, blocks * cores_per_block);
  return known.get();
}

std::string Recordings::text() const {
  std::vector<std::string> ended;
  for (const Recording& recording : recordings_) {
    if (!recording.text().empty()) ended.push_back(recording.text());
  }
  return "{" + head_ + ",\"launches\":" + std::to_string(launches) +
         ",\n\"cores\":" + list(ended, [](const std::string& text) { return text; }) + "}";
}

}  // namespace opbridge_ascend
