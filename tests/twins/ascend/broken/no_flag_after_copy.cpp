// The addition does not wait for the copy: on a CPU it comes out right.
extern "C" __global__ __aicore__ void no_flag_after_copy_kernel(GM_ADDR x) {
  TPipe pipe;
  TBuf<TPosition::VECCALC> buffer;
  GlobalTensor<float> all;
  all.SetGlobalBuffer((__gm__ float*)x, 64);
  pipe.InitBuffer(buffer, 256);
  LocalTensor<float> tensor = buffer.Get<float>();
  DataCopy(tensor, all, 64);
  Adds(tensor, tensor, 1.0f, 64);
}

extern "C" void no_flag_after_copy() { run(no_flag_after_copy_kernel, "no_flag_after_copy", 1); }

// Reported:
// ascend-twin: no_flag_after_copy: reads what DataCopy may still be writing [missing-sync]
//   where   broken/no_flag_after_copy.cpp:10, Adds on PIPE_V, block 0
//   before  broken/no_flag_after_copy.cpp:9, DataCopy on PIPE_MTE2
//   memory  byte 0 of the 256 bytes of a VECCALC tensor at 0x0 of the unified buffer
//   needs   SetFlag<HardEvent::MTE2_V> after the one, WaitFlag<HardEvent::MTE2_V> before the other
//   hint    pipes run at the same time: pass the tensor by EnQue and DeQue, or put SetFlag and WaitFlag between
