// Tells when host code that is not instrumented reads or writes device memory: its pages are closed while no kernel and
// no copy runs, and the first touch opens them.
#ifndef OPBRIDGE_TWIN_RUNTIME_ENGINE_HOST_GUARD_H
#define OPBRIDGE_TWIN_RUNTIME_ENGINE_HOST_GUARD_H

#include <stddef.h>

namespace opbridge_twin {

struct Pages {
  char* begin;
  size_t bytes;
};

// Whether closing is worth its price: it costs system calls, so only a process's first launches and copies do it, and
// those of little memory.
bool may_close(size_t allocations, size_t bytes);

void close_pages(const Pages* pages, size_t count);
void open_pages();

// From now on, a call through a pointer to something other than a function ends the kernel, not the process.
void catch_bad_calls();

// Whether a call came from the program itself, and not from a library that it uses.
bool is_of_main_program(const void* code);

// Records a function of the program, to distinguish its code from that of libraries.
void note_program(const void* function);

}  // namespace opbridge_twin
#endif
