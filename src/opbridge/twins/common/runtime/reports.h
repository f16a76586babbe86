// How what a twin's checks have found comes to the user: on stderr, or to a host that asks.
#ifndef OPBRIDGE_TWINS_REPORTS_H
#define OPBRIDGE_TWINS_REPORTS_H

#include <stddef.h>

#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace opbridge_twins {

// What is said of one mistake, before it is laid out.
struct Text {
  const char* twin;     // "cuda-twin"
  std::string subject;  // the kernel, or the host function
  std::string what;     // one sentence
  const char* name;     // of the check
  std::vector<std::pair<std::string, std::string>> details;
  const char* advice;
};

std::string laid_out(const Text& text);

// All reports of a process.  The object lives until the process ends, because what runs at the exit may still report.
class Reports {
 public:
  // A host that shows reports itself: nothing goes to stderr, and the exit code of the process is left alone.
  void attach_host();
  bool has_host();

  // Shows each key once; after a limit, reports are only counted.  Notes that are not failures go to stderr, once per
  // process, even if a host asks for the failures.
  template <class Write>
  void show(const std::string& key, bool is_failure, Write write) {
    const std::lock_guard<std::mutex> lock(mutex_);
    failed_ = failed_ || is_failure;
    if (is_new(key, is_failure)) put(write(), is_failure);
  }
  bool failed();

  // What was shown since the last call, null for nothing.  The text stays until the next call from this thread.
  const char* take();

  // At the end of a process: says what its host has not taken, or else how many reports were not shown, and fails one
  // that would say all is well.
  void end_process(const char* twin, int status);

 private:
  bool is_new(const std::string& key, bool is_failure);
  void put(const std::string& text, bool is_failure);

  std::mutex mutex_;
  std::set<std::string> shown_;
  std::set<std::string> noted_;
  size_t not_shown_ = 0;
  std::string pending_;
  bool failed_ = false;
  bool has_host_ = false;
};

}  // namespace opbridge_twins

#endif
