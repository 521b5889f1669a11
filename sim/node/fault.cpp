// SPDX-License-Identifier: Apache-2.0
#include "sim/node/fault.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>

#include "sim/node/events.h"
#include "sim/node/load.h"
#include "sim/node/mig.h"
#include "sim/node/model.h"
#include "sim/node/processes.h"
#include "sim/node/shared_state.h"
#include "sim/node/usage.h"

namespace aliquot::sim {
namespace {

constexpr std::uint64_t kXidFellOffTheBus = 79;
constexpr std::uint64_t kMostXid = 9999;
constexpr std::uint64_t kMostCallError = 999;  // NVML_ERROR_UNKNOWN
constexpr std::uint64_t kMostCelsius = 150;
constexpr std::uint64_t kMostEccErrors = 1'000'000;
constexpr std::array<std::uint64_t, 20> kXidsThatNeedReset = {
    46, 48, 54, 61, 62, 64, 74, 95, 110, 119, 120, 136, 137, 140, 142, 154, 155, 156, 158, 160};
constexpr std::array<std::uint64_t, 2> kXidsThatNeedReboot = {kXidFellOffTheBus, 143};

// Values of NVML's field GPU_RECOVERY_ACTION.
constexpr std::uint32_t kActionNone = 0;
constexpr std::uint32_t kActionReset = 1;
constexpr std::uint32_t kActionReboot = 2;
constexpr std::uint32_t kActionDrainAndReset = 4;

Error bad_value(const char* fault, std::uint64_t value, std::uint64_t least, std::uint64_t most) {
    return {ErrorCode::kInvalidInput, std::string(fault) + " " + std::to_string(value) +
                                          " cannot be: expected " + std::to_string(least) + " to " +
                                          std::to_string(most)};
}

Result<Done> apply_ecc(State& state, unsigned gpu, const Model& model, bool corrected,
                       std::uint64_t value) {
    if (model.ecc != Ecc::kOn) {
        return Error{ErrorCode::kUnsupported, "GPU " + std::to_string(gpu) + " (" +
                                                  std::string(model.product) +
                                                  ") has no ECC memory"};
    }
    if (value == 0 || value > kMostEccErrors) return bad_value("ecc", value, 1, kMostEccErrors);
    GpuState& changed = state.gpus[gpu];
    if (corrected) {
        changed.ecc_corrected_volatile += value;
        changed.ecc_corrected_aggregate += value;
        push_event(state, gpu, kEventEccCorrected, value);
        return Done{};
    }
    changed.ecc_uncorrected_volatile += value;
    changed.ecc_uncorrected_aggregate += value;
    changed.fault.remap_pending = 1;  // takes effect with the next reset
    if (model.remaps_rows()) changed.remapped_uncorrected += value;
    if (model.retires_pages()) changed.retired_uncorrected += value;
    push_event(state, gpu, kEventEccUncorrected, value);
    return Done{};
}

/// Of two recovery actions the one that includes the other.
std::uint32_t graver(std::uint32_t one, std::uint32_t other) {
    constexpr std::array<std::uint32_t, 4> kGravity = {kActionReboot, kActionReset,
                                                       kActionDrainAndReset, kActionNone};
    const std::array both{one, other};
    return *std::ranges::find_first_of(kGravity, both);
}

Result<Done> apply_xid(State& state, unsigned gpu, std::uint64_t xid, const Instance& where) {
    if (xid == 0 || xid > kMostXid) return bad_value("xid", xid, 1, kMostXid);
    FaultState& fault = state.gpus[gpu].fault;
    fault.last_xid = xid;
    fault.recovery_action = graver(fault.recovery_action, recovery_action_of(xid, where));
    if (xid == kXidFellOffTheBus) fault.lost = 1;
    push_event(state, gpu, kEventXid, xid, where);
    return Done{};
}

void clear(FaultState& fault) {
    const std::uint64_t last_xid = fault.last_xid;
    fault = FaultState{};
    fault.last_xid = last_xid;
}

/// Rows that wait for a reset to be replaced, or that no spare row was left for.
Result<Done> apply_bad_row(State& state, unsigned gpu, const Model& model, FaultKind kind) {
    const bool retires = kind == FaultKind::kRetirePending;
    if (retires ? !model.retires_pages() : !model.remaps_rows()) {
        return Error{ErrorCode::kUnsupported, "GPU " + std::to_string(gpu) + " (" +
                                                  std::string(model.product) + ") does not " +
                                                  (retires ? "retire pages" : "remap rows")};
    }
    GpuState& changed = state.gpus[gpu];
    if (kind == FaultKind::kRemapFailed) {
        changed.fault.remap_failed = 1;
        return Done{};
    }
    changed.fault.remap_pending = 1;
    if (retires)
        ++changed.retired_uncorrected;
    else
        ++changed.remapped_uncorrected;
    return Done{};
}

}  // namespace

Result<Done> apply_fault(State& state, unsigned gpu, FaultKind kind, std::uint64_t value,
                         const Instance& where) {
    GpuState& changed = state.gpus[gpu];
    const Model* const model = find_model(changed.model.view());
    if (model == nullptr) return Error{ErrorCode::kInvalidInput, "GPU of an unknown model"};
    if (!where.whole_gpu() && find_compute_instance(state, gpu, where) == nullptr) {
        return Error{ErrorCode::kNotFound, "GPU " + std::to_string(gpu) + " has no MIG device " +
                                               std::to_string(where.gpu_instance) + "/" +
                                               std::to_string(where.compute_instance)};
    }
    settle_gpu(state, gpu, monotonic_ns());  // sensors may jump now
    switch (kind) {
        case FaultKind::kXid:
            return apply_xid(state, gpu, value, where);
        case FaultKind::kLost:
            changed.fault.lost = 1;
            return Done{};
        case FaultKind::kCallError:
            if (value == 0 || value > kMostCallError) {
                return bad_value("call-error", value, 1, kMostCallError);
            }
            changed.fault.call_error = static_cast<std::uint32_t>(value);
            return Done{};
        case FaultKind::kHang: {
            const std::uint64_t milliseconds = std::min<std::uint64_t>(value, 1ULL << 40);
            changed.fault.hang_until_ns =
                value == 0 ? 0 : monotonic_ns() + milliseconds * 1'000'000;
            changed.fault.hang = 1;
            return Done{};
        }
        case FaultKind::kEccCorrected:
        case FaultKind::kEccUncorrected:
            return apply_ecc(state, gpu, *model, kind == FaultKind::kEccCorrected, value);
        case FaultKind::kThrottle:
            changed.fault.throttle = value;
            push_event(state, gpu, kEventClock, value);
            return Done{};
        case FaultKind::kTemperature:
            if (value > kMostCelsius) return bad_value("temperature", value, 0, kMostCelsius);
            changed.fault.temperature = static_cast<std::uint32_t>(value);
            return Done{};
        case FaultKind::kLinkWidth:
            if (value == 0 || value > model->pcie_width) {
                return bad_value("link-width", value, 1, model->pcie_width);
            }
            changed.fault.link_width = static_cast<std::uint32_t>(value);
            return Done{};
        case FaultKind::kRemapPending:
        case FaultKind::kRemapFailed:
        case FaultKind::kRetirePending:
            return apply_bad_row(state, gpu, *model, kind);
        case FaultKind::kDriverMismatch:
            state.driver_mismatch = 1;
            return Done{};
        case FaultKind::kClear:
            clear(changed.fault);
            state.driver_mismatch = 0;
            return Done{};
    }
    return Error{ErrorCode::kInvalidInput, "no such kind of fault"};
}

void apply_reset(State& state, unsigned gpu) {
    GpuState& changed = state.gpus[gpu];
    if (const Model* const model = find_model(changed.model.view()); model != nullptr) {
        settle_gpu(state, gpu, monotonic_ns());
        reset_mig(state, gpu);
    }
    const std::uint32_t remap_failed = changed.fault.remap_failed;
    clear(changed.fault);
    changed.fault.remap_failed = remap_failed;
    changed.ecc_corrected_volatile = 0;
    changed.ecc_uncorrected_volatile = 0;
}

std::string fault_text(const FaultState& fault) {
    std::string text;
    const auto add = [&](const std::string& words) { text += (text.empty() ? "" : ", ") + words; };
    if (fault.lost != 0) add("lost");
    if (fault.call_error != 0) add("call error " + std::to_string(fault.call_error));
    if (hangs(fault, monotonic_ns())) add("hang");
    if (fault.throttle != 0) {
        std::array<char, 32> hexadecimal{};
        std::snprintf(hexadecimal.data(), hexadecimal.size(), "throttle 0x%llx",
                      static_cast<unsigned long long>(fault.throttle));
        add(hexadecimal.data());
    }
    if (fault.temperature != 0) add("temperature " + std::to_string(fault.temperature) + " C");
    if (fault.link_width != 0) add("PCIe x" + std::to_string(fault.link_width));
    if (fault.remap_pending != 0) add("row or page waits for a reset");
    if (fault.remap_failed != 0) add("row remapping failed");
    if (fault.recovery_action == 1 && fault.lost == 0) add("needs GPU reset");
    if (fault.recovery_action == kActionDrainAndReset && fault.lost == 0) {
        add("needs GPU reset for one instance");
    }
    if (fault.recovery_action == 2 && fault.lost == 0) add("needs node reboot");
    return text;
}

bool hangs(const FaultState& fault, std::uint64_t now_ns) {
    return fault.hang != 0 && (fault.hang_until_ns == 0 || now_ns < fault.hang_until_ns);
}

unsigned recovery_action_of(std::uint64_t xid, const Instance& where) {
    if (std::ranges::find(kXidsThatNeedReboot, xid) != kXidsThatNeedReboot.end()) {
        return kActionReboot;
    }
    if (std::ranges::find(kXidsThatNeedReset, xid) == kXidsThatNeedReset.end()) return kActionNone;
    // The other instances go on until somebody has the time for a reset.
    return where.whole_gpu() ? kActionReset : kActionDrainAndReset;
}

}  // namespace aliquot::sim
