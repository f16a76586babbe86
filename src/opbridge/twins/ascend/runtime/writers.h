// Records which instruction wrote which bytes, for hosts that find a wrong number in a result.
#ifndef OPBRIDGE_ASCEND_WRITERS_H
#define OPBRIDGE_ASCEND_WRITERS_H

namespace opbridge_ascend {

class Writes;

// Where a launch that begins is to note its writes; null where nobody asks.
Writes* writes_to_note();

}  // namespace opbridge_ascend
#endif
