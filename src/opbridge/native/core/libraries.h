// The libraries of kernels that this process has opened, as code that may neither lock nor allocate asks for them: a
// handler of signals, a process that was just forked.
#ifndef OPBRIDGE_NATIVE_CORE_LIBRARIES_H
#define OPBRIDGE_NATIVE_CORE_LIBRARIES_H

#include <cstdint>
#include <string>

namespace opbridge {

// Never removed, since libraries stay open: a kernel may have started threads, or be called from a thread we know
// nothing of.
struct KernelLibrary {
  uintptr_t begin, end;  // of its code
  uintptr_t base;        // what its own addresses are counted from
  const char* path;
  const KernelLibrary* next;

  bool holds(uintptr_t address) const { return begin <= address && address < end; }
};

struct NamedKernel {
  uintptr_t function;
  const char* op;
  const char* advice;  // how to find what is wrong with it
  const NamedKernel* next;
};

// What a thread's stack shows of a kernel that it runs.
struct RunningKernel {
  const KernelLibrary* library = nullptr;  // null: it runs none
  uintptr_t place = 0;                     // the innermost instruction in the library
  uintptr_t function = 0;  // the outermost function in it, which is the kernel unless a thread starts there
};

// Null where it cannot be opened; dlerror says why.
void* open_library(std::string path);

void name_kernel(uintptr_t function, const std::string& op, const std::string& advice);

// Returns the kernel of the calling thread.
RunningKernel running_kernel();

const KernelLibrary* library_at(uintptr_t address);
// The kernel that begins there; where none does, the one of the library, if it has only one.
const NamedKernel* named_kernel(const RunningKernel& running);

}  // namespace opbridge

#endif
