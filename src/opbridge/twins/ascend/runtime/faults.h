// What an NPU computes some number for and a CPU ends the process for: integers divided by zero.
#ifndef OPBRIDGE_ASCEND_FAULTS_H
#define OPBRIDGE_ASCEND_FAULTS_H

namespace opbridge_ascend {

// Runs a block; false where it has divided an integer by zero, which is its last act: its objects are not destroyed.
bool runs_without_fault(void (*body)(void*), void* state);

}  // namespace opbridge_ascend
#endif
