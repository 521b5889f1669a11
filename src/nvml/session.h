// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "gpu/compute_mode.h"
#include "gpu/hardware.h"
#include "gpu/partitioning.h"
#include "nvml/attachment.h"
#include "nvml/driver.h"
#include "nvml/fault_events.h"
#include "nvml/kernel_files.h"
#include "nvml/library.h"
#include "nvml/mig_profiles.h"
#include "os/root.h"

namespace aliquot::nvml {

/// An initialised library with what is known of its GPUs: initialises on first use, again when the
/// driver was reloaded, when GPUs came or went and some time after a GPU was lost. Shares the
/// process's hold on the library. Used by one thread, which it may block for as long as the driver
/// likes.
class Session {
public:
    Session(std::shared_ptr<Attachment> attachment, std::shared_ptr<CallPosition> position,
            const os::Root& root, DriverOptions options);

    Result<gpu::Inventory> enumerate(gpu::Links links);
    Result<gpu::Sample> sample(const gpu::Uuid& gpu);
    Result<std::vector<gpu::Process>> processes(const gpu::Uuid& gpu);
    Result<gpu::ComputeMode> compute_mode(const gpu::Uuid& gpu);
    Result<Done> set_compute_mode(const gpu::Uuid& gpu, gpu::ComputeMode mode);
    Result<Done> set_memory_limit(const gpu::Uuid& gpu, const std::string& cgroup_directory,
                                  std::uint64_t bytes);
    Result<std::vector<gpu::Probe>> probe(const std::vector<gpu::Uuid>& gpus);
    Result<FaultEvents::Look> look_for_faults(std::chrono::milliseconds wait);

    // As gpu::Partitioner; in session_partitions.cpp.
    Result<gpu::Partitions> partitions(const gpu::Uuid& gpu);
    Result<gpu::ModeChange> set_mode(const gpu::Uuid& gpu, bool enabled);
    Result<Done> reset(const gpu::Uuid& gpu, const std::set<gpu::Uuid>& may_lose_instances);
    Result<unsigned> create(const gpu::Uuid& gpu, unsigned profile_id, gpu::MigPlacement placement);
    Result<unsigned> create_compute(const gpu::Uuid& gpu, unsigned instance, unsigned slices);
    Result<Done> destroy_compute(const gpu::Uuid& gpu, unsigned instance, unsigned compute);
    Result<Done> destroy(const gpu::Uuid& gpu, unsigned instance);
    /// Gives the driver back; a later question takes it again.
    void end();

private:
    struct Device {
        gpu::Uuid uuid;  // empty: it could not tell
        nvmlDevice_t handle = nullptr;
        nvmlReturn_t problem = NVML_SUCCESS;  // why there is no handle or no uuid
    };

    /// Puts a question to an initialised library; once more when the driver was found to be
    /// reloaded.
    template <class T, class Question>
    Result<T> ask(Question question);
    /// The same about one GPU. `question` takes its handle and gives an Answer<T>.
    template <class T, class Question>
    Result<T> ask_gpu(const gpu::Uuid& gpu, const std::string& subject, Question question);
    Result<Attachment::Visit> enter();
    void forget();
    void forget_devices();
    void refresh_when_due();

    Result<Done> list_devices();
    Answer<nvmlDevice_t> find_device(const gpu::Uuid& gpu);
    Error failed(const gpu::Uuid& gpu, nvmlReturn_t code);
    void listen();
    Result<gpu::Inventory> look_at_all(gpu::Links links);
    gpu::Probe probe_one(const gpu::Uuid& gpu);
    Error refused(const gpu::Uuid& gpu, const std::string& subject, nvmlReturn_t code);
    Result<std::vector<gpu::PciAddress>> reset_group(const gpu::Uuid& gpu,
                                                     const std::set<gpu::Uuid>& may_lose_instances);

    std::string path_;
    Attachment::Caller caller_;
    const Library* library_ = nullptr;  // caller_'s, of the last visit
    os::Root root_;
    KernelFiles kernel_;
    DriverOptions options_;
    std::uint64_t generation_ = 0;  // of the hold that all below was learnt by
    bool lost_gpu_seen_ = false;
    std::chrono::steady_clock::time_point ready_since_;
    std::chrono::steady_clock::time_point listening_since_;
    std::vector<gpu::PciAddress> kernel_gpus_;  // when the hold was taken, as what follows
    std::string kernel_version_;
    std::vector<Device> devices_;  // by the driver's index
    std::map<nvmlDevice_t, KnownProfiles> profiles_;
    FaultEvents faults_;
    bool faults_wanted_ = false;
    /// Some GPU waits for a reset to change its MIG mode, and no process may have it open then:
    /// between two questions we have not.
    bool let_go_ = false;
};

template <class T, class Question>
Result<T> Session::ask(Question question) {
    for (bool again = true;; again = false) {
        const auto visit = enter();
        if (!visit) return visit.error();
        caller_.library().take_driver_gone();
        Result<T> answer = question();
        if (!caller_.library().take_driver_gone() || !again) return answer;
        forget();
        caller_.let_go();
    }
}

}  // namespace aliquot::nvml
