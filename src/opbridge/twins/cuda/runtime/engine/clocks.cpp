#include "clocks.h"

#include <stdint.h>
#include <sys/time.h>

#include <atomic>
#include <iterator>

#include "judge_functions.h"

namespace opbridge_twin {

namespace {

constexpr int64_t kSecond = 1000000000;

std::atomic<int64_t> slower{1};
int64_t begins[16];  // when clocks began to go slowly, by their numbers

int64_t read(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return int64_t{now.tv_sec} * kSecond + now.tv_nsec;
}

}  // namespace

static int64_t shown_nanoseconds(clockid_t clock) {
  const int64_t now = read(clock), times = slower;
  if (times == 1 || clock < 0 || clock >= static_cast<clockid_t>(std::size(begins))) return now;
  return begins[clock] + (now - begins[clock]) / times;
}

timespec shown(clockid_t clock) {
  const int64_t now = shown_nanoseconds(clock);
  timespec result{};
  result.tv_sec = static_cast<time_t>(now / kSecond);
  result.tv_nsec = static_cast<long>(now % kSecond);
  return result;
}

void slow_clocks(int times) {
  for (clockid_t clock = 0; clock < static_cast<clockid_t>(std::size(begins)); ++clock) begins[clock] = read(clock);
  slower = times;
}

}  // namespace opbridge_twin

// The linker puts these instead of the functions of the C and C++ libraries.
extern "C" {

int __wrap_clock_gettime(clockid_t clock, timespec* now) {
  const int error = clock_gettime(clock, now);
  if (error == 0) *now = opbridge_twin::shown(clock);
  return error;
}

int __wrap_gettimeofday(timeval* now, void*) {
  const timespec found = opbridge_twin::shown(CLOCK_REALTIME);
  *now = {found.tv_sec, found.tv_nsec / 1000};
  return 0;
}

time_t __wrap_time(time_t* now) {
  const time_t found = opbridge_twin::shown(CLOCK_REALTIME).tv_sec;
  if (now != nullptr) *now = found;
  return found;
}

int64_t __wrap__ZNSt6chrono3_V212steady_clock3nowEv() { return opbridge_twin::shown_nanoseconds(CLOCK_MONOTONIC); }

int64_t __wrap__ZNSt6chrono3_V212system_clock3nowEv() { return opbridge_twin::shown_nanoseconds(CLOCK_REALTIME); }
}
