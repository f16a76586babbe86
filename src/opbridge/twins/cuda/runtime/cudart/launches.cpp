// What `<<<...>>>` and the call of a kernel do: the launch is checked, and run at once or taken down in a graph.
#include <stdio.h>
#include <stdlib.h>

#include <optional>
#include <utility>
#include <vector>

#include "engine/host_guard.h"
#include "engine/launch.h"
#include "engine/sampling.h"
#include "engine/worker.h"
#include "launch_limits.h"
#include "memory.h"
#include "profile.h"
#include "state.h"
#include "streams.h"
#include "write_record.h"

namespace opbridge_twin {

namespace {

// What <<<>>> has said and no kernel has taken yet.
thread_local Configuration configuration{};

thread_local bool asking = false;
thread_local const ob_twin_kernel* asked = nullptr;

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
  if (!sample_alone) launch.most_resident = resident_blocks(given.block, given.shared_bytes);
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
