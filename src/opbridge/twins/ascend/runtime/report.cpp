#include "report.h"

#include <opbridge_ascend/launch.h>
#include <reports.h>
#include <stdio.h>
#include <stdlib.h>

#include <algorithm>

namespace opbridge_ascend {
namespace {

// A kind by name, and what an author does about it.
struct Meaning {
  const char* name;
  const char* advice;
};

Meaning meaning(Kind kind) {
  switch (kind) {
    case Kind::out_of_bounds:
      return {"out-of-bounds", "compare offset and count with the tensor's size; the last tile is often shorter"};
    case Kind::use_after_free:
      return {"use-after-free", "call FreeTensor after the last instruction that uses the tensor"};
    case Kind::no_memory:
      return {"no-memory", "give the tensor memory first: AllocTensor, DeQue, Get or SetGlobalBuffer"};
    case Kind::misaligned:
      return {"misaligned", "start at a multiple of the alignment; DataCopyPad takes any address in global memory"};
    case Kind::bad_parameter:
      return {"bad-parameter", "split the instruction, or correct the parameter"};
    case Kind::uninitialised:
      return {"uninitialised-local",
              "copy or Duplicate something into the tensor first: it holds what was there before"};
    case Kind::unset_variable:
      return {"unset-variable", "give each variable of the kernel and of its classes a value where it is declared"};
    case Kind::missing_sync:
      return {"missing-sync",
              "pipes run at the same time: pass the tensor by EnQue and DeQue, or put SetFlag and WaitFlag between"};
    case Kind::unpaired_flag:
      return {"unpaired-flag", "match each SetFlag with one later WaitFlag of the same event and id"};
    case Kind::no_event:
      return {"no-event", "return ids by ReleaseEventID: a pair of pipes has 8, from 0 to 7"};
    case Kind::local_budget:
      return {"local-budget", "use smaller tiles or fewer buffers; OPBRIDGE_ASCEND_SOC names another chip"};
    case Kind::queue_full:
      return {"queue-full", "DeQue before the next EnQue, or give the TQue a greater depth"};
    case Kind::queue_empty:
      return {"queue-empty", "EnQue a tensor before each DeQue; hardware would wait forever"};
    case Kind::no_free_tensor:
      return {"no-free-tensor",
              "call FreeTensor for tensors that are no longer used, or ask InitBuffer for more buffers"};
    case Kind::wrong_queue:
      return {"wrong-queue", "return each tensor once, to the queue that allocated it"};
    case Kind::unfreed_tensor:
      return {"unfreed-tensor", "call FreeTensor for each AllocTensor, and DeQue for each EnQue"};
    case Kind::atomic_left_on:
      return {"atomic-left-on", "call SetAtomicNone() after the last atomic store: the mode outlives the kernel"};
    case Kind::sync_all:
      return {"sync-all", "call SyncAll equally often in all blocks; hardware would wait forever"};
    case Kind::global_race:
      return {"global-race", "let each block write its own bytes, put SyncAll between the two, or use SetAtomicAdd"};
    case Kind::shared_line:
      return {"shared-cache-line",
              "call DataCacheCleanAndInvalid after SetValue, or keep blocks 64 bytes apart: a cache writes back whole "
              "lines"};
    case Kind::depends_on_blocks:
      return {"depends-on-blocks", "divide the work by GetBlockNum so that any number of blocks does all of it once"};
    case Kind::tiling_mismatch:
      return {"tiling-mismatch",
              "use one definition of the struct in host and kernel, and pass the launch all of its bytes"};
    case Kind::assertion:
      return {"assertion", "check the kernel's inputs: its own assertion failed"};
    case Kind::division_by_zero:
      return {"division-by-zero", "return from a block without work before dividing by the amount of work"};
    case Kind::bad_launch:
      return {"bad-launch", "correct the launch: no NPU accepts it"};
  }
  return {};
}

// Never destroyed: what runs at the exit may still report.
opbridge_twins::Reports& reports() {
  static opbridge_twins::Reports& state = *new opbridge_twins::Reports;
  return state;
}

std::string in_full(const char* kernel, const Report& report) {
  const Meaning means = meaning(report.kind);
  opbridge_twins::Text text{"ascend-twin", kernel, report.what, means.name, report.details, means.advice};
  if (report.block.has_value()) {
    const std::string block = "block " + std::to_string(*report.block);
    text.details.insert(text.details.begin(), {"where", report.where.empty() ? block : report.where + ", " + block});
  }
  return opbridge_twins::laid_out(text);
}

const int registered = on_exit([](int status, void*) { reports().end_process("ascend-twin", status); }, nullptr);

}  // namespace

std::string text_of(const Place& place) {
  return place.file == nullptr ? "an expression of tensors" : place.file + (":" + std::to_string(place.line));
}

std::string text_of(const void* address) {
  char text[2 + 16 + 1];
  snprintf(text, sizeof text, "0x%zx", reinterpret_cast<size_t>(address));
  return text;
}

void deliver(const char* kernel, std::vector<Report> found) {
  (void)registered;
  std::stable_sort(found.begin(), found.end(), [](const Report& a, const Report& b) { return a.block < b.block; });
  for (const Report& report : found) {
    const std::string key = std::to_string(static_cast<int>(report.kind)) + kernel + report.where;
    reports().show(key, true, [&] { return in_full(kernel, report); });
  }
}

}  // namespace opbridge_ascend

void ob_ascend_attach_host() { opbridge_ascend::reports().attach_host(); }
const char* ob_ascend_take_reports() { return opbridge_ascend::reports().take(); }
