// A function that is not inline, which the compiler puts no flags into.
__aicore__ float out_of_line_sum(const LocalTensor<float>& tensor) {
  Duplicate(tensor, 1.0f, 16);
  return tensor.GetValue(0);
}

extern "C" __global__ __aicore__ void out_of_line_kernel(GM_ADDR x) {
  TPipe pipe;
  TBuf<TPosition::VECCALC> buffer;
  pipe.InitBuffer(buffer, 64);
  out_of_line_sum(buffer.Get<float>());
}

extern "C" void out_of_line() { run(out_of_line_kernel, "out_of_line", 1); }

// Reported:
// ascend-twin: out_of_line: reads what Duplicate may still be writing [missing-sync]
//   where   broken/out_of_line.cpp:4, GetValue on PIPE_S, block 0
//   before  broken/out_of_line.cpp:3, Duplicate on PIPE_V
//   memory  byte 0 of the 64 bytes of a VECCALC tensor at 0x0 of the unified buffer
//   needs   SetFlag<HardEvent::V_S> after the one, WaitFlag<HardEvent::V_S> before the other
//   or      inline for the function that it stands in: --cce-auto-sync leaves others alone
//   hint    pipes run at the same time: pass the tensor by EnQue and DeQue, or put SetFlag and WaitFlag between
