// What the execution layer tells, taken down.
#include <algorithm>
#include <mutex>

#include "checks.h"
#include "copies.h"
#include "describe.h"
#include "launch.h"
#include "locals.h"
#include "memory.h"
#include "shadow.h"
#include "surroundings.h"
#include "watch.h"

namespace opbridge_twin::checks {

namespace {

// One launch after the other, as on one stream: what two of them do at the same time is not theirs to race for.
std::mutex under_way;

void restamp(uint32_t thread) {
  const Block& block = *worker.block;
  worker.stamp = block.stamp(thread);
  worker.loop_stamp = block.all_clocks_are_equal() ? block.stamp(0) : 0;
  worker.run_floor = block.run_floor();
  worker.before_barrier = block.barrier_floor() - block.run_floor();
}

void enter(RunningBlock& block) {
  settle_suspicions();  // of the block before
  const Range& shared = block.shared.range();
  worker.block = &block;
  worker.chunks = directory;
  worker.launch_floor = block.launch().floor();
  worker.ordered_floor = block.launch().ordered_floor();
  worker.block_floor = block.first_floor();
  worker.shared_begin = shared.begin;
  worker.shared_bytes = shared.bytes;
  restamp(0);
}

// Blocks are used again: most launches have thousands, and clocks for up to 1024 threads in each.
class BlockPool {
 public:
  RunningBlock* take() {
    if (idle_.empty()) return new RunningBlock;
    RunningBlock* const block = idle_.back();
    idle_.pop_back();
    return block;
  }
  void give_back(RunningBlock* block) { idle_.push_back(block); }
  ~BlockPool() {
    for (RunningBlock* const block : idle_) delete block;
  }

