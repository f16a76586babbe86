// Nobody sets the flag.
extern "C" __global__ __aicore__ void flag_never_set_kernel(GM_ADDR x) {
  WaitFlag<HardEvent::V_MTE3>(EVENT_ID1);
}

extern "C" void flag_never_set() { run(flag_never_set_kernel, "flag_never_set", 1); }

// Reported:
// ascend-twin: flag_never_set: waits for a flag that is never set; hardware would wait forever [unpaired-flag]
//   where   broken/flag_never_set.cpp:3, WaitFlag of V_MTE3, id 1, block 0
//   hint    match each SetFlag with one later WaitFlag of the same event and id
