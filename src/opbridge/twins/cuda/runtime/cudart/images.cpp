#include "images.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

namespace opbridge_twin {

namespace {

constexpr char kMark[] = "//opbridge-cuda-twin-image ";
constexpr size_t kMarkLength = sizeof kMark - 1;
// How programs for a GPU begin: ELF of NVIDIA's, and a bundle of such.
constexpr char kElf[] =
    "\x7f"
    "ELF";
constexpr char kFatbin[] = "\x50\xed\x55\xba";

void say(const char* what) {
  fprintf(stderr,
          "opbridge CUDA twin: %s; the twin runs images that `opbridge twin nvcc -ptx`, `-cubin` or `-fatbin`, or its "
          "NVRTC, have made from CUDA C++\n",
          what);
}

// PTX says its version before anything but comments.
bool is_ptx(const char* text) {
  if (strchr("/. \t\r\n", *text) == nullptr) return false;
  const char* const end = text + strnlen(text, 4096);
  return std::string(text, end).find(".version") != std::string::npos;
}

CUresult refuse(const char* image) {
  if (strncmp(image, kElf, sizeof kElf - 1) == 0 || strncmp(image, kFatbin, sizeof kFatbin - 1) == 0) {
    say("a module is code for a GPU");
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
  }
  if (is_ptx(image)) {
    say("a module is PTX for a GPU");
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
  }
  say("a module is not an image of a program");
  return CUDA_ERROR_INVALID_IMAGE;
}

int value_of(char letter) {
  if (letter >= 'A' && letter <= 'Z') return letter - 'A';
  if (letter >= 'a' && letter <= 'z') return letter - 'a' + 26;
  if (letter >= '0' && letter <= '9') return letter - '0' + 52;
  return letter == '+' ? 62 : letter == '/' ? 63 : -1;
}

// Decodes base64, up to the first letter outside of its alphabet.
std::string decoded(const char* text, size_t bytes) {
  std::string result;
  result.reserve(bytes);
  unsigned kept = 0;
  for (int bits = 0; result.size() < bytes && value_of(*text) >= 0; ++text) {
    kept = kept << 6 | static_cast<unsigned>(value_of(*text));
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    result += static_cast<char>(kept >> bits & 0xff);
  }
  return result;
}

// A file that nobody else can reach, and that is gone with the process.  It stays open: reports read its lines.
std::string file_of(const std::string& content) {
  const int file = memfd_create("opbridge-cuda-image", MFD_CLOEXEC);
  for (size_t done = 0; file >= 0 && done < content.size();) {
    const ssize_t written = write(file, content.data() + done, content.size() - done);
    if (written <= 0) return {};
    done += static_cast<size_t>(written);
  }
  return file < 0 ? "" : "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(file);
}

// An image is not linked to this library: whichever the process has, it finds by name.
void be_found() {
  Dl_info here;
  dladdr(reinterpret_cast<const void*>(&open_image), &here);
  dlopen(here.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL);
}

}  // namespace

CUresult open_image(const char* image, void*& library) {
  if (image == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (strncmp(image, kMark, kMarkLength) != 0) return refuse(image);
  char* text;
  const size_t bytes = strtoull(image + kMarkLength, &text, 10);
  const std::string content = *text == '\n' ? decoded(text + 1, bytes) : "";
  if (content.empty() || content.size() != bytes) {
    say("an image is not whole");
    return CUDA_ERROR_INVALID_IMAGE;
  }
  be_found();
  const std::string file = file_of(content);
  library = file.empty() ? nullptr : dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library != nullptr) return CUDA_SUCCESS;
  fprintf(stderr, "opbridge CUDA twin: an image cannot be loaded: %s\n", file.empty() ? strerror(errno) : dlerror());
  return CUDA_ERROR_INVALID_IMAGE;
}

CUresult read_image(const char* file, std::string& image) {
  if (file == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::ifstream in(file, std::ios::binary);
  if (!in) return CUDA_ERROR_FILE_NOT_FOUND;
  image.assign(std::istreambuf_iterator<char>(in), {});
  return CUDA_SUCCESS;
}

}  // namespace opbridge_twin

void* ob_twin_open_image(const char* image) {
  void* library = nullptr;
  return opbridge_twin::open_image(image, library) == CUDA_SUCCESS ? library : nullptr;
}
