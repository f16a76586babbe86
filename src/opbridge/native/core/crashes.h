// Says which operator a process dies of.
#ifndef OPBRIDGE_NATIVE_CORE_CRASHES_H
#define OPBRIDGE_NATIVE_CORE_CRASHES_H

namespace opbridge {

// Once a process, when its first kernel is opened; OPBRIDGE_CRASH_HANDLER=0 leaves the signals as they are.
void watch_for_crashes();

}  // namespace opbridge

#endif
