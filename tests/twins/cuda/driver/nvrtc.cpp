// What a test asks NVRTC for: the first argument says what.
#include <cuda.h>
#include <nvrtc.h>
#include <stdio.h>
#include <stdlib.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#define SAY(call) puts(nvrtcGetErrorString(call))
#define DO(call)                                \
  if (const int result = (call); result != 0) { \
    printf("line %d: %d\n", __LINE__, result);  \
    exit(1);                                    \
  }

static const char kScale[] = R"(
#include "factor.h"
static __constant__ float offset;
extern "C" __global__ void scale(const float* x, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= n) out[i] = FACTOR * x[i] + offset;
}
)";
static const char kTemplate[] = R"(
float doubled(float x) { return 2 * x; }
namespace numbers {
__device__ int last = 5;
template <class T, int n>
__global__ void raise(T* x) { x[threadIdx.x] = doubled(x[threadIdx.x]) + n; }
}
__global__ void plain(float* x) { *x = 0; }
__global__ void plain(int* x) { *x = 0; }
)";
static const char kFactor[] = "#define FACTOR 3\n";

using Options = std::vector<const char*>;

static nvrtcResult compile(nvrtcProgram program, const Options& options = {}) {
  return nvrtcCompileProgram(program, static_cast<int>(options.size()), options.data());
}
static nvrtcProgram program_of(const char* source, const char* name) {
  nvrtcProgram program;
  const char *header = kFactor, *header_name = "factor.h";
  DO(nvrtcCreateProgram(&program, source, name, 1, &header, &header_name));
  return program;
}
static std::string log_of(nvrtcProgram program) {
  size_t bytes;
  DO(nvrtcGetProgramLogSize(program, &bytes));
  std::string log(bytes, '\0');
  DO(nvrtcGetProgramLog(program, log.data()));
  return log.c_str();
}
static std::string image_of(nvrtcProgram program) {
  size_t bytes;
  DO(nvrtcGetPTXSize(program, &bytes));
  std::string image(bytes, '\0');
  DO(nvrtcGetPTX(program, image.data()));
  return image;
}
static CUmodule loaded(nvrtcProgram program) {
  CUcontext context;
  CUmodule module;
  DO(cuInit(0));
  DO(cuCtxCreate(&context, 0, 0));
  // As programs keep it, up to its first zero.
  DO(cuModuleLoadDataEx(&module, std::string(image_of(program).c_str()).c_str(), 0, nullptr, nullptr));
  return module;
}
static CUdeviceptr ones(int n) {
  CUdeviceptr memory;
  const std::vector<float> values(n, 1);
  DO(cuMemAlloc(&memory, n * sizeof(float)));
  DO(cuMemcpyHtoD(memory, values.data(), n * sizeof(float)));
  return memory;
}
static float last_of(CUdeviceptr memory, int n) {
  std::vector<float> values(n);
  DO(cuMemcpyDtoH(values.data(), memory, n * sizeof(float)));
  return values[n - 1];
}

static void scale(int n, int said) {
  nvrtcProgram program = program_of(kScale, "scale.cu");
  DO(compile(program, {"--gpu-architecture=compute_80", "-default-device", "--std=c++17"}));
  printf("[%s]\n", log_of(program).c_str());
  const CUmodule module = loaded(program);
  CUfunction function;
  CUdeviceptr x = ones(n), out = ones(n), offset;
  DO(cuModuleGetFunction(&function, module, "scale"));
  DO(cuModuleGetGlobal(&offset, nullptr, module, "offset"));
  const float half = 0.5;
  DO(cuMemcpyHtoD(offset, &half, sizeof half));
  void* arguments[] = {&x, &out, &said};
  DO(cuLaunchKernel(function, 1, 1, 1, 128, 1, 1, 0, nullptr, arguments, nullptr));
  printf("%d\n", cuCtxSynchronize());
  printf("%g\n", last_of(out, n));
}

static void names() {
  nvrtcProgram program = program_of(kTemplate, "");
  const std::string raise = "numbers::raise<float, 4>", last = "&numbers::last";
  const std::string other = "(void (*)(int*))plain";
  for (const std::string& name : {raise, last, other}) DO(nvrtcAddNameExpression(program, name.c_str()));
  const char* lowered;
  SAY(nvrtcGetLoweredName(program, raise.c_str(), &lowered));
  DO(compile(program));
  SAY(nvrtcAddNameExpression(program, "late"));
  SAY(nvrtcGetLoweredName(program, "never", &lowered));
  for (const std::string& name : {raise, last, other}) {
    DO(nvrtcGetLoweredName(program, name.c_str(), &lowered));
    puts(lowered);
  }
  const CUmodule module = loaded(program);
  CUfunction function;
  CUdeviceptr x = ones(8), variable;
  size_t bytes;
  DO(nvrtcGetLoweredName(program, raise.c_str(), &lowered));
  DO(cuModuleGetFunction(&function, module, lowered));
  void* arguments[] = {&x};
  DO(cuLaunchKernel(function, 1, 1, 1, 8, 1, 1, 0, nullptr, arguments, nullptr));
  printf("%g\n", last_of(x, 8));
  DO(nvrtcGetLoweredName(program, last.c_str(), &lowered));
  DO(cuModuleGetGlobal(&variable, &bytes, module, lowered));
  printf("%zu\n", bytes);
}

static void mistakes() {
  nvrtcProgram program = program_of("__global__ void k(int* x) {\n  *x = absent;\n}\n", "folder/wrong.cu");
  SAY(compile(program));
  puts(log_of(program).c_str());
  size_t bytes;
  SAY(nvrtcGetPTXSize(program, &bytes));
  SAY(compile(program, {"--no-such-option"}));
  puts(log_of(program).c_str());
  DO(nvrtcDestroyProgram(&program));
  SAY(compile(program));
  SAY(nvrtcCreateProgram(nullptr, "", "", 0, nullptr, nullptr));
  program = program_of("__global__ void k() {}\n", nullptr);
  DO(nvrtcAddNameExpression(program, "k<int>"));
  SAY(compile(program));
}

static void facts() {
  int major, minor, count;
  DO(nvrtcVersion(&major, &minor));
  DO(nvrtcGetNumSupportedArchs(&count));
  std::vector<int> architectures(count);
  DO(nvrtcGetSupportedArchs(architectures.data()));
  std::string name;
  DO(nvrtcGetTypeName<const std::vector<int>*>(&name));
  printf("%d.%d %d %s\n", major, minor, architectures[0], name.c_str());
}

// By which it is seen whether two images were compiled apart.
static void image(const char* option) {
  nvrtcProgram program = program_of("__global__ void k(int* x) { *x = VALUE; }\n", "k.cu");
  DO(compile(program, {option}));
  printf("%zx\n", std::hash<std::string>()(image_of(program)));
}

int main(int, char** argv) {
  const std::map<std::string, std::function<void()>> cases{{"scale", [] { scale(100, 99); }},
                                                           {"beyond", [] { scale(100, 100); }},
                                                           {"names", names},
                                                           {"mistakes", mistakes},
                                                           {"facts", facts},
                                                           {"image", [=] { image(argv[2]); }}};
  cases.at(argv[1])();
}
