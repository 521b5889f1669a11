// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
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
#include "nvml/driver_options.h"
#include "nvml/fault_events.h"
#include "nvml/kernel_files.h"
#include "nvml/library.h"
#include "nvml/mig_profiles.h"
#include "os/root.h"

namespace aliquot::nvml {

/// What the driver says without a look at any GPU.
struct Survey {
    std::string driver_version;
    int cuda_version = 0;
    unsigned gpus = 0;
};

/// A GPU as its own session has seen it.
struct Description {
    gpu::Gpu gpu;
    nvmlDevice_t handle = nullptr;  // nullptr: it has none, or it does not answer well
    std::uint64_t generation = 0;   // of the hold that the handle is of
};

/// An initialised library with what is known of its GPUs: initialises on first use, again when the
/// driver was reloaded, when GPUs came or went and some time after a GPU was lost. Shares the
/// process's hold on the library. Used by one thread, which it may block for as long as the driver
/// likes. That of one GPU makes no call about another one, which may hang.
class Session {
public:
    /// index   of the only GPU that it looks at; empty: all of them
    Session(std::shared_ptr<Attachment> attachment, std::shared_ptr<CallPosition> position,
            const os::Root& root, DriverOptions options, std::optional<unsigned> index);

    /// Takes the driver anew when GPUs came or went or it was replaced.
    Result<Survey> survey();
    /// The session's own GPU. One that fails has Health kUnhealthy and what it could still tell.
    Result<Description> describe(SharedMinors& minors);
    /// As read_links. Empty when a handle means nothing any more.
    /// asking   the GPU that is being asked, as a place in `seen`
    Result<std::vector<std::vector<gpu::LinkScore>>> links(const std::vector<Description>& seen,
                                                           std::atomic<std::size_t>& asking);
    Result<gpu::Sample> sample(const gpu::Uuid& gpu);
    Result<std::vector<gpu::Process>> processes(const gpu::Uuid& gpu);
    Result<gpu::ComputeMode> compute_mode(const gpu::Uuid& gpu);
    Result<Done> set_compute_mode(const gpu::Uuid& gpu, gpu::ComputeMode mode);
    Result<Done> set_memory_limit(const gpu::Uuid& gpu, const std::string& cgroup_directory,
                                  std::uint64_t bytes);
    Result<gpu::Probe> probe(const gpu::Uuid& gpu);
    Result<FaultEvents::Look> look_for_faults(std::chrono::milliseconds wait);
    /// Listens to no GPU until it is asked to look for faults again.
    void stop_listening();

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
    void refresh_when_replaced();
    void reopen_when_lost();

    Result<Done> list_devices();
    Answer<nvmlDevice_t> find_device(const gpu::Uuid& gpu);
    Error failed(const gpu::Uuid& gpu, nvmlReturn_t code);
    void listen();
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
    std::optional<unsigned> index_;
    std::uint64_t generation_ = 0;  // of the hold that all below was learnt by
    bool lost_gpu_seen_ = false;
    std::chrono::steady_clock::time_point ready_since_;
    std::chrono::steady_clock::time_point listening_since_;
    std::vector<gpu::PciAddress> kernel_gpus_;  // when the hold was taken, as what follows
    std::string kernel_version_;
    std::vector<Device> devices_;  // in the driver's order
    std::map<nvmlDevice_t, KnownProfiles> profiles_;
    FaultEvents faults_;
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
