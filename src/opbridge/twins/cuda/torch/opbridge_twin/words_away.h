// From here to words_back.h, PyTorch headers see their own words: the macros of the twin are undefined.
#pragma push_macro("is_cuda")
#pragma push_macro("kCUDA")
#pragma push_macro("CUDA")
#pragma push_macro("data_ptr")
#undef is_cuda
#undef kCUDA
#undef CUDA
#undef data_ptr
