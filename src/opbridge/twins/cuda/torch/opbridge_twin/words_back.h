// The end of what words_away.h begins.
#pragma pop_macro("data_ptr")
#pragma pop_macro("CUDA")
#pragma pop_macro("kCUDA")
#pragma pop_macro("is_cuda")
