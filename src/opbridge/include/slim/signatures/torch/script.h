/* Stands before PyTorch's header of this name, as extension.h beside it does. */
#include "extension.h"
