// A fractal goes to the middle of another one.
extern "C" __global__ __aicore__ void between_fractals_kernel(GM_ADDR x) {
  TPipe pipe;
  TBuf<TPosition::A1> from;
  TBuf<TPosition::A2> to;
  pipe.InitBuffer(from, 512);
  pipe.InitBuffer(to, 1024);
  LoadData(to.Get<half>()[128], from.Get<half>(), LoadData2DParams(0, 1, 1, 0, 0, false, 0));
}

extern "C" void between_fractals() { run(between_fractals_kernel, "between_fractals", 1); }

// Reported:
// ascend-twin: between_fractals: dst does not start at a multiple of 512 bytes [misaligned]
//   where   broken/between_fractals.cpp:8, LoadData on PIPE_MTE1, block 0
//   memory  it is byte 256 of the 1024 bytes of a A2 tensor at 0x0 of L0A
//   hint    start at a multiple of the alignment; DataCopyPad takes any address in global memory
