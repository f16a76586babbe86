// The second instruction needs what the first one computes, and the compiler was told to put no barrier there.
// Variable: OPBRIDGE_ASCEND_AUTO_SYNC=0
extern "C" __global__ __aicore__ void vector_too_early_kernel(GM_ADDR x) {
  TPipe pipe;
  TBuf<TPosition::VECCALC> buffer;
  pipe.InitBuffer(buffer, 64);
  LocalTensor<float> tensor = buffer.Get<float>();
  Duplicate(tensor, 1.0f, 16);
  Adds(tensor, tensor, 1.0f, 16);
}

extern "C" void vector_too_early() { run(vector_too_early_kernel, "vector_too_early", 1); }

// Reported:
// ascend-twin: vector_too_early: reads what Duplicate may still be writing [missing-sync]
//   where   broken/vector_too_early.cpp:9, Adds on PIPE_V, block 0
//   before  broken/vector_too_early.cpp:8, Duplicate on PIPE_V
//   memory  byte 0 of the 64 bytes of a VECCALC tensor at 0x0 of the unified buffer
//   needs   PipeBarrier<PIPE_V>() between the two
//   hint    pipes run at the same time: pass the tensor by EnQue and DeQue, or put SetFlag and WaitFlag between
