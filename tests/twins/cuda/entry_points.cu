// Functions with the plain C call that no reader of the text would take for that, each doubling x.
#include <custom_aot_extra.h>

namespace {

__global__ void twice(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 2 * x[i];
}

int launch(void** params, int* ndims, int64_t** shapes) {
  int n = 1;
  for (int i = 0; i < ndims[0]; ++i) n *= static_cast<int>(shapes[0][i]);
  if (n > 0) twice<<<(n + 255) / 256, 256>>>(static_cast<float*>(params[0]), static_cast<float*>(params[1]), n);
  return 0;
}

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))
EXPORT int behind_a_word(int, void** params, int* ndims, int64_t** shapes, const char**, void*, void*) {
  return launch(params, ndims, shapes);
}

#define ARGUMENTS int, void **params, int *ndims, int64_t **shapes, const char **, void *, void *
extern "C" int behind_its_arguments(ARGUMENTS) { return launch(params, ndims, shapes); }

#define ENTRY(name, kind) EXPORT int name##_##kind(ARGUMENTS)
ENTRY(behind, everything) { return launch(params, ndims, shapes); }

using Shapes = int64_t**;
EXPORT auto behind_its_types(int, void** params, int* ndims, Shapes shapes, const char**, void*, void*) -> int {
  return launch(params, ndims, shapes);
}

// The way of MindSpore's own tests: an attribute, and a workspace that the host allocates.
__global__ void through_workspace(const float* x, float* y, float* workspace, float by, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) workspace[i] = x[i] * by;
  if (i < n) y[i] = workspace[i];
}

EXPORT int with_a_workspaceInit(int*, int64_t** shapes, const char**, AotExtra* extra) {
  extra->SetWorkSpace({shapes[0][0] * sizeof(float), 4});
  return 0;
}
EXPORT int with_a_workspace(int nparam, void** params, int*, int64_t** shapes, const char**, void*, void* block) {
  if (nparam != 4) return 4;
  const int n = static_cast<int>(shapes[0][0]);
  const float by = static_cast<AotExtra*>(block)->Attr<float>("by");
  through_workspace<<<(n + 255) / 256, 256>>>(static_cast<float*>(params[0]), static_cast<float*>(params[1]),
                                              static_cast<float*>(params[2]), by, n);
  return 0;
}

// One element too many of each.
EXPORT int too_far(int, void** params, int*, int64_t** shapes, const char**, void*, void*) {
  twice<<<1, 256>>>(static_cast<float*>(params[0]), static_cast<float*>(params[1]), static_cast<int>(shapes[0][0]) + 1);
  return 0;
}
