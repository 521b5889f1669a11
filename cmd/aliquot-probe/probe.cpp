// SPDX-License-Identifier: Apache-2.0
#include "cmd/aliquot-probe/probe.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include "cmd/aliquot-probe/cuda.h"
#include "cmd/aliquot-probe/kernel.h"

namespace aliquot::probe {
namespace {

constexpr std::uint64_t kMiB = 1ULL << 20U;

/// Device memory that is given back.
class Block {
public:
    Block(const Cuda& cuda, std::uint64_t bytes) : cuda_(cuda) {
        result_ = cuda.allocate(&address_, bytes);
    }
    ~Block() {
        if (result_ == CUDA_SUCCESS) (void)cuda_.free(address_);
    }
    Block(const Block&) = delete;
    Block& operator=(const Block&) = delete;
    [[nodiscard]] CUresult result() const { return result_; }
    [[nodiscard]] CUdeviceptr address() const { return address_; }

private:
    const Cuda& cuda_;
    CUdeviceptr address_ = 0;
    CUresult result_ = CUDA_SUCCESS;
};

std::string uuid_text(const CUuuid& uuid, bool mig) {
    constexpr std::array<std::size_t, 4> kDashesBefore{4, 6, 8, 10};
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string text = mig ? "MIG-" : "GPU-";
    for (std::size_t i = 0; i < sizeof uuid.bytes; ++i) {
        if (std::ranges::find(kDashesBefore, i) != kDashesBefore.end()) text += '-';
        const auto byte = static_cast<unsigned char>(uuid.bytes[i]);
        text += kDigits[byte >> 4U];
        text += kDigits[byte & 15U];
    }
    return text;
}

Result<SeenGpu> describe(const Cuda& cuda, int index, CUdevice device) {
    SeenGpu gpu{.index = index};
    std::array<char, 256> name{};
    if (const auto got = cuda.device_name(name.data(), static_cast<int>(name.size()), device)) {
        return cuda.error("cuDeviceGetName", got);
    }
    gpu.name = std::string(name.data(), ::strnlen(name.data(), name.size()));
    CUuuid uuid{};
    if (cuda.device_uuid(&uuid, device) == CUDA_SUCCESS) {
        gpu.uuid = uuid_text(uuid, cuda.mig_uuids && gpu.name.find(" MIG ") != std::string::npos);
    }
    std::size_t bytes = 0;
    if (const auto got = cuda.total_memory(&bytes, device)) {
        return cuda.error("cuDeviceTotalMem", got);
    }
    gpu.memory_mib = bytes / kMiB;
    return gpu;
}

/// Runs the kernel over `count` elements. The index of the first wrong one, or `count`.
Result<std::size_t> first_wrong(const Cuda& cuda, std::uint32_t count) {
    const auto [a, b] = operands(count);
    const std::size_t bytes = std::size_t{count} * sizeof(float);
    const Block first(cuda, bytes);
    const Block second(cuda, bytes);
    const Block result(cuda, bytes);
    for (const Block* const one : {&first, &second, &result}) {
        if (one->result() != CUDA_SUCCESS) return cuda.error("cuMemAlloc", one->result());
    }
    if (const auto done = cuda.to_device(first.address(), a.data(), bytes)) {
        return cuda.error("cuMemcpyHtoD", done);
    }
    if (const auto done = cuda.to_device(second.address(), b.data(), bytes)) {
        return cuda.error("cuMemcpyHtoD", done);
    }
    CUmodule module = nullptr;
    if (const auto done = cuda.load(&module, kKernelText)) {
        return cuda.error("cuModuleLoadData", done);
    }
    CUfunction function = nullptr;
    if (const auto done = cuda.function(&function, module, kKernelName)) {
        return cuda.error("cuModuleGetFunction", done);
    }
    constexpr unsigned kBlockThreads = 256;
    CUdeviceptr first_address = first.address();
    CUdeviceptr second_address = second.address();
    CUdeviceptr result_address = result.address();
    std::array<void*, 4> parameters{&first_address, &second_address, &result_address, &count};
    const unsigned blocks = (count + kBlockThreads - 1) / kBlockThreads;
    if (const auto done = cuda.launch(function, blocks, 1, 1, kBlockThreads, 1, 1, 0, nullptr,
                                      parameters.data(), nullptr)) {
        return cuda.error("cuLaunchKernel", done);
    }
    if (const auto done = cuda.synchronize()) return cuda.error("cuCtxSynchronize", done);
    std::vector<std::uint32_t> found(count);
    if (const auto done = cuda.to_host(found.data(), result.address(), bytes)) {
        return cuda.error("cuMemcpyDtoH", done);
    }
    (void)cuda.unload(module);
    const auto expected = expected_result(a, b);
    const auto wrong = std::ranges::mismatch(found, expected);
    return static_cast<std::size_t>(wrong.in1 - found.begin());
}

struct Taken {
    std::uint64_t held_mib = 0;
    bool refused = false;
    CUresult other = CUDA_SUCCESS;  // a failure that is no refusal
};

/// Takes memory up to `most_mib` in smaller and smaller pieces, then gives all of it back.
Taken take_memory(const Cuda& cuda, std::uint64_t most_mib) {
    constexpr std::uint64_t kMostPieces = 4096;
    Taken taken;
    std::vector<std::unique_ptr<Block>> blocks;
    std::uint64_t piece_mib = std::max<std::uint64_t>(64, most_mib / 512);
    while (taken.held_mib < most_mib && blocks.size() < kMostPieces) {
        const std::uint64_t now = std::min(piece_mib, most_mib - taken.held_mib);
        auto block = std::make_unique<Block>(cuda, now * kMiB);
        if (block->result() == CUDA_SUCCESS) {
            taken.held_mib += now;
            blocks.push_back(std::move(block));
            continue;
        }
        if (block->result() != CUDA_ERROR_OUT_OF_MEMORY) {
            taken.other = block->result();
            return taken;
        }
        if (now == 1) {
            taken.refused = true;
            return taken;
        }
        piece_mib = std::max<std::uint64_t>(1, now / 2);
    }
    return taken;
}

void check_share(const Cuda& cuda, const SeenGpu& gpu, const Arguments& asked, Answer& answer) {
    auto& share = answer.share;
    if (share.ok == false) return;  // of a GPU before
    const std::uint64_t limit = *asked.expect_memory_bytes / kMiB;
    // A little more than the share: on a GPU without limits others must not be starved by us.
    const std::uint64_t beyond = limit + std::max<std::uint64_t>(64, limit / 16);
    const Taken taken = take_memory(cuda, beyond);
    const std::string who = gpu.uuid.empty() ? "GPU " + std::to_string(gpu.index) : gpu.uuid;
    share.limit_mib = limit;
    share.held_mib = taken.held_mib;
    share.refused_at_mib = taken.refused ? taken.held_mib : 0;
    share.ok = false;
    if (taken.other != CUDA_SUCCESS) {
        share.how = who + ": " + cuda.error("cuMemAlloc", taken.other).message;
    } else if (taken.held_mib > limit) {
        share.how = who + ": " + std::to_string(taken.held_mib) + " MiB were given, the share is " +
                    std::to_string(limit) + " MiB: nothing limits this container";
    } else if (taken.held_mib < limit / 2) {
        share.how = who + ": refused at " + std::to_string(taken.held_mib) +
                    " MiB already, the share is " + std::to_string(limit) +
                    " MiB: others hold the rest, or the limit is smaller";
    } else {
        share.ok = true;
        share.how = "more than " + std::to_string(taken.held_mib) + " MiB is refused";
    }
    if (share.ok == false) answer.problem = share.how;
}

void check_gpu(const Cuda& cuda, const SeenGpu& gpu, CUdevice device, const Arguments& asked,
               Answer& answer) {
    constexpr std::uint32_t kElements = 1U << 20U;
    const auto fail = [&](const std::string& why) {
        answer.arithmetic.ok = false;
        answer.arithmetic.how = "GPU " + std::to_string(gpu.index) + ": " + why;
        if (answer.problem.empty()) answer.problem = answer.arithmetic.how;
    };
    CUcontext context = nullptr;
    if (const auto done = cuda.retain(&context, device)) {
        return fail(cuda.error("cuDevicePrimaryCtxRetain", done).message);
    }
    if (const auto done = cuda.set_current(context)) {
        return fail(cuda.error("cuCtxSetCurrent", done).message);
    }
    const auto wrong = first_wrong(cuda, kElements);
    if (!wrong) return fail(wrong.error().message);
    if (*wrong != kElements) return fail("element " + std::to_string(*wrong) + " is wrong");
    answer.arithmetic.elements += kElements;
    if (!answer.arithmetic.ok) {
        answer.arithmetic.ok = true;
        answer.arithmetic.how =
            "a * b + a and integers, compiled by the driver, checked bit by bit";
    }
    if (asked.expect_memory_bytes && !asked.time_slices) check_share(cuda, gpu, asked, answer);
}

void check_visible(const Arguments& asked, Answer& answer) {
    if (!asked.expect_gpus) return;
    const auto found = static_cast<unsigned>(answer.gpus.size());
    answer.visible.expected = *asked.expect_gpus;
    answer.visible.ok = found == *asked.expect_gpus;
    if (*answer.visible.ok) return;
    answer.problem = std::to_string(found) + " GPUs are visible, " +
                     std::to_string(*asked.expect_gpus) + " were asked for";
}

std::string why_not_initialised(const Cuda& cuda, CUresult result) {
    const std::string said = cuda.error("cuInit", result).message;
    if (result == CUDA_ERROR_NO_DEVICE) {
        return "no GPU is visible: " + said +
               "; the pod asked for none, or the device plugin gave it none";
    }
    if (result == CUDA_ERROR_SYSTEM_DRIVER_MISMATCH) {
        return said + ": libcuda.so.1 and the kernel module are of different versions";
    }
    if (result == CUDA_ERROR_SYSTEM_NOT_READY) {
        return said + ": the system is not ready (NVSwitch machines need the fabric manager)";
    }
    return said;
}

}  // namespace

int Answer::exit_code() const {
    constexpr int kNotWell = 1;
    constexpr int kCouldNotAsk = 3;
    if (!could_ask) return kCouldNotAsk;
    const bool well = problem.empty() && visible.ok.value_or(true) &&
                      arithmetic.ok.value_or(false) && share.ok.value_or(true);
    return well ? 0 : kNotWell;
}

Answer look(const Arguments& asked) {
    Answer answer;
    answer.arithmetic.how = "not looked at";
    answer.share.how = !asked.expect_memory_bytes ? "no share was expected: --expect-memory"
                       : asked.time_slices        ? "time slices take turns and limit no memory"
                                                  : "not looked at";
    if (asked.expect_memory_bytes) answer.share.limit_mib = *asked.expect_memory_bytes / kMiB;
    const auto cuda = Cuda::find();
    if (!cuda) {
        answer.problem = cuda.error().message;
        return answer;
    }
    if (const auto done = cuda->init(0)) {
        answer.problem = why_not_initialised(*cuda, done);
        return answer;
    }
    int version = 0;
    if (cuda->driver_version(&version) == CUDA_SUCCESS) {
        answer.driver = std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
    }
    int count = 0;
    if (const auto done = cuda->device_count(&count)) {
        answer.problem = cuda->error("cuDeviceGetCount", done).message;
        return answer;
    }
    if (count == 0) {
        answer.problem = "the driver is here, but no GPU is visible to this container";
        return answer;
    }
    answer.could_ask = true;
    for (int index = 0; index < count; ++index) {
        CUdevice device = 0;
        const auto done = cuda->device(&device, index);
        auto gpu = done == CUDA_SUCCESS ? describe(*cuda, index, device)
                                        : Result<SeenGpu>(cuda->error("cuDeviceGet", done));
        if (!gpu) {
            answer.problem = "GPU " + std::to_string(index) + ": " + gpu.error().message;
            continue;
        }
        answer.gpus.push_back(*gpu);
        check_gpu(*cuda, *gpu, device, asked, answer);
    }
    check_visible(asked, answer);
    return answer;
}

}  // namespace aliquot::probe
