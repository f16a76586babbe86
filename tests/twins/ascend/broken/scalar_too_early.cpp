// GetValue does not wait for the sum, and the compiler was told to put no flag there.
// Variable: OPBRIDGE_ASCEND_AUTO_SYNC=0
extern "C" __global__ __aicore__ void scalar_too_early_kernel(GM_ADDR x) {
  TPipe pipe;
  TBuf<TPosition::VECCALC> buffer;
  pipe.InitBuffer(buffer, 64);
  LocalTensor<float> tensor = buffer.Get<float>();
  Duplicate(tensor, 1.0f, 16);
  tensor.GetValue(0);
}

extern "C" void scalar_too_early() { run(scalar_too_early_kernel, "scalar_too_early", 1); }

// Reported:
// ascend-twin: scalar_too_early: reads what Duplicate may still be writing [missing-sync]
//   where   broken/scalar_too_early.cpp:9, GetValue on PIPE_S, block 0
//   before  broken/scalar_too_early.cpp:8, Duplicate on PIPE_V
//   memory  byte 0 of the 64 bytes of a VECCALC tensor at 0x0 of the unified buffer
//   needs   SetFlag<HardEvent::V_S> after the one, WaitFlag<HardEvent::V_S> before the other
//   hint    pipes run at the same time: pass the tensor by EnQue and DeQue, or put SetFlag and WaitFlag between
