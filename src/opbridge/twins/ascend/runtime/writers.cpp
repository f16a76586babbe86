#include "writers.h"

#include <opbridge_ascend/launch.h>

#include <memory>
#include <mutex>
#include <vector>

#include "names.h"
#include "rerun.h"

namespace opbridge_ascend {
namespace {

// One entry for each launch since recording began.
struct Noted {
  std::mutex mutex;
  bool wanted = false;
  std::vector<std::unique_ptr<Writes>> launches;
};

Noted& noted() {
  static Noted& state = *new Noted;
  return state;
}

}  // namespace

Writes* writes_to_note() {
  Noted& state = noted();
  const std::lock_guard<std::mutex> lock(state.mutex);
  if (!state.wanted) return nullptr;
  return state.launches.emplace_back(new Writes).get();
}

}  // namespace opbridge_ascend

using namespace opbridge_ascend;

void ob_ascend_note_writers(int wanted) {
  Noted& state = noted();
  const std::lock_guard<std::mutex> lock(state.mutex);
  state.wanted = wanted != 0;
  state.launches.clear();
}

const char* ob_ascend_writer_of(const void* address) {
  static thread_local std::string text;
  Noted& state = noted();
  const std::lock_guard<std::mutex> lock(state.mutex);
  for (auto launch = state.launches.rbegin(); launch != state.launches.rend(); ++launch) {
    const auto writer = (*launch)->writer_of(static_cast<const uint8_t*>(address));
    if (!writer.has_value()) continue;
    text = "block " + std::to_string(writer->block) + " at " + described(writer->site);
    return text.c_str();
  }
  return nullptr;
}
