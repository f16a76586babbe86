/* All that a source has which includes PyTorch's largest header, to be precompiled; it stands before no other of that name. */
#include <torch/extension.h>
