#include "report.h"

#include <reports.h>
#include <stdio.h>
#include <stdlib.h>

#include <tuple>

#include "checks.h"
#include "memory.h"

namespace opbridge_twin {

namespace {

// A kind by name, what CUDA's functions return for it, and what an author does about it.
struct Meaning {
  const char* name;
  int error;  // cudaError_t
  bool fatal;
  const char* advice;
};

constexpr int kInvalidValue = 1;
constexpr int kInvalidConfiguration = 9;
constexpr int kIllegalAddress = 700;
constexpr int kLaunchTimeout = 702;
constexpr int kAssert = 710;
constexpr int kMisalignedAddress = 716;
constexpr int kInvalidPc = 718;
constexpr int kLaunchFailure = 719;

Meaning meaning(Kind kind) {
  switch (kind) {
    case Kind::out_of_bounds:
      return {"out-of-bounds", kIllegalAddress, true,
              "guard the access with `i < n`: a grid usually has more threads than elements"};
    case Kind::use_after_free:
      return {"use-after-free", kIllegalAddress, true, "free the memory after the last kernel that uses it"};
    case Kind::null_pointer:
      return {"null-pointer", kIllegalAddress, true,
              "pass the address of allocated memory, and check the error that the allocation returned"};
    case Kind::host_memory:
      return {"host-memory", kIllegalAddress, true,
              "copy the data to memory from cudaMalloc, or allocate it by cudaMallocManaged or cudaMallocHost"};
    case Kind::constant_write:
      return {
          "constant-write", kIllegalAddress, true,
          "set it on the host by cudaMemcpyToSymbol, or make it a __device__ variable: nvcc leaves out what a kernel "
          "stores there"};
    case Kind::device_memory:
      return {"device-memory", kIllegalAddress, false,
              "copy the data to host memory by cudaMemcpy; on a GPU this ends the program"};
    case Kind::device_function:
      return {"device-function", kInvalidPc, false,
              "declare the function __host__ __device__, or call it in a kernel only"};
    case Kind::shared_race:
      return {"shared-race", kLaunchFailure, false,
              "put __syncthreads() between the two, or __syncwarp() where both threads are of one warp"};
    case Kind::global_race:
      return {"global-race", kLaunchFailure, false,
              "let one thread write each element, use atomics, or split the kernel in two; blocks have no order"};
    case Kind::stream_race:
      return {"stream-race", kLaunchFailure, false,
              "record an event after the first (cudaEventRecord) and make the other stream wait for it "
              "(cudaStreamWaitEvent)"};
    case Kind::host_race:
      return {"host-race", kLaunchFailure, false,
              "call cudaDeviceSynchronize(), or wait for the stream or an event, before host code uses the memory"};
    case Kind::same_value:
      return {"same-value", 0, false,
              "let one thread write it: more threads cost time, and different values would be a race"};
    case Kind::volatile_sync:
      return {
          "volatile-sync", 0, false,
          "use an atomic, such as cuda::atomic_ref or atomicAdd(p, 0): CUDA's memory model has no order for volatile"};
    case Kind::missing_fence:
      return {"missing-fence", 0, false,
              "put __threadfence() between taking the lock or flag and using what it guards, or acquire by "
              "cuda::atomic_ref"};
    case Kind::unset_shared:
      return {"uninitialised-shared", kLaunchFailure, false,
              "write shared memory before reading it: it holds what another block left there"};
    case Kind::copy_in_flight:
      return {"copy-in-flight", kLaunchFailure, false,
              "wait for the copy (__pipeline_wait_prior, cp.async.wait_group), then __syncthreads(), then read"};
    case Kind::proxy_fence:
      return {
          "missing-proxy-fence", kLaunchFailure, false,
          "put fence.proxy.async.shared::cta after the writes, in each thread that writes, then a barrier, then the "
          "copy"};
    case Kind::unset_global:
      return {"uninitialised-memory", kLaunchFailure, false,
              "fill the memory by cudaMemset, cudaMemcpy or a kernel before reading it"};
    case Kind::unset_local:
      return {"uninitialised-local", kLaunchFailure, false,
              "give the array a value where it is declared, as in `float sums[8] = {}`"};
    case Kind::misaligned:
      return {"misaligned", kMisalignedAddress, true,
              "a vector type needs an address that is a multiple of its size: handle the first elements one by one"};
    case Kind::index:
      return {"index", kIllegalAddress, true, "keep the index below the array's size"};
    case Kind::division_by_zero:
      return {"division-by-zero", kLaunchFailure, true,
              "check for zero first: a GPU continues with an undefined number"};
    case Kind::bad_free:
      return {"bad-free", kInvalidValue, false, "free each allocation once, by the address that was returned"};
    case Kind::copy_size:
      return {"copy-size", kInvalidValue, false, "sizes are in bytes: compare this one with the allocation's"};
    case Kind::copy_direction:
      return {"copy-direction", kInvalidValue, false,
              "name the direction of the copy, as in cudaMemcpyDeviceToHost; cudaMemcpyDefault finds it by itself"};
    case Kind::divergent_barrier:
      return {
          "divergent-barrier", kLaunchFailure, true,
          "move the barrier out of the branch, and return after it: all threads of a block must reach the same one"};
    case Kind::early_return:
      return {"early-return", 0, false,
              "return after the last barrier: GPUs before Volta wait for all threads, later ones for the others only"};
    case Kind::lane_not_in_mask:
      return {"lane-not-in-mask", kLaunchFailure, true,
              "name every calling lane in the mask, this one too: compute it by __ballot_sync before the branch"};
    case Kind::lane_never_comes:
      return {"lane-never-comes", kLaunchFailure, true,
              "name only calling lanes in the mask: compute it by __ballot_sync before the branch"};
    case Kind::shared_size:
      return {"shared-size", kInvalidConfiguration, true,
              "use less, or use dynamic shared memory, whose limit cudaFuncSetAttribute raises"};
    case Kind::trap:
      return {"trap", kAssert, true, "check why the kernel ran trap: it ended itself"};
    case Kind::bad_call:
      return {"bad-call", kInvalidPc, true,
              "check the function pointer: it is null, was changed, or is a function of the host"};
    case Kind::endless:
      return {"endless", kLaunchTimeout, true,
              "look for a loop that never ends; OPBRIDGE_TWIN_TIMEOUT sets the limit in seconds, 0 for none"};
    case Kind::bad_launch:
      return {"bad-launch", kInvalidConfiguration, false, ""};  // each has its own advice
    case Kind::unchecked_error:
      return {"unchecked-error", 0, false, "call cudaGetLastError() after each launch"};
    case Kind::leak:
      return {"leak", 0, false, "free the memory by cudaFree"};
  }
  return {};
}

// Never destroyed: what runs at the exit may still report.
opbridge_twins::Reports& reports() {
  static opbridge_twins::Reports& state = *new opbridge_twins::Reports;
  return state;
}

std::string in_full(const Report& report) {
  const Meaning means = meaning(report.kind);
  return with_places(opbridge_twins::laid_out({"cuda-twin", report.subject, report.what, means.name, report.details,
                                               report.advice.empty() ? means.advice : report.advice.c_str()}));
}

void say_what_is_left() {
  // After an error the device frees nothing any more.
  const checks::Memory::Left left = checks::memory.left();
  if (left.count > 0 && !reports().failed()) {
    const std::string count = std::to_string(left.count) + (left.count == 1 ? " allocation" : " allocations");
    Report report{
        Kind::leak, "note", count + " of " + std::to_string(left.bytes) + " bytes in all never freed", {}, {}};
    report.details = {{"where", (left.count == 1 ? "" : "the first at ") + place(left.first_made_at)}};
    deliver(report);
  }
  if (const std::string left_out = sampled_in_words(); !left_out.empty()) {
    fprintf(stderr, "cuda-twin: %s\n", left_out.c_str());
  }
}

void at_exit(int status, void*) {
  if (!reports().has_host()) say_what_is_left();
  reports().end_process("cuda-twin", status);
}

const int registered = on_exit(at_exit, nullptr);

}  // namespace

bool Report::operator<(const Report& other) const {
  return std::tie(block, thread, kind, what, details) <
         std::tie(other.block, other.thread, other.kind, other.what, other.details);
}

int cuda_error(Kind kind) { return meaning(kind).error; }
bool is_fatal(Kind kind) { return meaning(kind).fatal; }

void deliver(const Report& report) {
  (void)registered;
  // Two accesses of one line are one mistake.
  const std::string key = std::to_string(static_cast<int>(report.kind)) + report.subject + with_places(report.same_as);
  reports().show(key, cuda_error(report.kind) != 0, [&] { return in_full(report); });
}

}  // namespace opbridge_twin

void ob_twin_attach_host() { opbridge_twin::reports().attach_host(); }
const char* ob_twin_take_reports() { return opbridge_twin::reports().take(); }
