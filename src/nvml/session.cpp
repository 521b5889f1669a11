// SPDX-License-Identifier: Apache-2.0
#include "nvml/session.h"

#include <algorithm>
#include <utility>

#include "nvml/condition.h"
#include "nvml/device_facts.h"

namespace aliquot::nvml {
namespace {

using SteadyClock = std::chrono::steady_clock;

std::vector<gpu::PciAddress> addresses(const std::vector<KernelGpu>& gpus) {
    std::vector<gpu::PciAddress> result;
    result.reserve(gpus.size());
    for (const auto& gpu : gpus) result.push_back(gpu.pci);
    return result;
}

}  // namespace

Session::Session(std::shared_ptr<Attachment> attachment, std::shared_ptr<CallPosition> position,
                 const os::Root& root, DriverOptions options, std::optional<unsigned> index)
    : path_(attachment->path()),
      caller_(std::move(attachment), std::move(position)),
      root_(root),
      kernel_(root, options.driver_root),
      options_(std::move(options)),
      index_(index) {}

Result<Attachment::Visit> Session::enter() {
    auto visit = caller_.enter();
    if (!visit) return visit;
    library_ = &caller_.library();
    if (generation_ == caller_.generation()) return visit;
    forget();  // somebody else had it taken anew
    generation_ = caller_.generation();
    lost_gpu_seen_ = false;
    ready_since_ = SteadyClock::now();
    kernel_gpus_ = addresses(kernel_.gpus());
    kernel_version_ = kernel_.module_version();
    return visit;
}

void Session::forget() {
    faults_.forget();
    forget_devices();
}

void Session::forget_devices() {
    devices_.clear();
    profiles_.clear();
}

void Session::end() {
    if (const auto visit = caller_.enter_again()) faults_.close(*library_);
    forget();
    caller_.let_go();
}

void Session::refresh_when_replaced() {
    if (!caller_.current()) return;
    const auto now = addresses(kernel_.gpus());
    // A driver that is replaced under a running process goes on serving that process, and refuses
    // every new one: what is true for them is found out by beginning anew.
    const bool replaced =
        kernel_.module_version() != kernel_version_ || caller_.attachment()->is_replaced();
    if ((!now.empty() && now != kernel_gpus_) || replaced) end();
}

void Session::reopen_when_lost() {
    const bool due = SteadyClock::now() - ready_since_ >= options_.reopen_after;
    if (lost_gpu_seen_ && due && caller_.current()) end();
}

Result<Done> Session::list_devices() {
    unsigned first = index_.value_or(0);
    unsigned end = first + 1;
    if (!index_) {
        const auto count = library_->count();
        if (!count.ok()) {
            return Error{ErrorCode::kUnavailable, "NVIDIA driver: " + library_->text(count.code) +
                                                      " when asked for its GPUs"};
        }
        end = count.value;
    }
    devices_.clear();
    for (; first < end; ++first) {
        Device device;
        const auto handle = library_->handle(first);
        device.problem = handle.code;
        if (handle.ok()) {
            device.handle = handle.value;
            const auto uuid = library_->uuid(device.handle);
            device.problem = uuid.code;
            if (uuid.ok()) device.uuid.text = uuid.value;
        }
        devices_.push_back(std::move(device));
    }
    return Done{};
}

Answer<nvmlDevice_t> Session::find_device(const gpu::Uuid& gpu) {
    for (const bool listed : {true, false}) {
        const auto match = std::ranges::find(devices_, gpu, &Device::uuid);
        if (match != devices_.end() && !gpu.text.empty()) return {NVML_SUCCESS, match->handle};
        if (listed && !list_devices()) return {NVML_ERROR_UNKNOWN, nullptr};
    }
    Answer<nvmlDevice_t> answer{NVML_ERROR_NOT_FOUND, nullptr};
    if (!index_) {  // the driver looks at other GPUs too until it has found it
        answer.code = library_->nvml().nvmlDeviceGetHandleByUUID(gpu.text.c_str(), &answer.value);
        if (answer.ok() || !is_not_reported(answer.code)) return answer;
    }
    // A GPU that cannot tell its UUID may be the wanted one.
    const auto failing = std::ranges::find_if(
        devices_, [](const Device& device) { return device.problem != NVML_SUCCESS; });
    answer.code = failing != devices_.end() ? failing->problem : NVML_ERROR_NOT_FOUND;
    return answer;
}

Error Session::failed(const gpu::Uuid& gpu, nvmlReturn_t code) {
    switch (code) {
        case NVML_ERROR_NOT_FOUND:
            return {ErrorCode::kNotFound, gpu.text + ": the driver lists no such GPU"};
        case NVML_ERROR_NOT_SUPPORTED:
        case NVML_ERROR_FUNCTION_NOT_FOUND:
            return {ErrorCode::kUnsupported, gpu.text + ": " + library_->text(code)};
        case NVML_ERROR_NO_PERMISSION:
            return {ErrorCode::kPermission, gpu.text + ": " + library_->text(code)};
        case NVML_ERROR_INVALID_ARGUMENT:
            forget_devices();  // its handle is no longer one
            break;
        default:
            lost_gpu_seen_ = true;
    }
    return {ErrorCode::kUnavailable, gpu.text + ": " + library_->text(code)};
}

Result<Survey> Session::survey() {
    refresh_when_replaced();
    return ask<Survey>([this]() -> Result<Survey> {
        const auto count = library_->count();
        if (!count.ok()) {
            return Error{ErrorCode::kUnavailable, "NVIDIA driver: " + library_->text(count.code) +
                                                      " when asked for its GPUs"};
        }
        return Survey{.driver_version = library_->driver_version().value,
                      .cuda_version = library_->cuda_version().value,
                      .gpus = count.value};
    });
}

Result<Description> Session::describe(SharedMinors& minors) {
    reopen_when_lost();
    return ask<Description>([&]() -> Result<Description> {
        const auto listed = list_devices();
        if (!listed) return listed.error();
        const Device& device = devices_.front();
        Description seen{.generation = generation_};
        if (device.handle == nullptr) {
            seen.gpu.index = seen.gpu.minor = index_.value_or(0);
            seen.gpu.health = {gpu::Health::State::kUnhealthy, library_->text(device.problem)};
        } else {
            seen.gpu = read_gpu(*library_, kernel_, index_.value_or(0), device.handle, minors,
                                profiles_[device.handle]);
        }
        const bool well = seen.gpu.health.ok();
        if (well) seen.handle = device.handle;
        lost_gpu_seen_ = lost_gpu_seen_ || !well;
        return seen;
    });
}

Result<std::vector<std::vector<gpu::LinkScore>>> Session::links(
    const std::vector<Description>& seen, std::atomic<std::size_t>& asking) {
    using Scores = std::vector<std::vector<gpu::LinkScore>>;
    return ask<Scores>([&]() -> Result<Scores> {
        std::vector<nvmlDevice_t> answering;
        std::vector<gpu::Gpu> gpus;
        for (const Description& one : seen) {
            if (one.handle != nullptr && one.generation != generation_) return Scores{};
            answering.push_back(one.handle);
            gpus.push_back(one.gpu);
        }
        return read_links(*library_, answering, gpus, asking);
    });
}

Result<gpu::Sample> Session::sample(const gpu::Uuid& gpu) {
    return ask<gpu::Sample>([&]() -> Result<gpu::Sample> {
        const auto device = find_device(gpu);
        if (!device.ok()) return failed(gpu, device.code);
        auto answer = read_sample(*library_, device.value);
        if (!answer.ok()) return failed(gpu, answer.code);
        return answer.value;
    });
}

Result<std::vector<gpu::Process>> Session::processes(const gpu::Uuid& gpu) {
    return ask<std::vector<gpu::Process>>([&]() -> Result<std::vector<gpu::Process>> {
        const auto device = find_device(gpu);
        if (!device.ok()) return failed(gpu, device.code);
        auto answer = read_process_list(*library_, device.value);
        if (!answer.ok()) return failed(gpu, answer.code);
        return std::move(answer.value);
    });
}

Result<gpu::ComputeMode> Session::compute_mode(const gpu::Uuid& gpu) {
    return ask<gpu::ComputeMode>([&]() -> Result<gpu::ComputeMode> {
        const auto device = find_device(gpu);
        if (!device.ok()) return failed(gpu, device.code);
        nvmlComputeMode_t mode = NVML_COMPUTEMODE_DEFAULT;
        const auto code = library_->nvml().nvmlDeviceGetComputeMode(device.value, &mode);
        if (code != NVML_SUCCESS) return failed(gpu, code);
        if (mode > NVML_COMPUTEMODE_EXCLUSIVE_PROCESS) {
            return Error{ErrorCode::kUnsupported,
                         gpu.text + ": compute mode " + std::to_string(mode) + " is unknown"};
        }
        return static_cast<gpu::ComputeMode>(mode);  // the numbers are NVML's
    });
}

Result<Done> Session::set_compute_mode(const gpu::Uuid& gpu, gpu::ComputeMode mode) {
    return ask<Done>([&]() -> Result<Done> {
        const auto device = find_device(gpu);
        if (!device.ok()) return failed(gpu, device.code);
        const auto code = library_->nvml().nvmlDeviceSetComputeMode(
            device.value, static_cast<nvmlComputeMode_t>(mode));
        if (code != NVML_SUCCESS) {
            return failed(gpu, code).during("set compute mode " + std::string(to_text(mode)));
        }
        return Done{};
    });
}

Result<Done> Session::set_memory_limit(const gpu::Uuid& gpu, const std::string& cgroup_directory,
                                       std::uint64_t bytes) {
    const std::string subject = gpu.text + ": limit of memory for " + cgroup_directory;
    const std::uint64_t wanted = bytes == 0 ? NVML_DEVICE_MEMORY_LIMIT_MAX : bytes;
    return ask<Done>([&]() -> Result<Done> {
        const auto device = find_device(gpu);
        if (!device.ok()) return failed(gpu, device.code);
        nvmlSetMemoryLimits_v1_t limits{
            .nameSpace = cgroup_directory.c_str(), .softLimit = 0, .hardLimit = wanted};
        auto code = library_->nvml().nvmlDeviceSetMemoryLimits_v1(device.value, &limits);
        if (code != NVML_SUCCESS) return failed(gpu, code).during(subject);
        nvmlGetMemoryLimits_v1_t kept{.nameSpace = cgroup_directory.c_str()};
        code = library_->nvml().nvmlDeviceGetMemoryLimits_v1(device.value, &kept);
        if (code != NVML_SUCCESS) return failed(gpu, code).during(subject);
        if (kept.hardLimit == wanted) return Done{};
        return Error{ErrorCode::kInternal, subject + ": the driver took " + std::to_string(wanted) +
                                               " bytes and tells " +
                                               std::to_string(kept.hardLimit)};
    });
}

Result<gpu::Probe> Session::probe(const gpu::Uuid& gpu) {
    reopen_when_lost();
    return ask<gpu::Probe>([&]() -> Result<gpu::Probe> { return probe_one(gpu); });
}

gpu::Probe Session::probe_one(const gpu::Uuid& gpu) {
    gpu::Probe probe{.gpu = gpu};
    const auto device = find_device(gpu);
    nvmlReturn_t code = device.code;
    if (device.ok()) {
        // Memory is kept by the kernel module, the temperature is read from the GPU.
        code = library_->memory(device.value).code;
        if (code == NVML_SUCCESS || code == NVML_ERROR_NOT_SUPPORTED) {
            code = library_->temperature(device.value).code;
        }
        const auto action = library_->field(device.value, NVML_FI_DEV_GET_GPU_RECOVERY_ACTION);
        if (action.ok()) probe.recovery_action = static_cast<unsigned>(action.value);
    }
    probe.answers = device.ok() && (code == NVML_SUCCESS || code == NVML_ERROR_NOT_SUPPORTED ||
                                    code == NVML_ERROR_FUNCTION_NOT_FOUND);
    if (probe.answers) {
        probe.condition = read_condition(*library_, device.value);
        return probe;
    }
    const Error problem = failed(gpu, code);
    probe.problem =
        code == NVML_ERROR_NOT_FOUND ? "the driver lists no such GPU" : library_->text(code);
    return probe;
}

void Session::listen() {
    FaultEvents::Watched watched;
    for (const Device& device : devices_) {
        if (!device.uuid.text.empty()) watched.emplace_back(device.handle, device.uuid);
    }
    const auto now = SteadyClock::now();
    if (!faults_.complete() && now - listening_since_ >= options_.reopen_after) {
        faults_.close(*library_);  // perhaps the missing ones can be heard now
    }
    if (faults_.listen(*library_, watched)) listening_since_ = now;
}

Result<FaultEvents::Look> Session::look_for_faults(std::chrono::milliseconds wait) {
    constexpr auto kDeaf = [] { return FaultEvents::Look{.events = {}, .listening = false}; };
    // Nobody may have a GPU open that waits for a reset.
    if (!caller_.attachment()->keeps()) return kDeaf();
    return ask<FaultEvents::Look>([&]() -> Result<FaultEvents::Look> {
        if (devices_.empty()) {
            auto listed = list_devices();
            if (!listed) return std::move(listed).error();
        }
        listen();
        auto look = faults_.look(*library_, wait);
        if (!caller_.attachment()->keeps()) faults_.close(*library_);
        return look;
    });
}

void Session::stop_listening() {
    if (const auto visit = caller_.enter_again()) faults_.close(*library_);
    faults_.forget();
}

}  // namespace aliquot::nvml
