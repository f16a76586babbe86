// A reduction with too little room for what its repeats come to.
extern "C" __global__ __aicore__ void little_work_kernel(GM_ADDR x) {
  TPipe pipe;
  TBuf<TPosition::VECCALC> values, work;
  pipe.InitBuffer(values, 4096 * sizeof(float));
  pipe.InitBuffer(work, 32);
  auto tensor = values.Get<float>();
  Duplicate(tensor, 1.0f, 4096);
  ReduceMax(tensor, tensor, work.Get<float>(), 4096, true);
}

extern "C" void little_work() { run(little_work_kernel, "little_work", 1); }

// Reported:
// ascend-twin: little_work: elements of sharedTmpBuffer is 8 [bad-parameter]
//   where   broken/little_work.cpp:9, ReduceMax on PIPE_V, block 0
//   expected at least 144, for what each repeat comes to
//   hint    split the instruction, or correct the parameter
