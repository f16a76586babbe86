/* All that a source has which includes PyTorch's largest header, to be precompiled; it stands before no other of that
 * name.
 */
#ifndef OPBRIDGE_SLIM_WHOLE_EVERYTHING_H
#define OPBRIDGE_SLIM_WHOLE_EVERYTHING_H

#include <torch/extension.h>

#endif
