// Says which operator a process dies of.
#pragma once

namespace opbridge {

// Once a process, when its first kernel is opened; OPBRIDGE_CRASH_HANDLER=0 leaves the signals as they are.
void watch_for_crashes();

}  // namespace opbridge
