// SPDX-License-Identifier: Apache-2.0
// A small CUDA program for tests: does what its words say on device 0, one after the other, and
// prints a line for each.
//
//   alloc:BYTES   "alloc <CUresult>"
//   info          "free <bytes> total <bytes>"
//   wait:FILE     waits until the file is there; "waited 0"
//   spin:N        launches N kernels and waits for them; "spun <CUresult>"
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <string_view>

#include "abi/cuda.h"

namespace {

void* g_library = nullptr;

template <class Function>
Function entry(const char* name) {
    return reinterpret_cast<Function>(::dlsym(g_library, name));
}
#define ALIQUOT_CUDA(name) entry<decltype(&(name))>(#name)

void say(const char* format, auto... values) {
    std::printf(format, values...);
    std::printf("\n");
    std::fflush(stdout);
}

std::size_t number_of(std::string_view text) {
    std::size_t number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
}

CUresult begin() {
    g_library = ::dlopen("libcuda.so.1", RTLD_NOW);
    if (g_library == nullptr) return CUDA_ERROR_NOT_FOUND;
    CUresult result = ALIQUOT_CUDA(cuInit)(0);
    CUdevice device = 0;
    CUcontext context = nullptr;
    if (result == CUDA_SUCCESS) result = ALIQUOT_CUDA(cuDeviceGet)(&device, 0);
    if (result == CUDA_SUCCESS) {
        result = ALIQUOT_CUDA(cuDevicePrimaryCtxRetain)(&context, device);
    }
    if (result == CUDA_SUCCESS) result = ALIQUOT_CUDA(cuCtxSetCurrent)(context);
    return result;
}

CUresult spin(std::size_t count) {
    CUmodule module = nullptr;
    CUfunction function = nullptr;
    CUresult result = ALIQUOT_CUDA(cuModuleLoadData)(&module, "aliquot-kernels 1\nkernel spin\n");
    if (result == CUDA_SUCCESS) {
        using GetFunction = CUresult (*)(CUfunction*, CUmodule, const char*);
        result = entry<GetFunction>("cuModuleGetFunction")(&function, module, "spin");
    }
    for (std::size_t i = 0; i < count && result == CUDA_SUCCESS; ++i) {
        unsigned long long nanoseconds = 1'000'000;
        void* parameters[]{&nanoseconds};
        result = ALIQUOT_CUDA(cuLaunchKernel)(function, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters,
                                              nullptr);
    }
    if (result == CUDA_SUCCESS) result = ALIQUOT_CUDA(cuCtxSynchronize)();
    return result;
}

void act(std::string_view word) {
    const std::string_view value = word.substr(std::min(word.size(), word.find(':') + 1));
    if (word.starts_with("alloc:")) {
        CUdeviceptr pointer = 0;
        say("alloc %d", static_cast<int>(ALIQUOT_CUDA(cuMemAlloc_v2)(&pointer, number_of(value))));
    } else if (word == "info") {
        std::size_t free = 0;
        std::size_t total = 0;
        ALIQUOT_CUDA(cuMemGetInfo_v2)(&free, &total);
        say("free %zu total %zu", free, total);
    } else if (word.starts_with("wait:")) {
        constexpr unsigned kPauseUs = 10'000;
        while (::access(value.data(), F_OK) != 0) ::usleep(kPauseUs);
        say("waited %d", 0);
    } else if (word.starts_with("spin:")) {
        say("spun %d", static_cast<int>(spin(number_of(value))));
    }
}

}  // namespace

int main(int argc, char** argv) {
    const CUresult result = begin();
    if (result != CUDA_SUCCESS) {
        say("begin %d", static_cast<int>(result));
        return 1;
    }
    for (int i = 1; i < argc; ++i) act(argv[i]);
    return 0;
}
