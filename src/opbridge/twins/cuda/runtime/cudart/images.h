// Libraries that stand for PTX, cubins and fatbins, as twins/cuda/nvcc/images.py writes them.
#ifndef OPBRIDGE_TWIN_RUNTIME_CUDART_IMAGES_H
#define OPBRIDGE_TWIN_RUNTIME_CUDART_IMAGES_H

#include <cuda.h>

#include <string>

namespace opbridge_twin {

// What dlopen gives for an image.  It is never closed: what is known of its kernels, of their lines and variables is
// known by addresses.
CUresult open_image(const char* image, void*& library);
// The same of a file that holds one.
CUresult read_image(const char* file, std::string& image);

}  // namespace opbridge_twin

// For NVRTC, which asks an image for its symbols: null where it is none.
extern "C" void* ob_twin_open_image(const char* image);

#endif
