// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "kubelet/pod_resources.h"
#include "os/clock.h"
#include "os/root.h"
#include "pods/checkpoint.h"
#include "pods/log_names.h"

namespace aliquot::pods {

/// A device id that a pod holds, or may hold.
struct DeviceHold {
    std::string resource;
    std::string id;
    std::string pod;  // "ai/trainer"; empty: its name is not known
    /// Its pod has no process any more, and kubelet does not list it: soon it is no hold.
    bool ending = false;
    friend bool operator==(const DeviceHold&, const DeviceHold&) = default;
    friend auto operator<=>(const DeviceHold&, const DeviceHold&) = default;
};

struct DeviceHolds {
    std::vector<DeviceHold> list;  // sorted, each once
    std::string problem;           // why there may be more; empty: these are all
    bool unsettled = false;        // some may have ended: another look tells
};

/// What one look at a node has found.
struct HoldEvidence {
    std::optional<std::vector<CheckpointEntry>> written;  // empty: it cannot be read
    std::optional<kubelet::ActivePods> listed;            // empty: kubelet does not answer
    std::map<std::string, PodName> names;                 // by uid, of the pods that have logs
    std::optional<std::set<std::string>> running;         // uids with a process; empty: not known
};

/// Who holds devices, for a decision that gives them to somebody else: unlike Census, what is in
/// doubt is held. A hold that kubelet has written down ends only when kubelet answers, does not
/// list it, no process of its pod runs, its pod cannot be one of those that kubelet lists, and all
/// that was so for a while: init containers are written down but never listed, a kubelet that has
/// just started lists nobody, and entries of pods that have ended stay until the next pod comes.
/// Does no I/O. Not thread-safe.
class HoldJudge {
public:
    struct Limits {
        std::chrono::milliseconds settle{1500};
        std::chrono::milliseconds settle_blind{10'000};  // where processes cannot be seen
    };

    explicit HoldJudge(Limits limits) : limits_(limits) {}

    DeviceHolds judge(const HoldEvidence& evidence, os::TimePoint now);

private:
    Limits limits_;
    std::map<CheckpointEntry, os::TimePoint> missed_;  // since when an entry looks ended
};

struct HoldOptions {
    std::string proc = "/proc";  // host paths, beneath the root
    std::string checkpoint = "/var/lib/kubelet/device-plugins/kubelet_internal_checkpoint";
    std::string pod_logs = "/var/log/pods";
    std::string container_logs = "/var/log/containers";
    std::chrono::milliseconds list_timeout{1000};
    std::chrono::milliseconds between_walks{3000};  // through /proc, which may be long
    HoldJudge::Limits limits{};
};

/// Collects the evidence and judges it. Not thread-safe.
class HoldReader {
public:
    using List = std::function<Result<kubelet::ActivePods>(std::chrono::milliseconds)>;

    /// root, clock   must outlive this
    HoldReader(const os::Root& root, os::Clock& clock, HoldOptions options, List list);

    /// What kubelet has written down, as if no pod had ended: one file is read, nobody is asked.
    DeviceHolds written();
    /// Asks kubelet, too. Takes at most list_timeout and, where something is written down that
    /// kubelet does not list, a walk through /proc.
    DeviceHolds look();

private:
    [[nodiscard]] std::optional<std::vector<CheckpointEntry>> read_checkpoint() const;
    /// As it was at most `between_walks` ago.
    const std::optional<std::set<std::string>>& running_pods();
    [[nodiscard]] std::optional<std::set<std::string>> walk() const;

    const os::Root& root_;
    os::Clock& clock_;
    HoldOptions options_;
    List list_;
    LogNames names_;
    HoldJudge judge_;
    std::optional<std::set<std::string>> running_;
    std::optional<os::TimePoint> walked_;
};

}  // namespace aliquot::pods
