#include "launch_limits.h"

#include <stdio.h>

#include <utility>

#include "device.h"

namespace opbridge_twin {

namespace {

template <class... Values>
std::string text(const char* format, Values... values) {
  char written[256];
  snprintf(written, sizeof written, format, values...);
  return written;
}

}  // namespace

uint64_t resident_blocks(ob_twin_dim block, size_t shared_bytes) {
  const auto threads = static_cast<unsigned>(dim(block).count());
  return uint64_t{kMultiprocessors} * blocks_per_multiprocessor(threads, shared_bytes);
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

}  // namespace opbridge_twin
