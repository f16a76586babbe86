// Each block stores one number of its own, and all of them lie in one line of the scalar unit's cache.
extern "C" __global__ __aicore__ void shared_line_kernel(GM_ADDR x) {
  GlobalTensor<float> sums;
  sums.SetGlobalBuffer((__gm__ float*)x, GetBlockNum());
  sums.SetValue(GetBlockIdx(), 1.0f);
}

extern "C" void shared_line() { run(shared_line_kernel, "shared_line", 2); }

// Reported:
// ascend-twin: shared_line: another block changes other bytes of a cache line that neither has written back [shared-cache-line]
//   where   broken/shared_line.cpp:5, SetValue on PIPE_S, block 0
//   other   broken/shared_line.cpp:5, SetValue on PIPE_S, block 1
//   memory  64 bytes at 0x…, byte 0 of the 256 bytes of GmAlloc's memory
//   hint    call DataCacheCleanAndInvalid after SetValue, or keep blocks 64 bytes apart: a cache writes back whole lines
