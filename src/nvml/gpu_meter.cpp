// SPDX-License-Identifier: Apache-2.0
#include "nvml/gpu_meter.h"

#include <algorithm>
#include <utility>

#include "nvml/metric_queries.h"

namespace aliquot::nvml {
namespace {

using SteadyClock = std::chrono::steady_clock;

/// So many failed calls without any answer in between are enough.
constexpr std::size_t kEnoughFailures = 4;

}  // namespace

GpuMeter::GpuMeter(std::shared_ptr<Attachment> attachment, std::shared_ptr<CallPosition> position,
                   gpu::Uuid gpu, std::chrono::milliseconds reopen_after)
    : caller_(std::move(attachment), std::move(position)),
      gpu_(std::move(gpu)),
      reopen_after_(reopen_after) {}

void GpuMeter::forget() {
    lost_ = false;
    device_ = nullptr;
    refusals_ = {};
    instance_refusals_ = {};
    lasting_.reset();
    virtual_gpu_ = mig_ = false;
    monitor_.forget();
    room_ = {};
}

void GpuMeter::let_go() { caller_.let_go(); }

Result<gpu::Reading> GpuMeter::read(const gpu::Since& since, bool delivered) {
    if (lost_ && SteadyClock::now() - held_since_ >= reopen_after_) caller_.let_go();
    for (bool again = true;; again = false) {
        const auto visit = caller_.enter();
        if (!visit) return visit.error();
        if (generation_ != caller_.generation()) {
            forget();
            generation_ = caller_.generation();
            held_since_ = SteadyClock::now();
        }
        caller_.library().take_driver_gone();
        auto reading = read_found(since, delivered);
        if (!caller_.library().take_driver_gone() || !again) return reading;
        caller_.let_go();  // with the end of the visit; then once more
    }
}

/// Some GPUs cannot be found by uuid although they are there; and one that cannot tell its uuid may
/// be the wanted one.
Answer<nvmlDevice_t> GpuMeter::find_in_list(nvmlReturn_t problem) {
    Library& library = caller_.library();
    const auto count = library.count();
    for (unsigned index = 0; count.ok() && index < count.value; ++index) {
        const auto handle = library.handle(index);
        nvmlReturn_t code = handle.code;
        if (handle.ok()) {
            const auto uuid = library.uuid(handle.value);
            if (uuid.ok() && uuid.value == gpu_.text) return handle;
            code = uuid.code;
        }
        if (code != NVML_SUCCESS && is_not_reported(problem)) problem = code;
    }
    return {problem, nullptr};
}

Answer<nvmlDevice_t> GpuMeter::find_device() {
    if (device_ != nullptr) return {NVML_SUCCESS, device_};
    Answer<nvmlDevice_t> answer;
    answer.code =
        caller_.library().nvml().nvmlDeviceGetHandleByUUID(gpu_.text.c_str(), &answer.value);
    if (!answer.ok()) {
        const bool old = answer.code == NVML_ERROR_FUNCTION_NOT_FOUND;
        answer = find_in_list(old ? NVML_ERROR_NOT_FOUND : answer.code);
    }
    if (answer.ok()) device_ = answer.value;
    return answer;
}

Error GpuMeter::failed(nvmlReturn_t code) {
    const std::string words = gpu_.text + ": " + caller_.library().text(code);
    switch (code) {
        case NVML_ERROR_NOT_FOUND:
        case NVML_ERROR_INVALID_ARGUMENT:
            return {ErrorCode::kNotFound, gpu_.text + ": the driver lists no such GPU"};
        case NVML_ERROR_NO_PERMISSION:
            return {ErrorCode::kPermission, words};
        default:
            lost_ = lost_ || is_lost(code) || !is_not_reported(code);
            return {ErrorCode::kUnavailable, words};
    }
}

Result<gpu::Reading> GpuMeter::read_found(const gpu::Since& since, bool delivered) {
    for (const bool again : {true, false}) {
        const bool known = device_ != nullptr;
        const auto device = find_device();
        if (!device.ok()) return failed(device.code);
        nvmlMemory_t memory{};
        const auto code = caller_.library().nvml().nvmlDeviceGetMemoryInfo(device.value, &memory);
        if (code == NVML_ERROR_INVALID_ARGUMENT && known && again) {
            forget();  // the handle is of a driver that was unloaded since
            continue;
        }
        if (is_lost(code)) return failed(code);
        return read_device(since, delivered);
    }
    return failed(NVML_ERROR_UNKNOWN);
}

std::vector<MigHandle> GpuMeter::look_at_mig(Inquiry& inquiry) {
    unsigned current = NVML_DEVICE_MIG_DISABLE;
    unsigned pending = NVML_DEVICE_MIG_DISABLE;
    const bool told =
        inquiry.ask(Topic::kMigMode, inquiry.nvml().nvmlDeviceGetMigMode, &current, &pending);
    const bool mig = told && current == NVML_DEVICE_MIG_ENABLE;
    if (mig != mig_) {
        // What a GPU tells is another matter when it is cut.
        mig_ = mig;
        refusals_ = {};
        instance_refusals_ = {};
        monitor_.forget();
    }
    if (!mig) return {};
    auto handles = read_mig_handles(inquiry.library(), inquiry.device());
    inquiry.note_failure("nvmlDeviceGetMigDeviceHandleByIndex", handles.code);
    return std::move(handles.value);
}

void GpuMeter::read_instances(const Library& library, const std::vector<MigHandle>& mig,
                              gpu::Reading& reading) {
    for (const MigHandle& device : mig) {
        const bool listed =
            std::ranges::any_of(reading.instances, [&device](const gpu::InstanceReading& instance) {
                return instance.gpu_instance == device.gpu_instance;
            });
        if (listed) continue;  // compute instances share their GPU instance's memory
        gpu::InstanceReading instance{.gpu_instance = device.gpu_instance};
        Inquiry inquiry(library, device.handle, instance_refusals_, reading.failures);
        read_memory(inquiry, instance.metrics);
        reading.instances.push_back(std::move(instance));
    }
    std::ranges::sort(reading.instances, {}, &gpu::InstanceReading::gpu_instance);
}

void GpuMeter::read_activity(Inquiry& inquiry, const gpu::Since& since,
                             const std::vector<MigHandle>& mig, gpu::Reading& reading) {
    reading.gpu_busy = read_busy_samples(inquiry, Topic::kGpuBusySamples, since.gpu_busy_us, room_);
    reading.memory_busy =
        read_busy_samples(inquiry, Topic::kMemoryBusySamples, since.memory_busy_us, room_);
    reading.uses = read_uses(inquiry, since.uses_us, room_);
    if (reading.uses) {
        catch_up(inquiry, Topic::kGpuBusySamples, since.gpu_busy_us, *reading.uses,
                 reading.gpu_busy, room_);
        catch_up(inquiry, Topic::kMemoryBusySamples, since.memory_busy_us, *reading.uses,
                 reading.memory_busy, room_);
    }
    const bool memory_in_use =
        std::ranges::any_of(reading.instances, [](const gpu::InstanceReading& instance) {
            return instance.metrics.get(gpu::Metric::kMemoryUsedBytes).value_or(0) > 0;
        });
    reading.processes = read_processes(inquiry, mig, memory_in_use);
    if (reading.uses) keep_known(known_pids_, reading.processes, *reading.uses);
    known_pids_.clear();
    if (reading.processes) {
        for (const auto& process : *reading.processes) known_pids_.insert(process.pid);
    }
}

Result<gpu::Reading> GpuMeter::read_device(const gpu::Since& since, bool delivered) {
    gpu::Reading reading;
    const Library& library = caller_.library();
    Inquiry inquiry(library, device_, refusals_, reading.failures);
    const std::vector<MigHandle> mig = look_at_mig(inquiry);
    if (!lasting_) {
        auto lasting = read_lasting_metrics(inquiry);
        virtual_gpu_ = is_virtual_gpu(inquiry);
        // What failed may be told the next time.
        if (reading.failures.empty()) lasting_ = lasting;
        reading.metrics = lasting;
    } else {
        reading.metrics = *lasting_;
    }
    read_memory(inquiry, reading.metrics);
    if (!inquiry.anything_answered() && reading.failures.size() >= kEnoughFailures) {
        return failed(reading.failures.front().code);
    }
    read_metrics(inquiry, virtual_gpu_, reading.metrics);
    read_instances(library, mig, reading);
    read_activity(inquiry, since, mig, reading);
    monitor_.read(inquiry, mig, delivered, reading);
    if (inquiry.end() != NVML_SUCCESS) return failed(inquiry.end());
    if (!inquiry.anything_answered() && !reading.failures.empty()) {
        return failed(reading.failures.front().code);
    }
    return reading;
}

}  // namespace aliquot::nvml
