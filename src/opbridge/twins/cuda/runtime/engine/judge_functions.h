// What a judge does to the twin.  Programs cannot name these functions: a judge takes them before it loads a program.
#ifndef OPBRIDGE_TWIN_RUNTIME_JUDGE_FUNCTIONS_H
#define OPBRIDGE_TWIN_RUNTIME_JUDGE_FUNCTIONS_H

#include <stddef.h>

namespace opbridge_twin {

// Opens the file that records go to, and reads the key from a file next to it, for the rest of the process.  Returns
// whether both could be done; they can be once.
int open_record(const char* path, const char* key);
// Begins a record with a name, with at most so many bytes of memory; without a name, ends it.  Memory as it is now
// counts as known.
void record(const char* name, size_t most);
// PyTorch has called an operator: its name, the elements of its largest tensor, and the products and sums that it takes
// if it is a product of matrices, a convolution or attention.
void operator_was_called(const char* name, double elements, double products);
// PyTorch has copied bytes to the host, or from there to the device.
void framework_copied(int to_host, size_t bytes);
// Keeps what memory holds now.
void keep_memory();
// Gives memory what it held when it was kept.  What was allocated since then holds NaN.
void take_back_memory();
// Switches kernels off, so that they do nothing, or on again.
void mute(int on);
// Simulates only so many blocks of each launch.
void run_alone(unsigned blocks);
// Gives the device another name, by which programs cannot tell it from the GPU that it stands for.
void name_device(const char* name);
// From now on, the clocks that programs read go so many times slower.
void slow_clocks(int times);

}  // namespace opbridge_twin
#endif
