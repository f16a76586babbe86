#include "judge_functions.h"

#include <atomic>

namespace {

using namespace opbridge_twin;

// In the order of opbridge.analysis.judge.process.twin_functions.
const void* const kFunctions[] = {
    reinterpret_cast<const void*>(&open_record),
    reinterpret_cast<const void*>(&record),
    reinterpret_cast<const void*>(&operator_was_called),
    reinterpret_cast<const void*>(&framework_copied),
    reinterpret_cast<const void*>(&keep_memory),
    reinterpret_cast<const void*>(&take_back_memory),
    reinterpret_cast<const void*>(&mute),
    reinterpret_cast<const void*>(&run_alone),
    reinterpret_cast<const void*>(&name_device),
    reinterpret_cast<const void*>(&slow_clocks),
};

}  // namespace

// Returns the functions of a judge to who asks first in a process; null to everybody else.
extern "C" const void* const* ob_twin_take_judge_functions() {
  static std::atomic<bool> is_taken{false};
  return is_taken.exchange(true) ? nullptr : kFunctions;
}
