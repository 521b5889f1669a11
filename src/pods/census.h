// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kubelet/pod_resources.h"
#include "os/clock.h"
#include "os/root.h"

/// Which pod and container a process or a device belongs to, found without the API server.
namespace aliquot::pods {

/// A container of a pod. A part that is not known is empty.
struct Owner {
    std::string pod_uid;  // as the API spells it; of a static pod the hash that kubelet uses
    std::string pod_namespace;
    std::string pod;
    std::string container;
    std::string container_id;  // 64 hex digits
    friend bool operator==(const Owner&, const Owner&) = default;
    friend auto operator<=>(const Owner&, const Owner&) = default;
};

/// What a process is to us.
struct Belonging {
    enum class Kind : std::uint8_t {
        kPod,      // owner says which; at least pod_uid is known
        kHost,     // a process of the host or of a container that is in no pod
        kGone,     // it has ended; what was known of it is told once more
        kUnknown,  // cannot be told: no access to the host's /proc (hostPID is missing)
    };
    Kind kind = Kind::kUnknown;
    Owner owner;
    std::uint64_t start_ticks = 0;  // since boot, field 22 of /proc/PID/stat: pids are reused
    std::uint64_t cpu_ticks = 0;    // counter: os::kTicksPerSecond of them are a second of a core
    std::string command;            // its program's name (comm); empty: not known
};

/// A container that holds devices.
struct Holder {
    Owner owner;
    std::string resource;          // "nvidia.com/gpu"
    std::vector<std::string> ids;  // as the plugin named them: "GPU-..::3", "MIG-..."; sorted
    friend bool operator==(const Holder&, const Holder&) = default;
};

/// Why the answers are less than they could be.
enum class Degraded : std::uint8_t {
    kNoHostPid,      // processes cannot be told apart
    kNoPodIdentity,  // pods are known by uid only
    kStaleHolders,   // kubelet has not told for a while who holds what
};
/// "no_hostpid", "no_pod_identity", "stale_holders".
std::string_view to_text(Degraded degraded);

/// Who holds devices, at one moment.
struct Holders {
    std::vector<Holder> list;  // by namespace, pod, container, resource
    std::vector<Degraded> degraded;
};

struct CensusOptions {
    std::string proc = "/proc";  // host paths, beneath the root
    std::string checkpoint = "/var/lib/kubelet/device-plugins/kubelet_internal_checkpoint";
    std::string pod_logs = "/var/log/pods";
    std::string container_logs = "/var/log/containers";  // tells a container's name by its id
    std::chrono::milliseconds between_lists{10'000};  // questions to kubelet, when nothing changed
    std::chrono::milliseconds list_timeout{2000};
    std::chrono::milliseconds stale_after{60'000};
    std::chrono::milliseconds settle{1500};  // between two answers that must agree on an ending
    std::size_t most_processes = 16'384;     // kept in the cache
};

/// Puts together what kubelet's checkpoint (device -> pod uid and container), kubelet's PodResources
/// (device -> names), the names of the log files (uid -> pod, container id -> container) and /proc
/// (pid -> uid) tell. Any of them may be missing. Thread-safe; refresh() by one thread at a time.
/// A kubelet that hangs keeps only refresh() waiting.
///
/// The owner of a Holder has no container_id, that of a process has one; a process' container is
/// empty when neither its log file nor the devices of its pod tell it.
///
/// A driver names processes as the host numbers them. Whether `proc` is the host's is told by its
/// process 2 (kthreadd, which no other pid namespace has). A node that is itself a container has
/// none: there it is told by processes of kubelet, of a runtime or of some other pod, and a process
/// that is not found may still run outside (kUnknown). With none of these every process is
/// kUnknown, even where a process has that number: it is another one.
class Census {
public:
    using List = std::function<Result<std::vector<kubelet::Holder>>(std::chrono::milliseconds)>;

    /// root, clock   must outlive this
    /// list          asks kubelet's PodResources; empty: it is not asked
    Census(const os::Root& root, os::Clock& clock, CensusOptions options, List list);
    ~Census();

    /// Looks at what may have changed: at the checkpoint's identity each time, asks kubelet when
    /// the checkpoint changed or `between_lists` has passed. Never takes longer than list_timeout.
    void refresh();

    /// Looks at what the files tell, without asking kubelet: a few stat() when nothing changed. To
    /// be called before holders() and belonging_of() are, so that a pod is known by name and by its
    /// devices when its first process is seen.
    void look();

    [[nodiscard]] std::shared_ptr<const Holders> holders() const;

    /// Cached by pid and start time; a process that has ended is kGone once.
    Belonging belonging_of(std::uint32_t pid);

private:
    class Implementation;
    std::unique_ptr<Implementation> implementation_;
};

}  // namespace aliquot::pods
