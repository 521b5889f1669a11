// SPDX-License-Identifier: Apache-2.0
#include "cmd/aliquot-probe/work.h"

#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <numeric>
#include <thread>
#include <vector>

#include "cmd/aliquot-probe/cuda.h"
#include "cmd/aliquot-probe/kernel.h"

namespace aliquot::probe {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint32_t kElements = 1U << 20U;
constexpr std::size_t kBytes = std::size_t{kElements} * sizeof(float);
constexpr std::chrono::milliseconds kAround{500};  // before and after what counts
constexpr unsigned kMostThreads = 256;

/// Calls `round` until the time is over, and until one of them was measured. Returns rounds per second of
/// the measured part.
template <class Round>
Result<double> repeat(unsigned measured_seconds, const Round& round) {
    const auto begin = Clock::now() + kAround;
    const auto end = begin + std::chrono::seconds(measured_seconds);
    double rounds = 0;
    auto first = begin;
    auto last = begin;
    for (auto now = Clock::now(); now < end + kAround || rounds == 0; now = Clock::now()) {
        const auto done = round();
        if (!done) return done.error();
        if (now < begin || (now >= end && rounds > 0)) continue;
        if (rounds == 0) first = now;
        rounds += *done;
        last = Clock::now();
    }
    const double seconds = std::chrono::duration<double>(last - first).count();
    if (seconds <= 0) {
        return Error{ErrorCode::kUnavailable, "one round took longer than the whole measurement"};
    }
    return rounds / seconds;
}

unsigned usable_cores() {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (::sched_getaffinity(0, sizeof set, &set) != 0) return 1;
    return std::clamp(static_cast<unsigned>(CPU_COUNT(&set)), 1U, kMostThreads);
}

/// Each core has a part of the array, and does it again and again.
Result<double> work_on_cpu(unsigned measured_seconds) {
    const unsigned cores = usable_cores();
    const Operands part = operands(kElements / cores);
    std::vector<double> speeds(cores);
    {
        std::vector<std::jthread> threads;
        for (double& speed : speeds) {
            threads.emplace_back([&part, &speed, measured_seconds] {
                std::atomic<std::uint32_t> kept{0};  // so that no round is left out
                const auto done = repeat(measured_seconds, [&]() -> Result<double> {
                    kept.store(expected_result(part.a, part.b).back());
                    return 1.0;
                });
                if (done) speed = *done;
            });
        }
    }
    if (std::ranges::find(speeds, 0.0) != speeds.end()) {
        return Error{ErrorCode::kUnavailable, "a core did not get to work"};
    }
    // A round of the whole array is one of each part.
    return std::accumulate(speeds.begin(), speeds.end(), 0.0) / cores;
}

/// The kernel with its arrays on the first visible GPU, for the rest of the process.
struct OnGpu {
    CUfunction function = nullptr;
    std::array<CUdeviceptr, 3> arrays{};
};

Result<OnGpu> prepare(const Cuda& cuda, const Operands& in) {
    OnGpu gpu;
    CUdevice device = 0;
    CUcontext context = nullptr;
    CUmodule module = nullptr;
    if (const auto done = cuda.init(0)) return cuda.error("cuInit", done);
    if (const auto done = cuda.device(&device, 0)) return cuda.error("cuDeviceGet", done);
    if (const auto done = cuda.retain(&context, device)) {
        return cuda.error("cuDevicePrimaryCtxRetain", done);
    }
    if (const auto done = cuda.set_current(context)) return cuda.error("cuCtxSetCurrent", done);
    for (CUdeviceptr& array : gpu.arrays) {
        if (const auto done = cuda.allocate(&array, kBytes)) return cuda.error("cuMemAlloc", done);
    }
    if (const auto done = cuda.to_device(gpu.arrays[0], in.a.data(), kBytes)) {
        return cuda.error("cuMemcpyHtoD", done);
    }
    if (const auto done = cuda.to_device(gpu.arrays[1], in.b.data(), kBytes)) {
        return cuda.error("cuMemcpyHtoD", done);
    }
    if (const auto done = cuda.load(&module, kKernelText)) {
        return cuda.error("cuModuleLoadData", done);
    }
    if (const auto done = cuda.function(&gpu.function, module, kKernelName)) {
        return cuda.error("cuModuleGetFunction", done);
    }
    return gpu;
}

/// A few launches, then one wait for all of them.
Result<double> round_on_gpu(const Cuda& cuda, OnGpu& gpu) {
    constexpr int kLaunches = 32;
    constexpr unsigned kBlockThreads = 256;
    std::uint32_t count = kElements;
    std::array<void*, 4> parameters{gpu.arrays.data(), &gpu.arrays[1], &gpu.arrays[2], &count};
    for (int i = 0; i < kLaunches; ++i) {
        if (const auto done =
                cuda.launch(gpu.function, kElements / kBlockThreads, 1, 1, kBlockThreads, 1, 1, 0,
                            nullptr, parameters.data(), nullptr)) {
            return cuda.error("cuLaunchKernel", done);
        }
    }
    if (const auto done = cuda.synchronize()) return cuda.error("cuCtxSynchronize", done);
    return double{kLaunches};
}

Result<double> work_on_gpu(unsigned measured_seconds) {
    const auto cuda = Cuda::find();
    if (!cuda) return cuda.error();
    const Operands in = operands(kElements);
    auto gpu = prepare(*cuda, in);
    if (!gpu) return std::move(gpu).error();
    auto speed = repeat(measured_seconds, [&] { return round_on_gpu(*cuda, *gpu); });
    std::vector<std::uint32_t> found(kElements);
    if (const auto done = cuda->to_host(found.data(), gpu->arrays[2], kBytes)) {
        return cuda->error("cuMemcpyDtoH", done);
    }
    if (found != expected_result(in.a, in.b)) {
        return Error{ErrorCode::kUnsupported, "the GPU's results are wrong"};
    }
    return speed;
}

}  // namespace

Result<double> work(Arguments::Work place, unsigned measured_seconds) {
    return place == Arguments::Work::kCpu ? work_on_cpu(measured_seconds)
                                          : work_on_gpu(measured_seconds);
}

}  // namespace aliquot::probe
