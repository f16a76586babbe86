// There is no event 8.
extern "C" __global__ __aicore__ void ninth_event_kernel(GM_ADDR x) {
  SetFlag<HardEvent::V_MTE3>(8);
}

extern "C" void ninth_event() { run(ninth_event_kernel, "ninth_event", 1); }

// Reported:
// ascend-twin: ninth_event: the event's id is 8 [no-event]
//   where   broken/ninth_event.cpp:3, SetFlag of V_MTE3, block 0
//   hint    return ids by ReleaseEventID: a pair of pipes has 8, from 0 to 7
