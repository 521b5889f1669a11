// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "abi/nvml.h"
#include "sim/node/immortal.h"
#include "sim/node/load.h"
#include "sim/node/mig.h"
#include "sim/node/model.h"
#include "sim/node/shared_state.h"
#include "sim/node/state.h"
#include "sim/node/usage.h"

/// What all calls of the simulated libnvidia-ml.so.1 have in common: is it initialised, which node
/// is it about, which GPU does a handle mean, and does that GPU answer at all.
namespace aliquot::sim {

inline constexpr std::uint32_t kPciVendor = 0x10de;  // NVIDIA

/// One MIG device at one moment.
struct MigDevice {
    Instance instance;
    const GpuProfile* profile = nullptr;  // of its GPU instance
    unsigned start = 0;                   // of its GPU instance, in memory slices
    ComputeInstanceState compute{};
    std::uint64_t used_bytes = 0;  // of its GPU instance's memory, by processes
    unsigned processes = 0;        // on this device
};

/// One GPU at one moment, with all that its sensors show.
struct Gpu {
    unsigned index = 0;  // as this process counts
    unsigned slot = 0;   // place in the node's state
    const Model* model = nullptr;
    GpuState state{};
    Load load;
    Figures figures;
    std::optional<MigDevice> device;  // the handle was one of a MIG device of this GPU

    [[nodiscard]] bool mig() const { return state.mig_current != 0; }
};

/// What a device handle means.
struct Target {
    unsigned index = 0;
    Instance instance;              // of a MIG device
    std::uint64_t incarnation = 0;  // of a MIG device
};

/// A GPU that a process may see. `devices` are the uuids of its MIG devices that it may see; empty:
/// it sees the GPU as an administrator does.
struct VisibleGpu {
    unsigned slot = 0;
    std::vector<std::string> devices;
};

/// The node as this process sees it, from the first nvmlInit to the last nvmlShutdown.
/// Thread-safe.
class Session {
public:
    /// ALIQUOT_SIM_STATE names the node's directory, else it is the nearest one above this library.
    /// ALIQUOT_SIM_VISIBLE_DEVICES, a comma list of uuids and indices, hides all other GPUs, as a
    /// container runtime does; "devices" stands for those that have files in /dev. The uuid of a MIG device, or "0:2", lets that device of the GPU be
    /// seen and no other.
    static std::pair<nvmlReturn_t, std::shared_ptr<Session>> open();

    /// Empty before nvmlInit.
    static std::shared_ptr<Session> current();

    [[nodiscard]] unsigned gpu_count() const { return static_cast<unsigned>(visible_.size()); }
    [[nodiscard]] unsigned slot_of(unsigned index) const { return visible_[index].slot; }
    /// It was given MIG devices of this GPU, so it may not change or list instances.
    [[nodiscard]] bool restricted(unsigned index) const { return !visible_[index].devices.empty(); }
    /// May it see that MIG device?
    [[nodiscard]] bool sees(unsigned index, std::string_view device_uuid) const;
    [[nodiscard]] std::optional<unsigned> index_of_slot(unsigned slot) const;
    [[nodiscard]] std::optional<Target> target_of(nvmlDevice_t device) const;
    [[nodiscard]] static nvmlDevice_t handle_of(unsigned index);

    /// Waits while the GPU hangs; then answers why it cannot be used (GPU_IS_LOST, an injected
    /// error, UNINITIALIZED after the last shutdown) or fills in `gpu`. INVALID_ARGUMENT for a MIG
    /// device that is gone.
    nvmlReturn_t look_at(const Target& target, Gpu& gpu);
    nvmlReturn_t look_at(unsigned index, Gpu& gpu) { return look_at(Target{.index = index}, gpu); }

    /// The state under lock; empty: NVML_ERROR_UNKNOWN is the answer.
    std::optional<SharedState::Access> lock() { return state_->lock(); }
    SharedState& shared() { return *state_; }
    /// This driver tells how a GPU could be cut also while its MIG mode is off.
    [[nodiscard]] bool tells_profiles_always() const { return driver_major_ >= 550; }
    [[nodiscard]] const std::filesystem::path& directory() const { return directory_; }

private:
    Session(std::unique_ptr<SharedState> state, std::filesystem::path directory)
        : state_(std::move(state)), directory_(std::move(directory)) {}
    std::unique_ptr<SharedState> state_;
    std::filesystem::path directory_;  // of the node
    std::vector<VisibleGpu> visible_;
    unsigned driver_major_ = 0;
};

/// Answers a call about one GPU or one of its MIG devices: `answer` is called with a Gpu that was
/// just looked at.
template <class Answer>
nvmlReturn_t with_device(nvmlDevice_t device, Answer&& answer) {
    const auto session = Session::current();
    if (!session) return NVML_ERROR_UNINITIALIZED;
    const auto target = session->target_of(device);
    if (!target) return NVML_ERROR_INVALID_ARGUMENT;
    Gpu gpu;
    if (const auto result = session->look_at(*target, gpu); result != NVML_SUCCESS) return result;
    return answer(gpu);
}

/// The same for the many calls that no MIG device supports.
template <class Answer>
nvmlReturn_t with_gpu(nvmlDevice_t device, Answer&& answer) {
    return with_device(device, [&](const Gpu& gpu) -> nvmlReturn_t {
        if (gpu.device) return NVML_ERROR_NOT_SUPPORTED;
        return answer(gpu);
    });
}

/// The same for calls that need or change the state: `answer` gets the Gpu and the locked State.
template <class Answer>
nvmlReturn_t with_state_of(nvmlDevice_t device, Answer&& answer) {
    return with_gpu(device, [&](const Gpu& gpu) -> nvmlReturn_t {
        const auto session = Session::current();
        if (!session) return NVML_ERROR_UNINITIALIZED;
        const auto state = session->lock();
        if (!state) return NVML_ERROR_UNKNOWN;
        return answer(gpu, **state);
    });
}

/// The common case: one number.
template <class Number, class Answer>
nvmlReturn_t tell(nvmlDevice_t device, Number* result, Answer&& answer) {
    return with_gpu(device, [&](const Gpu& gpu) {
        if (result == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
        *result = static_cast<Number>(answer(gpu));
        return NVML_SUCCESS;
    });
}

/// Two GPUs of one call, both looked at.
template <class Answer>
nvmlReturn_t with_pair(nvmlDevice_t first, nvmlDevice_t second, Answer&& answer) {
    return with_gpu(first, [&](const Gpu& a) {
        return with_state_of(second,
                             [&](const Gpu& b, const State& state) { return answer(a, b, state); });
    });
}

/// How long a GPU was slowed down by a policy, in nanoseconds.
std::uint64_t violation_ns(const LoadSums& sums, nvmlPerfPolicyType_t policy);

/// Copies text with its zero. Answers INVALID_ARGUMENT or INSUFFICIENT_SIZE.
nvmlReturn_t copy_text(std::string_view text, char* to, unsigned length);

/// How many bytes a two-call list has room for and needs; fills in `count`.
nvmlReturn_t begin_list(unsigned* count, const void* room, std::size_t needed);

/// Counted nvmlInit and nvmlShutdown.
nvmlReturn_t initialise();
nvmlReturn_t shut_down();

/// Event sets and samples that a client forgot end with the last shutdown.
void forget_event_sets();
void forget_samples();

}  // namespace aliquot::sim
