// Nobody waits for the flag.
extern "C" __global__ __aicore__ void flag_left_set_kernel(GM_ADDR x) {
  SetFlag<HardEvent::V_MTE3>(EVENT_ID1);
}

extern "C" void flag_left_set() { run(flag_left_set_kernel, "flag_left_set", 1); }

// Reported:
// ascend-twin: flag_left_set: set, but never waited for [unpaired-flag]
//   where   broken/flag_left_set.cpp:3, SetFlag of V_MTE3, id 1, block 0
//   hint    match each SetFlag with one later WaitFlag of the same event and id
