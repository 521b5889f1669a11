// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "admission/review.h"
#include "controller/shared_books.h"
#include "kube_client/store.h"
#include "metrics/histogram.h"
#include "scheduling/gpu_pod.h"

namespace aliquot::controller {

/// Strict placement: what an API server asks of the Binding that gives a pod its node. The answer puts the GPUs of
/// that node on the pod, in the same write, and they are the pod's in the books from then on. A Binding is refused
/// only where the node cannot give the pod what it asks for; of one pod and node kMostDenials times, since
/// kube-scheduler may choose the same node for ever. Whatever is not known is allowed as it is. Thread-safe.
class BindingReviews {
public:
    using Steady = std::chrono::steady_clock;
    struct World {
        SharedBooks& books;
        std::function<bool()> may_answer;  // it leads, and the cluster is known
        /// Waits until the books know all that the cluster has told; false: not in time.
        std::function<bool(std::chrono::milliseconds)> catch_up;
        std::function<std::uint64_t()> next_generation;
        std::function<Steady::time_point()> now = Steady::now;
    };
    static constexpr unsigned kMostDenials = 3;
    static constexpr std::size_t kMostDeniedNodes = 64;  // of one pod
    static constexpr std::size_t kMostPending = 50'000;
    /// kube-scheduler may bind a pod before the watch has told us of it: so long it is waited for, by so many reviews at
    /// once; others are allowed as they are, and find threads that answer them.
    static constexpr std::chrono::milliseconds kNewsPatience{150};
    static constexpr unsigned kMostAwaited = 8;
    /// How long a pod that was given GPUs may not be seen bound.
    static constexpr std::chrono::seconds kSeatHolds{30};

    explicit BindingReviews(World world);

    /// A pod as it is now; empty: it is gone. Quick.
    void note(const kube_client::ObjectKey& key, const kube_client::StoredObject& pod);
    /// Answers an AdmissionReview of pods/binding.
    admission::Review review(std::string_view body);

    /// A pod that was given GPUs.
    struct Seated {
        kube_client::ObjectKey key;
        std::string uid;
    };
    /// Those whose Binding should have been seen by now; they are told once. The caller takes back what they hold
    /// when they are not bound.
    std::vector<Seated> lapsed();
    [[nodiscard]] bool has_seated() const;

    /// Prometheus text.
    [[nodiscard]] std::string metrics() const;

private:
    enum class Outcome : std::uint8_t {
        kStamped,
        kDenied,
        kLetThrough,  // after kMostDenials
        kNoGpu,       // the pod asks for no extended resource
        kNotServed,   // nothing that our agent of the node serves
        kUnknown,     // no such pod is known to wait
        kNotLeading,
        kBusy,  // the books were in use, or behind, all the time
        kDryRun,
    };
    static constexpr std::size_t kOutcomes = 9;

    /// A pod without a node.
    struct Pending {
        std::string uid;
        std::shared_ptr<const scheduling::GpuPod> pod;  // null: it asks for no extended resource
        std::map<std::string, unsigned> denials;        // by node
    };
    struct Known {
        bool is_known = false;
        std::shared_ptr<const scheduling::GpuPod> pod;
    };
    [[nodiscard]] Known find(const admission::BindingQuestion& question) const;
    [[nodiscard]] Known find_locked(const admission::BindingQuestion& question) const;
    [[nodiscard]] Known await(const admission::BindingQuestion& question);
    admission::BindingAnswer answer(const admission::BindingQuestion& question);
    std::optional<scheduling::Seat> seat(const admission::BindingQuestion& question,
                                         const scheduling::GpuPod& pod);
    admission::BindingAnswer stamp(const admission::BindingQuestion& question,
                                   const scheduling::GpuPod& pod, scheduling::DeviceUnits units);
    admission::BindingAnswer deny(const admission::BindingQuestion& question,
                                  const std::string& why);
    admission::BindingAnswer counted(Outcome outcome);

    const World world_;
    std::array<std::atomic<std::uint64_t>, kOutcomes> outcomes_{};
    metrics::Histogram took_;

    mutable std::mutex mutex_;
    std::condition_variable noted_;
    std::map<kube_client::ObjectKey, Pending> pending_;  // guarded by mutex_, as what follows
    unsigned awaited_ = 0;
    struct Since {
        kube_client::ObjectKey key;
        Steady::time_point at;
    };
    std::map<std::string, Since> seated_;  // by uid
};

}  // namespace aliquot::controller
