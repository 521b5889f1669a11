// SPDX-License-Identifier: Apache-2.0
// An honest tenant beside hostile ones: asks for GPU time without end, or answers requests, and tries
// its memory limit; until FILE is there. Prints "ready", each error, and at the end what it measured:
//
//   honest work FILE LIMIT     "done NS N": N kernels of 1 ms since the line before, 100 ms or longer
//   honest serve FILE LIMIT    "took NS US": how long an answer took
//
// NS is CLOCK_MONOTONIC, LIMIT the limit of its memory in bytes.
#include <dlfcn.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>
#include <vector>

#include "abi/cuda.h"

namespace {

using Clock = std::chrono::steady_clock;

constexpr unsigned long long kMillisecond = 1'000'000;

void* g_library = nullptr;

template <class Function>
Function entry(const char* name) {
    return reinterpret_cast<Function>(::dlsym(g_library, name));
}
#define ALIQUOT_CUDA(name) entry<decltype(&(name))>(#name)

void expect(CUresult result, CUresult expected, const char* what) {
    if (result == expected) return;
    std::printf("error %s: %d, expected %d\n", what, static_cast<int>(result),
                static_cast<int>(expected));
    std::fflush(stdout);
}

void expect_success(CUresult result, const char* what) { expect(result, CUDA_SUCCESS, what); }

class Tenant {
public:
    explicit Tenant(std::size_t limit) : limit_(limit) {
        g_library = ::dlopen("libcuda.so.1", RTLD_NOW);
        if (g_library == nullptr) std::exit(1);
        CUdevice device = 0;
        CUcontext context = nullptr;
        CUmodule module = nullptr;
        expect_success(ALIQUOT_CUDA(cuInit)(0), "cuInit");
        expect_success(ALIQUOT_CUDA(cuDeviceGet)(&device, 0), "cuDeviceGet");
        expect_success(ALIQUOT_CUDA(cuDevicePrimaryCtxRetain)(&context, device), "context");
        expect_success(ALIQUOT_CUDA(cuCtxSetCurrent)(context), "cuCtxSetCurrent");
        expect_success(ALIQUOT_CUDA(cuModuleLoadData)(&module, "aliquot-kernels 1\nkernel spin\n"),
                       "module");
        using GetFunction = CUresult (*)(CUfunction*, CUmodule, const char*);
        expect_success(entry<GetFunction>("cuModuleGetFunction")(&spin_, module, "spin"), "spin");
        launch_ = ALIQUOT_CUDA(cuLaunchKernel);
        wait_ = ALIQUOT_CUDA(cuCtxSynchronize);
    }
    /// So many kernels behind each other, to their end.
    void run(unsigned kernels, unsigned long long nanoseconds) const {
        void* parameters[]{&nanoseconds};
        for (unsigned i = 0; i < kernels; ++i) {
            expect_success(launch_(spin_, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr),
                           "launch");
        }
        expect_success(wait_(), "wait");
    }
    /// What it may have it gets, and no more.
    void try_memory() const {
        CUdeviceptr pointer = 0;
        expect(ALIQUOT_CUDA(cuMemAlloc_v2)(&pointer, limit_), CUDA_ERROR_OUT_OF_MEMORY,
               "more than the limit");
        expect_success(ALIQUOT_CUDA(cuMemAlloc_v2)(&pointer, limit_ / 4), "a quarter of it");
        expect_success(ALIQUOT_CUDA(cuMemFree_v2)(pointer), "free");
    }

private:
    std::size_t limit_;
    CUfunction spin_ = nullptr;
    decltype(&cuLaunchKernel) launch_ = nullptr;
    decltype(&cuCtxSynchronize) wait_ = nullptr;
};

long long ns_of(Clock::time_point time) {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 4) return 2;
    const bool serves = std::string_view(argv[1]) == "serve";
    const Tenant tenant(std::strtoull(argv[3], nullptr, 10));
    std::puts("ready");
    std::fflush(stdout);
    std::vector<std::pair<long long, long long>> measured;
    constexpr std::chrono::milliseconds kLook{100};
    constexpr unsigned kLooksBetweenTries = 10;
    constexpr unsigned kPauseUs = 10'000;
    constexpr unsigned kQueued = 8;  // so that a thread that comes late leaves no gap
    auto look = Clock::now() + kLook;
    long long done = 0;
    for (unsigned looks = 0;;) {
        const auto begun = Clock::now();
        tenant.run(serves ? 1 : kQueued, serves ? kMillisecond / 2 : kMillisecond);
        const auto now = Clock::now();
        done += kQueued;
        if (serves) {
            measured.emplace_back(ns_of(now), (ns_of(now) - ns_of(begun)) / 1000);
            ::usleep(kPauseUs);
        }
        if (now < look) continue;
        look = now + kLook;
        if (!serves) measured.emplace_back(ns_of(now), std::exchange(done, 0));
        if (::access(argv[2], F_OK) == 0) break;
        if (++looks % kLooksBetweenTries == 0) tenant.try_memory();
    }
    for (const auto& [time, value] : measured) {
        std::printf("%s %lld %lld\n", serves ? "took" : "done", time, value);
    }
    return 0;
}
