#include "launch.h"

#include <opbridge/pool.h>
#include <stdio.h>
#include <stdlib.h>

#include <algorithm>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cudart/device.h"
#include "cudart/memory.h"
#include "cudart/state.h"
#include "cudart/streams.h"
#include "host_guard.h"
#include "profile.h"
#include "sampling.h"
#include "worker.h"
#include "write_record.h"

namespace opbridge_twin {

namespace {

// What <<<>>> has said and no kernel has taken yet.
thread_local Configuration configuration{};

thread_local bool asking = false;
thread_local const ob_twin_kernel* asked = nullptr;

checks::Dim dim(ob_twin_dim d) { return {d.x, d.y, d.z}; }

// As many as the device holds at a time.
uint64_t resident_blocks(ob_twin_dim block, size_t shared_bytes) {
  const auto threads = static_cast<unsigned>(dim(block).count());
  return uint64_t{kMultiprocessors} * blocks_per_multiprocessor(threads, shared_bytes);
}

// Why no GPU of the twin's kind runs a launch.
struct Objection {
  cudaError_t error;
  std::string why;
  std::string advice;
};

template <class... Values>
std::string text(const char* format, Values... values) {
  char written[256];
  snprintf(written, sizeof written, format, values...);
  return written;
}

std::optional<Objection> objection(const Configuration& c, const ob_twin_kernel* kernel) {
  if (!c.given) {
    return Objection{cudaErrorMissingConfiguration, "it was called without <<<grid, block>>>",
                     "launch it: kernel<<<blocks, threads>>>(...)"};
  }
  const ob_twin_dim grid = c.grid, block = c.block;
  const uint64_t blocks = dim(grid).count(), threads = dim(block).count();
  const auto shape = [](std::string why, std::string advice) {
    return Objection{cudaErrorInvalidConfiguration, std::move(why), std::move(advice)};
  };
  if (blocks == 0) {
    return shape(text("the grid is (%u, %u, %u), and a grid has at least one block", grid.x, grid.y, grid.z),
                 "return before the launch where there are no elements");
  }
  if (threads == 0) {
    return shape(text("the block is (%u, %u, %u), and a block has at least one thread", block.x, block.y, block.z),
                 "give a block a multiple of 32 threads, such as 256");
  }
  if (grid.x > kMostGridX || grid.y > kMostGridYZ || grid.z > kMostGridYZ) {
    return shape(text("the grid is (%u, %u, %u), and the most are (%u, %u, %u) blocks", grid.x, grid.y, grid.z,
                      kMostGridX, kMostGridYZ, kMostGridYZ),
                 "put the largest number first, or let each block go on to others in a loop by gridDim");
  }
  constexpr const char* kFewerThreads = "at most 1024 threads a block; more blocks instead";
  if (block.x > kMostThreads || block.y > kMostThreads || block.z > kMostBlockZ) {
    return shape(text("the block is (%u, %u, %u), and the most are (%u, %u, %u) threads", block.x, block.y, block.z,
                      kMostThreads, kMostThreads, kMostBlockZ),
                 kFewerThreads);
  }
  if (threads > kMostThreads) {
    return shape(
        text("the block has %llu threads, and the most are %u", static_cast<unsigned long long>(threads), kMostThreads),
        kFewerThreads);
  }
  if (const size_t most = dynamic_shared_limit(kernel); c.shared_bytes > most) {
    return Objection{
        cudaErrorInvalidValue,
        text("the launch asks for %zu bytes of dynamic shared memory, and %zu are allowed", c.shared_bytes, most),
        text("cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes) allows up to %zu",
             kMostSharedBytes)};
  }
  const uint64_t resident = resident_blocks(block, c.shared_bytes);
  if (c.cooperative && blocks > resident) {
    return Objection{cudaErrorCooperativeLaunchTooLarge,
                     text("a cooperative launch of %llu blocks, and the device holds %llu of this size at a time",
                          static_cast<unsigned long long>(blocks), static_cast<unsigned long long>(resident)),
                     "ask cudaOccupancyMaxActiveBlocksPerMultiprocessor how many fit, and let each block do more"};
  }
  return {};
}

void run_blocks(Launch& launch, uint64_t begin, uint64_t end) {
  try {
    Worker::mine().run(launch, begin, end);
  } catch (const std::bad_alloc&) {
    launch.error = cudaErrorMemoryAllocation;
  }
}

// What is left of the grid, on one OS thread.
void run_rest(void* state, int64_t, int64_t) {
  Launch& launch = *static_cast<Launch*>(state);
  for (uint64_t begin, end; launch.take(begin, end);) run_blocks(launch, begin, end);
}

void run_sample(void* state, int64_t begin, int64_t end) {
  Launch& launch = *static_cast<Launch*>(state);
  for (int64_t i = begin; i < end; ++i) {
    const uint64_t block = (*launch.sample)[static_cast<size_t>(i)];
    run_blocks(launch, block, block + 1);
  }
}

// A block that waits for one that has not begun finds it here, whichever OS thread would have come to it.
void run_grid(Launch& launch) {
  constexpr uint64_t kPieces = 4;  // a thread, so that one slow thread does not hold up the rest
  const auto threads = static_cast<uint64_t>(ob::pool.size());
  launch.piece = threads == 1 ? launch.blocks() : (launch.blocks() - 1) / (threads * kPieces) + 1;
  const uint64_t pieces = (launch.blocks() - 1) / launch.piece + 1;
  ob::pool.run(static_cast<int64_t>(std::min(threads, pieces)), 1, run_rest, &launch);
}

void run(Launch& launch, bool sample_alone) {
  if (sample_alone) return ob::pool.run(static_cast<int64_t>(launch.sample->size()), 1, run_sample, &launch);
  launch.most_resident = resident_blocks(launch.block, launch.shared_bytes);
  if (!launch.cooperative) return run_grid(launch);
  try {
    Worker::mine().run_cooperative(launch);
  } catch (const std::bad_alloc&) {
    launch.error = cudaErrorMemoryAllocation;
  }
}

void launch_later(Worker& parent, const Configuration& given, const ob_twin_kernel* kernel, const char* name,
                  const void* arguments) {
  const auto* const bytes = static_cast<const unsigned char*>(arguments);
  // The record of a kernel with checks that is called from one without belongs to the caller during the call.
  parent.launch().children.add({parent.block().linear,
                                given,
                                kernel->checked ? nullptr : kernel,
                                *kernel,
                                name,
                                {bytes, bytes + kernel->argument_bytes}});
}

// What a grid launches is work of its stream.
void launch_children(Children& children, cudaStream_t stream) {
  const checks::OnStream on_stream(stream);
  for (Child& child : children.take()) {
    configuration = child.configuration;
    configuration.stream = nullptr;
    ob_twin_launch(child.known == nullptr ? &child.kernel : child.known, child.name, child.arguments.data());
  }
}

std::vector<uint64_t> alone_of(const Configuration& c) {
  if (c.cooperative) return {};
  std::vector<uint64_t> asked = blocks_alone(dim(c.grid).count());
  return asked.empty() ? profile::blocks_alone(c.grid, c.block) : asked;
}

}  // namespace

bool Launch::take(uint64_t& begin, uint64_t& end) {
  if (piece == 0) return false;
  const uint64_t first = next.fetch_add(piece, std::memory_order_relaxed);
  if (first >= blocks()) return false;
  begin = first;
  end = std::min(first + piece, blocks());
  return true;
}

bool Launch::enter() {
  if (resident.fetch_add(1, std::memory_order_relaxed) + 1 < most_resident) return true;
  leave();
  return false;
}

void Children::add(Child child) {
  const std::lock_guard<std::mutex> lock(mutex_);
  all_.push_back(std::move(child));
}

std::vector<Child> Children::take() {
  std::stable_sort(all_.begin(), all_.end(), [](const Child& a, const Child& b) {
    return a.is_tail() != b.is_tail() ? b.is_tail() : a.block < b.block;
  });
  return std::move(all_);
}

}  // namespace opbridge_twin

