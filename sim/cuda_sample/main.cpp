// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <string>
#include <vector>

#include "k8s/memory_amount.h"
#include "sim/cuda_sample/arguments.h"
#include "sim/cuda_sample/cuda_calls.h"

namespace {

using aliquot::Done;
using aliquot::Error;
using aliquot::Result;
using aliquot::sim::CudaCalls;
using aliquot::sim::SampleArguments;

constexpr const char* kHelp =
    "aliquot-cuda-sample: a small CUDA program; holds memory, computes, checks the results\n\n"
    "  --memory SIZE   held beside what it computes with, as 3Gi\n"
    "  --kernels N     run N kernels after the check, one after the other\n"
    "  --spin NS       how long each of them takes (1000000)\n"
    "  --for SECONDS   stay so long afterwards, or until SIGTERM\n"
    "  --hold          stay until SIGTERM\n\n"
    "Example: aliquot-cuda-sample --memory 3Gi --for 60\n"
    "Its kernels are an image that only the simulated driver can compute.\n";
constexpr const char* kImage = "aliquot-kernels 1\nkernel vector_add\nkernel matmul\nkernel spin\n";

/// Memory of the device with these numbers in it.
Result<CUdeviceptr> on_device(const CudaCalls& cuda, const std::vector<float>& numbers) {
    CUdeviceptr address = 0;
    const std::size_t bytes = numbers.size() * sizeof(float);
    if (const auto result = cuda.allocate(&address, bytes)) return cuda.error("cuMemAlloc", result);
    const auto copied = cuda.to_device(address, numbers.data(), bytes);
    if (copied != CUDA_SUCCESS) return cuda.error("cuMemcpyHtoD", copied);
    return address;
}

Result<CUfunction> kernel(const CudaCalls& cuda, const char* name) {
    CUmodule module = nullptr;
    CUfunction function = nullptr;
    if (const auto result = cuda.load(&module, kImage))
        return cuda.error("cuModuleLoadData", result);
    const auto found = cuda.function(&function, module, name);
    if (found != CUDA_SUCCESS) return cuda.error("cuModuleGetFunction", found);
    return function;
}

/// Runs a kernel of two operands and one result. Returns the result.
Result<std::vector<float>> run(const CudaCalls& cuda, const char* name, const std::vector<float>& a,
                               const std::vector<float>& b, unsigned size) {
    constexpr unsigned kBlock = 256;
    const auto function = kernel(cuda, name);
    if (!function) return function.error();
    std::array<CUdeviceptr, 3> addresses{};
    const std::vector<float> nothing(a.size());
    const std::array<const std::vector<float>*, 3> contents = {&a, &b, &nothing};
    for (std::size_t i = 0; i < contents.size(); ++i) {
        const auto address = on_device(cuda, *contents[i]);
        if (!address) return address.error();
        addresses[i] = *address;
    }
    std::array<void*, 4> arguments = {&addresses[0], &addresses[1], &addresses[2], &size};
    const auto blocks = static_cast<unsigned>((a.size() + kBlock - 1) / kBlock);
    const auto launched =
        cuda.launch(*function, blocks, 1, 1, kBlock, 1, 1, 0, nullptr, arguments.data(), nullptr);
    if (launched != CUDA_SUCCESS) return cuda.error("cuLaunchKernel", launched);
    std::vector<float> answer(a.size());
    const auto copied = cuda.to_host(answer.data(), addresses[2], answer.size() * sizeof(float));
    if (copied != CUDA_SUCCESS) return cuda.error("cuMemcpyDtoH", copied);
    return answer;
}

Result<Done> check_arithmetic(const CudaCalls& cuda) {
    constexpr unsigned kSide = 64;
    std::vector<float> a(kSide * kSide);
    std::vector<float> b(kSide * kSide);
    for (unsigned i = 0; i < kSide * kSide; ++i) {
        a[i] = static_cast<float>(i % 11);
        b[i] = static_cast<float>(i % 13);
    }
    const auto sums = run(cuda, "vector_add", a, b, kSide * kSide);
    if (!sums) return sums.error();
    const auto product = run(cuda, "matmul", a, b, kSide);
    if (!product) return product.error();
    for (unsigned i = 0; i < kSide; ++i) {
        for (unsigned j = 0; j < kSide; ++j) {
            float expected = 0;
            for (unsigned k = 0; k < kSide; ++k) expected += a[i * kSide + k] * b[k * kSide + j];
            const unsigned at = i * kSide + j;
            if ((*product)[at] == expected && (*sums)[at] == a[at] + b[at]) continue;
            return Error{aliquot::ErrorCode::kUnavailable,
                         "element " + std::to_string(at) + " is wrong"};
        }
    }
    return Done{};
}

Result<Done> run_kernels(const CudaCalls& cuda, const SampleArguments& asked) {
    if (asked.kernels == 0) return Done{};
    const auto function = kernel(cuda, "spin");
    if (!function) return function.error();
    std::uint64_t duration = asked.spin_ns;
    std::array<void*, 1> arguments = {&duration};
    for (std::uint64_t i = 0; i < asked.kernels; ++i) {
        const auto launched =
            cuda.launch(*function, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments.data(), nullptr);
        if (launched != CUDA_SUCCESS) return cuda.error("cuLaunchKernel", launched);
    }
    const auto done = cuda.synchronize();
    if (done != CUDA_SUCCESS) return cuda.error("cuCtxSynchronize", done);
    return Done{};
}

/// Keeps what it holds until SIGTERM or SIGINT, or as long as it was asked to.
void stay(const SampleArguments& asked) {
    sigset_t ends{};
    ::sigemptyset(&ends);
    ::sigaddset(&ends, SIGTERM);
    ::sigaddset(&ends, SIGINT);
    ::sigprocmask(SIG_BLOCK, &ends, nullptr);
    const timespec limit{.tv_sec = static_cast<time_t>(asked.hold_seconds), .tv_nsec = 0};
    if (asked.hold) {
        ::sigwaitinfo(&ends, nullptr);
    } else if (asked.hold_seconds > 0) {
        ::sigtimedwait(&ends, nullptr, &limit);
    }
}

Result<Done> work(const SampleArguments& asked) {
    const auto cuda = CudaCalls::find();
    if (!cuda) return cuda.error();
    if (const auto result = cuda->init(0)) return cuda->error("cuInit", result);
    CUcontext context = nullptr;
    if (const auto result = cuda->retain(&context, 0)) {
        return cuda->error("cuDevicePrimaryCtxRetain", result);
    }
    if (const auto result = cuda->set_current(context))
        return cuda->error("cuCtxSetCurrent", result);
    if (asked.memory_bytes > 0) {
        CUdeviceptr held = 0;
        const auto result = cuda->allocate(&held, asked.memory_bytes);
        if (result != CUDA_SUCCESS) return cuda->error("cuMemAlloc", result);
    }
    if (auto right = check_arithmetic(*cuda); !right) return right;
    const auto start = std::chrono::steady_clock::now();
    if (auto ran = run_kernels(*cuda, asked); !ran) return ran;
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    std::array<char, 128> name{};
    (void)cuda->device_name(name.data(), static_cast<int>(name.size()), 0);
    std::size_t free = 0;
    std::size_t total = 0;
    (void)cuda->memory_info(&free, &total);
    std::printf("%s: arithmetic right, %s held, %s of %s free, %llu kernels in %.3f s\n",
                name.data(), aliquot::k8s::bytes_text(asked.memory_bytes).c_str(),
                aliquot::k8s::bytes_text(free).c_str(), aliquot::k8s::bytes_text(total).c_str(),
                static_cast<unsigned long long>(asked.kernels), elapsed.count());
    std::fflush(stdout);
    stay(asked);
    return Done{};
}

}  // namespace

int main(int count, char** words) {
    constexpr int kUsage = 2;
    const auto asked = aliquot::sim::read_arguments(
        {const_cast<const char* const*>(words + 1), static_cast<std::size_t>(count - 1)});
    if (!asked) {
        std::fprintf(stderr, "aliquot-cuda-sample: %s\n", asked.error().message.c_str());
        return kUsage;
    }
    if (asked->help) {
        std::fputs(kHelp, stdout);
        return 0;
    }
    const auto done = work(*asked);
    if (done) return 0;
    std::fprintf(stderr, "aliquot-cuda-sample: %s\n", done.error().message.c_str());
    return 1;
}
