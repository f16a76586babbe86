// Arrays, textures and surfaces of one to three dimensions, for test_textures.py.
#include <cuda_runtime.h>

extern "C" int allocate(void** memory, size_t bytes) {
  const cudaError_t error = cudaMallocManaged(memory, bytes);
  return error != cudaSuccess ? error : cudaMemset(*memory, 0, bytes);
}
extern "C" int release(void* memory) { return cudaFree(memory); }

__global__ void fetch1(cudaTextureObject_t texture, const float* at, float* to, int n) {
  if (threadIdx.x < n) to[threadIdx.x] = tex1D<float>(texture, at[threadIdx.x]);
}
__global__ void fetch2(cudaTextureObject_t texture, const float2* at, float* to, int n) {
  if (threadIdx.x < n) to[threadIdx.x] = tex2D<float>(texture, at[threadIdx.x].x, at[threadIdx.x].y);
}
__global__ void fetch3(cudaTextureObject_t texture, const float3* at, float* to, int n) {
  if (threadIdx.x < n) {
    tex3D(&to[threadIdx.x], texture, at[threadIdx.x].x, at[threadIdx.x].y, at[threadIdx.x].z);
  }
}

// A box of floats as an array, looked up at n places.
extern "C" int look_up(const float* texels, int width, int height, int depth, const float* at, float* to, int n,
                       int mode, int linear, int normalized) {
  const cudaExtent extent = make_cudaExtent(width, height, depth);
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  cudaArray_t array;
  if (const cudaError_t error = cudaMalloc3DArray(&array, &format, extent)) return error;
  cudaMemcpy3DParms copy = {};
  copy.srcPtr = make_cudaPitchedPtr(const_cast<float*>(texels), width * sizeof(float), width, height ? height : 1);
  copy.dstArray = array;
  copy.extent = make_cudaExtent(width, height ? height : 1, depth ? depth : 1);
  copy.kind = cudaMemcpyDefault;
  if (const cudaError_t error = cudaMemcpy3D(&copy)) return error;
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaTextureDesc how = {};
  for (int i = 0; i < 3; ++i) how.addressMode[i] = static_cast<cudaTextureAddressMode>(mode);
  how.filterMode = linear ? cudaFilterModeLinear : cudaFilterModePoint;
  how.normalizedCoords = normalized;
  how.borderColor[0] = -1;
  cudaTextureObject_t texture;
  if (const cudaError_t error = cudaCreateTextureObject(&texture, &resource, &how, nullptr)) return error;
  if (depth) {
    fetch3<<<1, 64>>>(texture, reinterpret_cast<const float3*>(at), to, n);
  } else if (height) {
    fetch2<<<1, 64>>>(texture, reinterpret_cast<const float2*>(at), to, n);
  } else {
    fetch1<<<1, 64>>>(texture, at, to, n);
  }
  const cudaError_t error = cudaDeviceSynchronize();
  cudaDestroyTextureObject(texture);
  cudaFreeArray(array);
  return error;
}

__global__ void brighten(cudaTextureObject_t texture, float4* to, int width) {
  to[threadIdx.y * width + threadIdx.x] = tex2D<float4>(texture, threadIdx.x + 0.5f, threadIdx.y + 0.5f);
}
// Bytes in rows that lie apart, read as shares of 255.
extern "C" int as_shares(const unsigned char* pixels, float* to, int width, int height) {
  void* rows;
  size_t pitch;
  cudaMallocPitch(&rows, &pitch, width * sizeof(uchar4), height);
  cudaMemcpy2D(rows, pitch, pixels, width * sizeof(uchar4), width * sizeof(uchar4), height, cudaMemcpyDefault);
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypePitch2D;
  resource.res.pitch2D.devPtr = rows;
  resource.res.pitch2D.desc = cudaCreateChannelDesc<uchar4>();
  resource.res.pitch2D.width = width;
  resource.res.pitch2D.height = height;
  resource.res.pitch2D.pitchInBytes = pitch;
  cudaTextureDesc how = {};
  how.readMode = cudaReadModeNormalizedFloat;
  how.addressMode[0] = how.addressMode[1] = cudaAddressModeClamp;
  cudaTextureObject_t texture;
  if (const cudaError_t error = cudaCreateTextureObject(&texture, &resource, &how, nullptr)) return error;
  brighten<<<1, dim3(width, height)>>>(texture, reinterpret_cast<float4*>(to), width);
  const cudaError_t error = cudaDeviceSynchronize();
  cudaDestroyTextureObject(texture);
  cudaFree(rows);
  return error;
}

__global__ void turn(cudaSurfaceObject_t from, cudaSurfaceObject_t to, int n, int size) {
  const int x = threadIdx.x, y = threadIdx.y;
  if (x >= n || y >= n) return;
  surf2Dwrite(2 * surf2Dread<int>(from, x * size, y), to, y * size, x, cudaBoundaryModeTrap);
}
// Twice the transposed, through surfaces; `size` is what the kernel counts x in, and `n` how far it goes.
extern "C" int turned(const int* host, int* to, int width, int n, int size) {
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<int>();
  cudaSurfaceObject_t surfaces[2];
  cudaArray_t arrays[2];
  for (int i = 0; i < 2; ++i) {
    cudaMallocArray(&arrays[i], &format, width, width, cudaArraySurfaceLoadStore);
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = arrays[i];
    if (const cudaError_t error = cudaCreateSurfaceObject(&surfaces[i], &resource)) return error;
  }
  const size_t row = width * sizeof(int);
  cudaMemcpy2DToArray(arrays[0], 0, 0, host, row, row, width, cudaMemcpyDefault);
  turn<<<1, dim3(16, 16)>>>(surfaces[0], surfaces[1], n, size);
  cudaError_t error = cudaDeviceSynchronize();
  if (error == cudaSuccess) error = cudaMemcpy2DFromArray(to, row, arrays[1], 0, 0, row, width, cudaMemcpyDefault);
  return error;
}
