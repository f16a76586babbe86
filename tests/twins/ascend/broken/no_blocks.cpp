// A launch of nothing.
extern "C" __global__ __aicore__ void no_blocks_kernel(GM_ADDR x) {
}

extern "C" void no_blocks() { run(no_blocks_kernel, "no_blocks", 0); }

// Reported:
// ascend-twin: no_blocks: blockDim is 0, and must be 1 to 65535 [bad-launch]
//   hint    correct the launch: no NPU accepts it
