// Runs C++ without Python's lock.
#ifndef OPBRIDGE_NATIVE_GIL_H
#define OPBRIDGE_NATIVE_GIL_H

#include <Python.h>
#include <unistd.h>

namespace opbridge {

// For a thread whose interpreter has finished.  Python up to 3.13 ends a daemon thread by unwinding its stack, which no
// C++ on that stack survives; later ones let it wait, and so does this.
[[noreturn]] inline void wait_for_the_end() {
  for (;;) pause();
}

// Python's lock is free while this lives; at the interpreter's end its return would end the thread amid C++ frames.
class WithoutGil {
 public:
  WithoutGil() : state_(PyEval_SaveThread()) {}
  ~WithoutGil() {
    try {
      PyEval_RestoreThread(state_);
    } catch (...) {
      wait_for_the_end();
    }
  }
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  PyThreadState* state_;
};

}  // namespace opbridge

#endif
