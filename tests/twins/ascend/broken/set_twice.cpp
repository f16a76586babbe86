// A loop sets the flag again before anybody has waited for it.
extern "C" __global__ __aicore__ void set_twice_kernel(GM_ADDR x) {
  for (int tile = 0; tile < 2; ++tile) {
    SetFlag<HardEvent::V_MTE3>(EVENT_ID1);
  }
}

extern "C" void set_twice() { run(set_twice_kernel, "set_twice", 1); }

// Reported:
// ascend-twin: set_twice: set twice with no WaitFlag between [unpaired-flag]
//   where   broken/set_twice.cpp:4, SetFlag of V_MTE3, id 1, block 0
//   before  broken/set_twice.cpp:4
//   hint    match each SetFlag with one later WaitFlag of the same event and id
