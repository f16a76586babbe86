// Only a cooperative launch has a barrier of the grid.
#include <cooperative_groups.h>
#include <cuda_runtime.h>

static __global__ void meet_in_plain_launch() {
  cooperative_groups::this_grid().sync();
}

extern "C" void grid_barrier_of_plain_launch() {
  meet_in_plain_launch<<<2, 32>>>();
  cudaDeviceSynchronize();
}

// Reported:
// cuda-twin: meet_in_plain_launch: grid.sync() in a launch that is not cooperative: use cudaLaunchCooperativeKernel [trap]
//   where   grid_barrier_of_plain_launch.cu:6, thread (0, 0, 0) of block (0, 0, 0)
//   hint    check why the kernel ran trap: it ended itself
