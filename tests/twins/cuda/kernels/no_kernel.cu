// What no nvcc takes, and no rewriting finds out.
void no_kernel(int) {}
__device__ void wait() { __syncthreads(); }

extern "C" void launch_no_kernel() { no_kernel<<<1, 1>>>(3); }
extern "C" void wait_on_the_host() { wait(); }
