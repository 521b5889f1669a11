// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "kubelet/pod_resources.h"
#include "os/clock.h"
#include "pods/census.h"
#include "pods/checkpoint.h"
#include "pods/log_names.h"

namespace aliquot::pods {

/// Joins what kubelet has written down (with uids, but also pods that have ended) with what it
/// tells when asked (without uids, and without the init containers). Does no I/O. Not thread-safe.
///
/// An entry of the checkpoint that kubelet does not tell of counts until kubelet has not told of it
/// twice, `settle` apart: a pod is written down before it is told of, and a kubelet that has just
/// started tells of nobody. An entry without a log directory does not count then either: kubelet
/// keeps entries of deleted pods too.
///
/// A device may have gone to the next pod between the two. An entry therefore keeps the name that its pod was
/// known by, also when the pod's log directory is gone: it is never taken for an entry of another pod.
class HolderJoin {
public:
    explicit HolderJoin(std::chrono::milliseconds settle) : settle_(settle) {}

    /// The checkpoint has changed; empty: there is none.
    void set_entries(std::optional<std::vector<CheckpointEntry>> entries);
    /// kubelet's answer of this moment.
    void set_listed(std::vector<kubelet::Holder> listed, os::TimePoint now);
    /// The answer is too old to mean anything.
    void forget_listed();

    [[nodiscard]] bool has_entries() const { return entries_.has_value(); }
    /// Some entry would be judged by another answer, `settle` after the last one.
    [[nodiscard]] bool wants_another_answer() const;

    /// Sorted by namespace, pod, container, resource.
    std::vector<Holder> join(const LogNames& names);

private:
    struct Entry {
        CheckpointEntry written;
        std::optional<PodName> name;        // of its pod, once it was known
        std::optional<std::size_t> listed;  // the same in listed_
        std::optional<os::TimePoint> missed;
        bool ended = false;
    };
    class Joined;
    void match();
    void learn(const LogNames& names);
    void add_listed(const LogNames& names, Joined& joined) const;
    void add_written(const LogNames& names, Joined& joined) const;

    std::chrono::milliseconds settle_;
    std::optional<std::vector<Entry>> entries_;
    std::optional<std::vector<kubelet::Holder>> listed_;
};

}  // namespace aliquot::pods
