// The destination begins one block into the source: a repeat writes what it still reads.
extern "C" __global__ __aicore__ void shifted_in_place_kernel(GM_ADDR x) {
  TPipe pipe;
  TBuf<TPosition::VECCALC> buffer;
  pipe.InitBuffer(buffer, 512);
  LocalTensor<float> tensor = buffer.Get<float>();
  Duplicate(tensor, 1.0f, 128);
  Adds(tensor[8], tensor, 1.0f, 64);
}

extern "C" void shifted_in_place() { run(shifted_in_place_kernel, "shifted_in_place", 1); }

// Reported:
// ascend-twin: shifted_in_place: bytes from src to dst is 32 [bad-parameter]
//   where   broken/shifted_in_place.cpp:8, Adds on PIPE_V, block 0
//   expected 0 for an instruction in place, or no memory in common
//   hint    split the instruction, or correct the parameter
