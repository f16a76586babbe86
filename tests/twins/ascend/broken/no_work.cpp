// A block that has nothing to do divides it into tiles.
extern "C" __global__ __aicore__ void no_work_kernel(GM_ADDR x) {
  GlobalTensor<int32_t> mine;
  mine.SetGlobalBuffer((__gm__ int32_t*)x, 64);
  const int32_t count = mine.GetValue(0);
  const int32_t tiles = (count + 7) / 8;
  mine.SetValue(1, count % tiles);
}

extern "C" void no_work() { run(no_work_kernel, "no_work", 1); }

// Reported:
// ascend-twin: no_work: divides an integer by zero [division-by-zero]
//   where   after broken/no_work.cpp:5, GetValue on PIPE_S, block 0
//   hint    return from a block without work before dividing by the amount of work