using namespace opbridge_twin;

void ob_twin_configure(ob_twin_dim grid, ob_twin_dim block, size_t shared_bytes, cudaStream_t stream, int cooperative) {
  runtime_is_used();
  const void* const made_at = called_from(__builtin_return_address(0));
  configuration = {grid, block, shared_bytes, cooperative != 0, true, made_at, stream};
}

void ob_twin_launched() {
  if (!configuration.given) return;
  configuration = {};
  fputs(
      "opbridge CUDA twin: <<<>>> follows a function that is not a __global__ function of this source; it ran "
      "once, on the host\n",
      stderr);
  abort();
}

void ob_twin_ask_kernel() {
  asking = true;
  asked = nullptr;
}

const ob_twin_kernel* ob_twin_asked_kernel() {
  asking = false;
  return asked;
}

void ob_twin_launch(const ob_twin_kernel* kernel, const char* name, const void* arguments) {
  if (asking) {
    asked = kernel;
    return;
  }
  Configuration given = configuration;
  configuration = {};
  if (Worker* const parent = Worker::running()) return launch_later(*parent, given, kernel, name, arguments);
  if (some_stream_is_captured() && is_captured(given.stream)) {
    const cudaStream_t stream = std::exchange(given.stream, nullptr);
    const auto* const bytes = static_cast<const unsigned char*>(arguments);
    take_down(stream, [=, kept = std::vector<unsigned char>(bytes, bytes + kernel->argument_bytes)] {
      configuration = given;
      ob_twin_launch(kernel, name, kept.data());
      return poisoned();
    });
    return;
  }
  if (poisoned() != cudaSuccess) return launch_failed(poisoned(), name, given.made_at);
  checks::LaunchInfo info{name,
                          dim(given.grid),
                          dim(given.block),
                          given.made_at,
                          arguments,
                          kernel->argument_bytes,
                          dim(given.grid).count(),
                          given.stream,
                          given.shared_bytes};
  if (const std::optional<Objection> objects = objection(given, kernel)) {
    checks::bad_launch(info, objects->why, objects->advice);
    return launch_failed(objects->error, name, given.made_at);
  }
  others_wrote();
  if (kernels_do_nothing()) return;
  Sample sample = kernel->checked ? Sample{kernel->body, true, {}} : sample_of(kernel, info, given.cooperative);
  std::vector<uint64_t> alone = alone_of(given);
  const bool sample_alone = sample.body != nullptr && !alone.empty();
  if (sample_alone) sample = {sample.body, false, std::move(alone)};
  // Blocks without checks may concurrently write what this one reads, and so might blocks that were left out.
  if (sample.body != nullptr && (!sample.all || leaves_blocks_out())) checks::unseen_launch();
  if (!sample.all && sample.body != nullptr) info.checked_blocks = sample.blocks.size();
  checks::Launch* const checked = sample.body != nullptr ? checks::launch_begin(info) : nullptr;
  Launch launch{kernel,
                arguments,
                given.grid,
                given.block,
                given.shared_bytes,
                given.cooperative,
                info,
                checked,
                sample.body,
                sample.all ? nullptr : &sample.blocks,
                {0},
                {}};
  if (checked != nullptr) profile::launch_begins(launch);
  open_pages();
  catch_bad_calls();
  run(launch, sample_alone);
  kernels_wrote();
  close_to_host();
  auto error = static_cast<cudaError_t>(launch.error.load());
  if (checked != nullptr) {
    const int found = checks::launch_end(checked);
    if (found != 0) error = static_cast<cudaError_t>(found);
  }
  if (!sample.all) checks::unseen_launch();
  if (error != cudaSuccess) return poison(error);
  launch_children(launch.children, given.stream);
}
