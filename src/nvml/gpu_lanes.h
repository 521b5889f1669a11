// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "gpu/hardware.h"
#include "nvml/fault_watch.h"
#include "nvml/lane.h"

namespace aliquot::nvml {

/// The lanes of a Driver: one for what is about no GPU, one for what is about several, one for each
/// GPU; and what was learnt of the GPUs last. So a GPU that hangs delays no other: who asks about
/// all is answered after kPatience with what is known of it, and is told that it hangs as soon as
/// it has not answered for DriverOptions::deadline. Thread-safe.
class GpuLanes {
public:
    static constexpr unsigned kMostGpus = 64;
    /// How long a GPU that has answered before keeps waiting whoever asks about all.
    static constexpr std::chrono::milliseconds kPatience{1500};

    GpuLanes(std::shared_ptr<Attachment> attachment, const os::Root& root, DriverOptions options);

    Result<gpu::Inventory> enumerate(gpu::Links links);
    /// A GPU that takes long, and is not known to hang, has no Probe.
    Result<std::vector<gpu::Probe>> probe(const std::vector<gpu::Uuid>& gpus);
    Result<std::vector<gpu::FaultEvent>> wait_faults(std::chrono::milliseconds slice,
                                                     std::chrono::milliseconds timeout);

    /// Puts a question about one GPU.
    template <class T>
    Result<T> ask(const gpu::Uuid& gpu, std::chrono::milliseconds deadline, const std::string& what,
                  const Lane::Question<T>& question) {
        for (const bool again : {true, false}) {
            const auto index = index_of(gpu);
            if (!index) return index.error();
            auto answer = lane_of(*index)->ask<T>(what, deadline, question);
            const bool moved = !answer && answer.error().code == ErrorCode::kNotFound;
            if (!moved || !again || !forget_place(gpu)) return answer;
        }
        return Error{ErrorCode::kInternal, "unreachable"};
    }
    /// Puts a question about several GPUs.
    [[nodiscard]] Lane& across() { return across_; }
    [[nodiscard]] FaultWatch& faults() { return faults_; }

private:
    struct Known {
        Description last;
        bool looked = false;  // it has answered once
    };
    using Descriptions = std::vector<Description>;

    std::shared_ptr<Lane> lane_of(unsigned index);
    Result<unsigned> index_of(const gpu::Uuid& gpu);
    bool forget_place(const gpu::Uuid& gpu);
    std::optional<unsigned> place_of(const gpu::Uuid& gpu);
    Result<Survey> survey(std::chrono::milliseconds patience);
    Descriptions describe_all(unsigned count);
    Description recall(unsigned index, const Error& problem);
    void note(unsigned index, const Description& seen);
    void note_pending(const gpu::Inventory& inventory);
    std::optional<Hang> hang_of(unsigned index);
    std::map<unsigned, Hang> hanging();
    void note_answered(std::chrono::steady_clock::time_point asked);
    std::vector<std::vector<gpu::LinkScore>> read_links(const Descriptions& seen);

    std::shared_ptr<Attachment> attachment_;
    os::Root root_;
    DriverOptions options_;
    KernelFiles kernel_;
    std::mutex mutex_;  // guards what follows, up to asking_
    std::map<unsigned, Known> known_;
    unsigned count_ = 0;
    bool pending_ = false;  // some GPU waits for a reset to change its MIG mode
    std::chrono::steady_clock::time_point proof_;  // see silent_by_themselves()
    std::map<unsigned, std::shared_ptr<Lane>> lanes_;
    std::shared_ptr<std::atomic<std::size_t>> asking_ =
        std::make_shared<std::atomic<std::size_t>>(0);  // the GPU whose links are read
    Lane whole_;
    Lane across_;
    FaultWatch faults_;
};

}  // namespace aliquot::nvml
