// Ends a launch that runs for longer than OPBRIDGE_TWIN_TIMEOUT seconds, in which the machine was not busy with others.
#ifndef OPBRIDGE_TWIN_CHECKS_WATCH_H
#define OPBRIDGE_TWIN_CHECKS_WATCH_H

namespace opbridge_twin::checks {

class Launch;

void watch(Launch* launch);
void stop_watching(Launch* launch);

// Ends the calling thread's launch, if its time is over: for the checks, where they hold no lock.
void end_if_late(const void* at);

// The calling thread begins or ends to run a block of the launch's.
void run_is_watched(Launch* launch, bool runs);

}  // namespace opbridge_twin::checks

#endif  // OPBRIDGE_TWIN_CHECKS_WATCH_H
