// SPDX-License-Identifier: Apache-2.0
// The kernels that the simulated device can compute.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <span>
#include <vector>

#include "sim/cuda/address.h"
#include "sim/cuda/device.h"
#include "sim/cuda/driver.h"
#include "sim/cuda/image.h"
#include "sim/cuda/kernel.h"

namespace aliquot::sim {
namespace {

constexpr std::size_t kPointer = sizeof(CUdeviceptr);
constexpr std::uint64_t kLaunchNs = 2'000;  // before the first thread runs
constexpr std::uint64_t kDefaultSpinNs = 1'000'000;
constexpr unsigned kMostMatrix = 4096;  // computed on the CPU, after all

struct Known {
    std::string_view name;
    KernelKind kind;
    std::vector<std::size_t> arguments;  // sizes
};

const std::vector<Known>& known_kernels() {
    static const std::vector<Known> known = {
        {"vector_add", KernelKind::kVectorAdd, {kPointer, kPointer, kPointer, 4}},
        {"fill", KernelKind::kFill, {kPointer, 4, 4}},
        {"matmul", KernelKind::kMatmul, {kPointer, kPointer, kPointer, 4}},
        {"spin", KernelKind::kSpin, {8}},
        {kProbeKernel, KernelKind::kProbe, {kPointer, kPointer, kPointer, 4}},
    };
    return known;
}

const Known* find(KernelKind kind) {
    const auto& all = known_kernels();
    const auto found = std::ranges::find(all, kind, &Known::kind);
    return found == all.end() ? nullptr : &*found;
}

/// The arguments of a launch, one after the other.
class Reader {
public:
    explicit Reader(std::span<const unsigned char> bytes) : bytes_(bytes) {}
    template <class T>
    T next() {
        at_ = (at_ + sizeof(T) - 1) / sizeof(T) * sizeof(T);
        T value{};
        if (at_ + sizeof(T) <= bytes_.size()) std::memcpy(&value, bytes_.data() + at_, sizeof(T));
        at_ += sizeof(T);
        return value;
    }
    template <class T>
    T* array(std::uint64_t count) {
        const auto address = next<CUdeviceptr>();
        const bool there = address % alignof(T) == 0 && reach(address, count * sizeof(T));
        if (!there) bad_ = true;
        return reinterpret_cast<T*>(address);
    }
    [[nodiscard]] bool bad() const { return bad_; }

private:
    std::span<const unsigned char> bytes_;
    std::size_t at_ = 0;
    bool bad_ = false;
};

CUresult add_vectors(const Launch& launch) {
    Reader count_reader(std::span(launch.arguments)
                            .subspan(std::min<std::size_t>(3 * kPointer, launch.arguments.size())));
    const std::uint64_t count =
        std::min<std::uint64_t>(count_reader.next<std::uint32_t>(), launch.threads());
    Reader reader(launch.arguments);
    const auto* const a = reader.array<float>(count);
    const auto* const b = reader.array<float>(count);
    auto* const sum = reader.array<float>(count);
    if (reader.bad()) return CUDA_ERROR_ILLEGAL_ADDRESS;
    for (std::uint64_t i = 0; i < count; ++i) sum[i] = a[i] + b[i];
    return CUDA_SUCCESS;
}

CUresult fill(const Launch& launch) {
    Reader values(std::span(launch.arguments)
                      .subspan(std::min<std::size_t>(kPointer, launch.arguments.size())));
    const auto value = values.next<float>();
    const std::uint64_t count =
        std::min<std::uint64_t>(values.next<std::uint32_t>(), launch.threads());
    Reader reader(launch.arguments);
    auto* const array = reader.array<float>(count);
    if (reader.bad()) return CUDA_ERROR_ILLEGAL_ADDRESS;
    std::fill_n(array, count, value);
    return CUDA_SUCCESS;
}

/// What the PTX of aliquot-probe says.
CUresult probe(const Launch& launch) {
    Reader count_reader(std::span(launch.arguments)
                            .subspan(std::min<std::size_t>(3 * kPointer, launch.arguments.size())));
    const std::uint64_t count =
        std::min<std::uint64_t>(count_reader.next<std::uint32_t>(), launch.threads());
    Reader reader(launch.arguments);
    const auto* const a = reader.array<float>(count);
    const auto* const b = reader.array<float>(count);
    auto* const result = reader.array<std::uint32_t>(count);
    if (reader.bad()) return CUDA_ERROR_ILLEGAL_ADDRESS;
    for (std::uint64_t i = 0; i < count; ++i) {
        const auto bits = std::bit_cast<std::uint32_t>(std::fma(a[i], b[i], a[i]));
        result[i] = bits ^ (static_cast<std::uint32_t>(i) * 2654435761U);
    }
    return CUDA_SUCCESS;
}

CUresult multiply_matrices(const Launch& launch) {
    Reader size_reader(std::span(launch.arguments)
                           .subspan(std::min<std::size_t>(3 * kPointer, launch.arguments.size())));
    const std::uint64_t n = size_reader.next<std::uint32_t>();
    if (n > kMostMatrix) return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
    Reader reader(launch.arguments);
    const auto* const a = reader.array<float>(n * n);
    const auto* const b = reader.array<float>(n * n);
    auto* const product = reader.array<float>(n * n);
    if (reader.bad()) return CUDA_ERROR_ILLEGAL_ADDRESS;
    std::vector<float> row(n);
    for (std::uint64_t i = 0; i < n; ++i) {
        std::ranges::fill(row, 0.0F);
        for (std::uint64_t k = 0; k < n; ++k) {
            const float factor = a[i * n + k];
            for (std::uint64_t j = 0; j < n; ++j) row[j] += factor * b[k * n + j];
        }
        std::ranges::copy(row, product + i * n);
    }
    return CUDA_SUCCESS;
}

}  // namespace

KernelKind kernel_kind(std::string_view name) {
    const auto& all = known_kernels();
    const auto found = std::ranges::find(all, name, &Known::name);
    return found == all.end() ? KernelKind::kUnknown : found->kind;
}

Arguments read_arguments(const CUfunc_st& function, void** parameters, void** extra) {
    const Known* const known = find(function.kind);
    if (known == nullptr) return {CUDA_SUCCESS, {}};
    if (parameters == nullptr && extra != nullptr) {
        // Pairs of a name and a value; nullptr ends them.
        constexpr std::uintptr_t kBuffer = 1;
        constexpr std::uintptr_t kSize = 2;
        constexpr int kMostPairs = 8;
        const void* buffer = nullptr;
        std::size_t size = 0;
        for (int i = 0; i < kMostPairs && extra[2 * i] != nullptr; ++i) {
            const auto what = reinterpret_cast<std::uintptr_t>(extra[2 * i]);
            if (what == kBuffer) buffer = extra[2 * i + 1];
            if (what == kSize) size = *static_cast<std::size_t*>(extra[2 * i + 1]);
        }
        if (buffer == nullptr) return {CUDA_ERROR_INVALID_VALUE, {}};
        const auto* const from = static_cast<const unsigned char*>(buffer);
        return {CUDA_SUCCESS, {from, from + size}};
    }
    if (parameters == nullptr) {
        if (function.kind == KernelKind::kSpin) return {CUDA_SUCCESS, {}};
        if (!function.parameters.empty()) return {CUDA_SUCCESS, function.parameters};
        return {CUDA_ERROR_INVALID_VALUE, {}};
    }
    std::vector<unsigned char> bytes;
    for (std::size_t i = 0; i < known->arguments.size(); ++i) {
        const std::size_t size = known->arguments[i];
        if (parameters[i] == nullptr) return {CUDA_ERROR_INVALID_VALUE, {}};
        bytes.resize((bytes.size() + size - 1) / size * size);
        const auto* const from = static_cast<const unsigned char*>(parameters[i]);
        bytes.insert(bytes.end(), from, from + size);
    }
    return {CUDA_SUCCESS, std::move(bytes)};
}

namespace {

constexpr std::uint64_t kThreadsAtOnce = 2048;  // of a multiprocessor
constexpr std::uint64_t kBlocksAtOnce = 32;

std::uint64_t duration_ns(const Device& device, const Launch& launch) {
    if (launch.function->kind == KernelKind::kSpin) {
        if (launch.arguments.size() >= sizeof(std::uint64_t)) {
            return Reader(launch.arguments).next<std::uint64_t>();
        }
        return Driver::get().kernel_ns.value_or(kDefaultSpinNs);
    }
    if (const auto set = Driver::get().kernel_ns) return *set;
    // A round of what multiprocessors have under way takes a microsecond, of matmul as long as a
    // thread's row takes.
    const std::uint64_t at_once = std::max(device.multiprocessors, 1U) * kThreadsAtOnce;
    const std::uint64_t rounds = (launch.threads() + at_once - 1) / at_once;
    std::uint64_t round_ns = 1'000;
    if (launch.function->kind == KernelKind::kMatmul && launch.arguments.size() >= 28) {
        round_ns += Reader(std::span(launch.arguments).subspan(24)).next<std::uint32_t>();
    }
    return kLaunchNs + rounds * round_ns;
}

/// Of kSlots, what a part of the device comes to.
std::uint64_t slots_of(std::uint64_t part, std::uint64_t whole) {
    return part >= whole ? Queue::kSlots : (part * Queue::kSlots + whole - 1) / whole;
}

}  // namespace

Work work_of(const Device& device, const Launch& launch) {
    const std::uint64_t multiprocessors = std::max(device.multiprocessors, 1U);
    const std::uint64_t by_threads = slots_of(launch.threads(), multiprocessors * kThreadsAtOnce);
    const std::uint64_t by_blocks = slots_of(launch.blocks(), multiprocessors * kBlocksAtOnce);
    return {.duration_ns = duration_ns(device, launch),
            .slots = static_cast<unsigned>(std::max(by_threads, by_blocks))};
}

CUresult compute(const Launch& launch) {
    switch (launch.function->kind) {
        case KernelKind::kVectorAdd:
            return add_vectors(launch);
        case KernelKind::kFill:
            return fill(launch);
        case KernelKind::kMatmul:
            return multiply_matrices(launch);
        case KernelKind::kProbe:
            return probe(launch);
        default:
            return CUDA_SUCCESS;
    }
}

}  // namespace aliquot::sim
