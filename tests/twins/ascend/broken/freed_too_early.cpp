// The next tile is loaded while a tensor that was freed before it was used up is still in use.
extern "C" __global__ __aicore__ void freed_too_early_kernel(GM_ADDR x) {
  TPipe pipe;
  TQue<TPosition::VECIN, 1> queue;
  TBuf<TPosition::VECCALC> buffer;
  GlobalTensor<float> all;
  all.SetGlobalBuffer((__gm__ float*)x, 64);
  pipe.InitBuffer(queue, 1, 64);
  pipe.InitBuffer(buffer, 64);
  for (uint32_t tile = 0; tile < 2; ++tile) {
    LocalTensor<float> loaded = queue.AllocTensor<float>();
    DataCopy(loaded, all[tile * 16], 16);
    queue.EnQue(loaded);
    loaded = queue.DeQue<float>();
    queue.FreeTensor(loaded);
    Adds(buffer.Get<float>(), loaded, 1.0f, 16);
  }
}

extern "C" void freed_too_early() { run(freed_too_early_kernel, "freed_too_early", 1); }

// Reported:
// ascend-twin: freed_too_early: writes what Adds may still be reading [missing-sync]
//   where   broken/freed_too_early.cpp:12, DataCopy on PIPE_MTE2, block 0
//   before  broken/freed_too_early.cpp:16, Adds on PIPE_V
//   memory  byte 0 of the 64 bytes of a VECIN tensor at 0x0 of the unified buffer
//   needs   SetFlag<HardEvent::V_MTE2> after the one, WaitFlag<HardEvent::V_MTE2> before the other
//   hint    pipes run at the same time: pass the tensor by EnQue and DeQue, or put SetFlag and WaitFlag between