 private:
  std::vector<RunningBlock*> idle_;
};

thread_local BlockPool blocks;

}  // namespace

void device_region(const void* begin, size_t bytes) {
  memory.set_device_region(reinterpret_cast<uintptr_t>(begin), bytes);
}

bool can_check(const void* begin, size_t bytes) { return cover(reinterpret_cast<uintptr_t>(begin), bytes); }

void allocated(Space space, const void* begin, size_t bytes, const char* how, const void* made_at) {
  memory.add({reinterpret_cast<uintptr_t>(begin), bytes, space, how, made_at, nullptr, false});
}

void let_be_written(const void* variable) { memory.let_be_written(reinterpret_cast<uintptr_t>(variable)); }

bool freed(const void* begin, const char* how, const void* made_at) {
  const auto [result, allocation] = memory.free(reinterpret_cast<uintptr_t>(begin), made_at);
  if (result == Memory::Free::done) return true;
  const std::string function = how;
  const char* const what = result == Memory::Free::twice           ? " of memory that was freed before"
                           : result == Memory::Free::not_the_start ? " of an address inside an allocation"
                                                                   : " of an address that was never allocated";
  Report report = report_on_host(Kind::bad_free, made_at, function + what);
  report.subject = function;
  const uintptr_t address = reinterpret_cast<uintptr_t>(begin);
  report.details.emplace_back("address",
                              hexadecimal(address) + (allocation ? ", " + allocation->position_of(address) : ""));
  if (result == Memory::Free::twice) report.details.emplace_back("freed", place(allocation->freed_at));
  deliver(report);
  return false;
}

bool host_access(const void* begin, size_t bytes, bool writes, const char* how, const void* made_at) {
  const uintptr_t address = reinterpret_cast<uintptr_t>(begin);
  const std::optional<Allocation> allocation = memory.holding(address);
  const bool fits = allocation && allocation->end() - address >= bytes;
  if (fits || bytes == 0 || (!allocation && !memory.in_device_region(address))) {
    if (fits && writes) memory.initialise(address, bytes);
    return true;
  }
  const std::optional<Allocation> near = memory.nearest(address);
  const bool gone = near && near->freed && near->holds(address);
  Report report = report_on_host(gone ? Kind::use_after_free : Kind::copy_size, made_at,
                                 std::string(writes ? "write" : "read") + " of " + bytes_in_words(bytes) +
                                     (gone ? " of device memory that was freed" : " beyond an allocation"));
  report.subject = how;
  if (near) report.details.emplace_back("address", hexadecimal(address) + ", " + near->position_of(address));
  if (gone) report.details.emplace_back("freed", place(near->freed_at));
  deliver(report);
  return false;
}

void copied_in_another_direction(const void* side, bool writes, const char* how, const void* made_at) {
  const uintptr_t address = reinterpret_cast<uintptr_t>(side);
  Report report = report_on_host(Kind::copy_direction, made_at,
                                 std::string(writes ? "write" : "read") +
                                     " of device memory, by a copy whose direction says that it is the host's");
  report.subject = how;
  if (const std::optional<Allocation> allocation = memory.holding(address)) {
    report.details.emplace_back("address", hexadecimal(address) + ", " + allocation->position_of(address));
  }
  deliver(report);
}

bool stream_access(const void* begin, size_t bytes, bool writes, const char* how, const void* made_at) {
  const Copy copy{reinterpret_cast<uintptr_t>(begin), bytes, writes, how, made_at};
  const std::lock_guard<std::mutex> hold(under_way);
  const Concurrent beside = stream_order.begin(nullptr, next_run_number());
  if (!beside.none()) report_races_of_copy(copy, beside);
  const bool fits = host_access(begin, bytes, writes, how, made_at);
  // Where all is on one stream, nobody will ask.
  if (fits && stream_order.has_streams()) leave_cells_of_copy(copy, beside);
  stream_order.end(next_run_number(), false);
  return fits;
}

void unseen_launch() { memory.initialise_everything(); }

Launch* launch_begin(const LaunchInfo& info) {
  under_way.lock();
  if (runs_are_used_up()) {
    memory.initialise_everything();
    clear_all_cells();
    count_runs_anew();
    stream_order.forget_runs();
  }
  auto* const launch = new Launch(info, stream_order.begin(info.stream, next_run_number()));
  // What is not checked cannot be interrupted, and may take its time.
  if (info.checked_blocks == info.grid.count()) watch(launch);
  return launch;
}

int launch_end(Launch* launch) {
  stop_watching(launch);
  stream_order.end(next_run_number(), launch->time() > 0);
  const int error = launch->deliver();
  delete launch;
  under_way.unlock();
  return error;
}

Block* block_begin(Launch* launch, uint64_t linear_block, const void* shared, size_t shared_bytes, const void* view,
                   size_t view_bytes) {
  if (launch->has_failed_before(linear_block)) return nullptr;
  RunningBlock* const block = blocks.take();
  block->begin(launch, linear_block);
  block->arguments = Range(launch->info.arguments, launch->info.argument_bytes);
  block->view = Range(view, view_bytes);
  block->shared.begin_block(Range(shared, shared_bytes), launch->number);
  block->copies.clear();
  block->bulk.clear();
  block->asked.clear();
  enter(*block);
  run_is_watched(launch, true);
  return block;
}

void block_resumed(Block* block) {
  if (block->begun_before(block->launch().floor())) block->begin_new_run();
  enter(static_cast<RunningBlock&>(*block));
  run_is_watched(&block->launch(), true);
}

void block_end(Block* block) {
  settle_suspicions();
  if (!block->launch().has_failed_before(block->linear() + 1)) static_cast<RunningBlock*>(block)->bulk.end();
  run_is_watched(&block->launch(), false);
  blocks.give_back(static_cast<RunningBlock*>(block));
  worker = Worker();
}

void shared_variable(const void* begin, size_t bytes, const char* name) {
  running_block().shared.variable(Range(begin, bytes), name);
}

void thread_current(uint32_t linear_thread, const void* stack, size_t stack_bytes, const ob_twin_local** locals) {
  worker.locals = locals;
  worker.stack_begin = reinterpret_cast<uintptr_t>(stack);
  worker.stack_bytes = stack_bytes;
  worker.spins = worker.vain_looks = 0;
  worker.asm_at = nullptr;
  thread_current(linear_thread);
}

void written_unseen(void* memory, size_t bytes) {
  const auto address = reinterpret_cast<uintptr_t>(memory);
  if (is_on_stack(address)) stack_access(address, bytes, kStore, nullptr);
}

void device_function_on_host(const char* name, const void* at) {
  deliver(report_on_host(Kind::device_function, at,
                         std::string("host code calls the __device__ function ") + name + ", which nvcc refuses"));
}

void runs_asm(const void* at) { worker.asm_at = at; }

const void* place_of_asm() { return worker.asm_at; }

void asked_mbarrier(const void* barrier, uint64_t state, bool complete) {
  if (worker.block == nullptr) return;
  if (complete) {
    running_block().asked.erase(barrier);
  } else {
    running_block().asked[barrier] = {state, worker.asm_at};
  }
}

Cell stamp_of(uint32_t thread) { return worker.block->stamp(thread); }

void barrier_passed() {
  settle_suspicions();
  worker.block->barrier_passed();
  restamp(worker.thread());
}

void warp_synced(uint32_t warp, uint32_t lane_mask) {
  settle_suspicions();
  worker.block->warp_synced(warp, lane_mask);
  restamp(worker.thread());
}

void grid_synced(Launch* launch) { launch->raise_floor(); }

void released() {
  if (worker.block == nullptr) return;
  settle_suspicions();
  worker.block->fence(worker.thread(), true);
  restamp(worker.thread());
  worker.block->publish(worker.thread(), true);
}

void acquired() {
  if (worker.block != nullptr) worker.block->acquire(worker.thread(), Look::of_block);
}

void fence() {
  if (worker.block == nullptr) return;
  worker.block->fence(worker.thread(), worker.narrow);
  restamp(worker.thread());
}

}  // namespace opbridge_twin::checks

void ob_twin_adopt(const void* begin, size_t bytes, const char* name) {
  using namespace opbridge_twin::checks;
  allocated(Space::adopted, begin, bytes, name, nullptr);
}

void ob_twin_release(const void* begin) { opbridge_twin::checks::freed(begin, "ob_twin_release", nullptr); }
