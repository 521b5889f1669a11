// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include "gpu/meters.h"
#include "nvml/library.h"

namespace aliquot::nvml {

/// What a GPU is asked besides single metrics.
enum class Topic : std::uint8_t {
    kMemory,  // sets several metrics, as do the next ones
    kBar1,
    kUtilization,
    kFields,
    kMigMode,
    kRemappedRows,
    kVirtualization,
    kLicence,
    kGpuBusySamples,
    kMemoryBusySamples,
    kProcessUtilization,
    kComputeProcesses,  // in the order of ProcessKind
    kGraphicsProcesses,
    kMpsProcesses,
    kMonitoring,
    kCount
};

/// What a GPU has refused ("not supported"), so that it is not asked again. Kept until NVML is
/// initialised anew or the GPU's MIG mode changes.
class Refusals {
public:
    [[nodiscard]] bool has(gpu::Metric metric) const { return topics_[place(metric)]; }
    [[nodiscard]] bool has(Topic topic) const { return topics_[place(topic)]; }
    [[nodiscard]] bool has_field(unsigned field) const { return fields_.contains(field); }
    template <class Subject>
    void add(Subject subject) {
        topics_.set(place(subject));
    }
    void add_field(unsigned field) { fields_.insert(field); }

private:
    static std::size_t place(gpu::Metric metric) { return static_cast<std::size_t>(metric); }
    static std::size_t place(Topic topic) {
        return gpu::kMetricCount + static_cast<std::size_t>(topic);
    }
    std::bitset<gpu::kMetricCount + static_cast<std::size_t>(Topic::kCount)> topics_;
    std::set<unsigned> fields_;
};

/// The calls of one look at one GPU: passes over what it has refused, and notes what fails.
class Inquiry {
public:
    /// failures   where calls are noted that failed although an answer was to be expected
    Inquiry(const Library& library, nvmlDevice_t device, Refusals& refusals,
            std::vector<gpu::FailedCall>& failures)
        : library_(library), device_(device), refusals_(refusals), failures_(failures) {}

    [[nodiscard]] const Library& library() const { return library_; }
    [[nodiscard]] const Functions& nvml() const { return library_.nvml(); }
    [[nodiscard]] nvmlDevice_t device() const { return device_; }
    [[nodiscard]] Refusals& refusals() { return refusals_; }
    [[nodiscard]] bool anything_answered() const { return answered_; }
    /// Not NVML_SUCCESS: the GPU is lost or the driver gone; nothing is asked any more.
    [[nodiscard]] nvmlReturn_t end() const { return end_; }

    /// Whether `subject` may be asked at all.
    template <class Subject>
    [[nodiscard]] bool open(Subject subject) const {
        return end_ == NVML_SUCCESS && !refusals_.has(subject);
    }

    /// Calls `function` of the device. True: it has answered.
    template <class Subject, class Called, class... Arguments>
    bool ask(Subject subject, const Called& function, Arguments... arguments) {
        if (!open(subject)) return false;
        return note(subject, function.name(), function(device_, arguments...));
    }

    /// Notes what a call about `subject` was answered. True: NVML_SUCCESS.
    template <class Subject>
    bool note(Subject subject, const char* call, nvmlReturn_t code) {
        if (note_failure(call, code)) return true;
        if (is_lasting(code)) refusals_.add(subject);
        return false;
    }

    /// The same for what is not to be passed over the next time.
    bool note_failure(const char* call, nvmlReturn_t code);

private:
    static bool is_lasting(nvmlReturn_t code);

    const Library& library_;
    nvmlDevice_t device_;
    Refusals& refusals_;
    std::vector<gpu::FailedCall>& failures_;
    nvmlReturn_t end_ = NVML_SUCCESS;
    bool answered_ = false;
};

/// Whether `code` says that the GPU cannot be reached at all any more.
bool is_lost(nvmlReturn_t code);

}  // namespace aliquot::nvml
