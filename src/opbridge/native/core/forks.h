// Ends the copies that a kernel makes of its process.
#ifndef OPBRIDGE_NATIVE_CORE_FORKS_H
#define OPBRIDGE_NATIVE_CORE_FORKS_H

namespace opbridge {

// From now on a process that a kernel forks ends at once, before it comes back from the kernel and does what its parent
// does.  For processes that try kernels out: a kernel that forks more often than `most` ends its own, with `exit_code`.
void end_forks_of_kernels(int most, int exit_code);

}  // namespace opbridge

#endif
