// What device code calls: barriers, meetings of lanes, shared memory, and ways to end.
#include <stdio.h>
#include <stdlib.h>

#include "checks/checks.h"
#include "profile.h"
#include "worker.h"

#define HERE __builtin_return_address(0)
#define FRAME __builtin_dwarf_cfa()

namespace opbridge_twin {

namespace {

// Host code cannot wait for threads of a block.  A GPU program would not compile: this ends the process, as abort does.
Worker& running(const char* what) {
  if (Worker* worker = Worker::running()) return *worker;
  fprintf(stderr, "opbridge CUDA twin: %s was called by host code, outside of a kernel\n", what);
  abort();
}

// In the midst of an atomic, whose scope is this thread's.
void yield(Worker& worker, unsigned thread, bool elsewhere) {
  const int narrow = ob_twin_narrow(0);
  worker.yield(thread, elsewhere);
  ob_twin_narrow(narrow);
}

[[noreturn]] void end_in_trap(const Worker& worker, unsigned thread, const char* why, const void* where) {
  worker.launch().fail(worker.block().linear, checks::Failure::trap, why, {{thread, where}});
}

}  // namespace

}  // namespace opbridge_twin

using namespace opbridge_twin;

int ob_twin_thread_begins(unsigned x, unsigned y, unsigned z) {
  Worker& worker = *Worker::running();
  const bool begins = worker.begin_thread(x, y, z);
  if (begins) profile::thread_begins(worker.thread(), FRAME);
  return begins;
}

ob_twin_vote ob_twin_barrier(unsigned thread, int predicate) {
  Worker& worker = running("__syncthreads");
  profile::waited(profile::Kind::barrier, HERE, FRAME);
  worker.settle(thread);
  if (!worker.block().arrive_at_barrier(thread, predicate, HERE)) worker.wait();
  profile::thread_goes_on(thread);
  return worker.block().vote();
}

void ob_twin_named_barrier(unsigned thread, unsigned number, unsigned count, int waits) {
  Worker& worker = running("bar.sync");
  profile::waited(profile::Kind::barrier, HERE, FRAME);
  worker.settle(thread);
  const void* const place = checks::place_of_asm();
  if (worker.block().checked != nullptr) checks::released();
  const void* const where = place != nullptr ? place : HERE;
  if (!worker.block().arrive_at_named_barrier(thread, number, count, waits != 0, where)) worker.wait();
  if (worker.block().checked != nullptr && waits != 0) checks::acquired();
  profile::thread_goes_on(thread);
}

void ob_twin_returned(unsigned thread) { running("return").block().note_return(thread); }

void ob_twin_meet(unsigned thread, unsigned mask, const char* what, void* brought, ob_twin_resolve resolve) {
  Worker& worker = running(what);
  profile::waited(profile::Kind::meeting, HERE, FRAME);
  worker.settle(thread);
  const Thread waiting{nullptr, HERE, what, brought, resolve, mask};
  if (!worker.block().meet(thread, waiting)) worker.wait();
  profile::thread_goes_on(thread);
}

void ob_twin_sync_warp(unsigned thread, unsigned mask) {
  Worker& worker = running("__syncwarp");
  profile::waited(profile::Kind::meeting, HERE, FRAME);
  worker.settle(thread);
  constexpr ob_twin_resolve kNothing = [](void* const*, unsigned) { return 0u; };
  constexpr ob_twin_resolve kTellChecks = [](void* const* brought, unsigned lanes) {
    const unsigned any = *static_cast<const unsigned*>(brought[__builtin_ctz(lanes)]);
    checks::warp_synced(warp_of(any), lanes);
    return 0u;
  };
  const Thread waiting{nullptr, HERE, "__syncwarp", &thread, worker.block().checked != nullptr ? kTellChecks : kNothing,
                       mask};
  if (!worker.block().meet(thread, waiting)) worker.wait();
  profile::thread_goes_on(thread);
}

unsigned ob_twin_converged(unsigned thread) {
  Worker& worker = running("__activemask");
  profile::waited(profile::Kind::meeting, HERE, FRAME);
  worker.settle(thread);
  if (!worker.block().converge(thread, HERE)) worker.wait();
  profile::thread_goes_on(thread);
  return worker.block().thread(thread).mask;
}

void ob_twin_grid_barrier(unsigned thread) {
  Worker& worker = running("grid.sync");
  if (!worker.launch().cooperative) {
    end_in_trap(worker, thread, "grid.sync() in a launch that is not cooperative: use cudaLaunchCooperativeKernel",
                HERE);
  }
  worker.settle(thread);
  profile::waited(profile::Kind::barrier, HERE, FRAME);
  worker.block().arrive_at_grid_barrier(thread, HERE);
  worker.wait();
  profile::thread_goes_on(thread);
}

int ob_twin_is_cooperative() { return running("this_grid").launch().cooperative; }

void ob_twin_yield_thread(unsigned thread) {
  Worker* worker = Worker::running();
  if (worker == nullptr) return;
  worker->settle(thread);
  yield(*worker, thread, true);
}

void ob_twin_yield(int elsewhere) {
  Worker& worker = running("a yield");
  const unsigned thread = worker.thread();
  worker.settle(thread);
  yield(worker, thread, elsewhere != 0);
}

void* ob_twin_shared(unsigned* slot, size_t bytes, size_t alignment, const char* name) {
  Worker& worker = running("a __shared__ variable");
  // The first to replace 0 numbers the variable for all; a number that lost is never used.
  unsigned number = __atomic_load_n(slot, __ATOMIC_RELAXED);
  if (number == 0) {
    const unsigned fresh = new_shared_slot();
    const bool first = __atomic_compare_exchange_n(slot, &number, fresh, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    if (first) number = fresh;
  }
  Block& block = worker.block();
  void* memory = block.shared.variable(number, bytes, alignment, name, block.checked != nullptr);
  if (memory != nullptr) return memory;
  char text[192];
  snprintf(text, sizeof text, "%s does not fit: a kernel has %zu bytes of __shared__ variables, and a block %zu in all",
           name, kStaticSharedBytes, kMostSharedBytes);
  worker.launch().fail(block.linear, checks::Failure::shared_memory, text, {{worker.thread(), HERE}});
}

void* ob_twin_dynamic_shared(size_t* bytes) {
  Worker& worker = running("extern __shared__ memory");
  if (bytes != nullptr) *bytes = worker.block().shared.dynamic_bytes();
  return worker.block().shared.dynamic();
}

int ob_twin_is_shared(const void* memory) {
  Worker* worker = Worker::running();
  return worker != nullptr && worker->block().shared.contains(memory);
}

void ob_twin_device_only(const char* name) {
  if (Worker::running() == nullptr) checks::device_function_on_host(name, HERE);
}

int ob_twin_in_kernel() { return Worker::running() != nullptr; }

void ob_twin_trap(unsigned thread, const char* why) { end_in_trap(running("__trap"), thread, why, HERE); }

void ob_twin_assert_failed(unsigned thread, const void* where, const char* what, const char* file, int line) {
  const Worker* worker = Worker::running();
  char text[512];
  snprintf(text, sizeof text, "%s:%d: assertion `%s' failed", file, line, what);
  if (worker != nullptr) end_in_trap(*worker, thread, text, where);
  fprintf(stderr, "%s\n", text);
  abort();
}

void ob_twin_abandon(int error) { running("an end of the block").abandon(error); }
