// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "base/result.h"
#include "os/root.h"
#include "sim/proc/cgroup_text.h"

/// What a node's agent sees of pods' processes: /proc and the log directories beneath an os::Root.
///
/// Use, with sim::Kubelet on the same root (uid must be a real one: 8-4-4-4-12 hex digits):
///
///     sim::ProcessTree tree(root, {});
///     ASSERT_TRUE(tree.begin());
///     ASSERT_TRUE(tree.start_container({"ai", "trainer", uid}, "main"));
///     ASSERT_TRUE(tree.add_process(uid, "main", process.pid()));  // and all that it will fork
///     tree.refresh();                                             // now and then
///
/// The agent is given the same --root. Its census then finds the pod of every process that was
/// added and of the children of those, and takes everything else on this machine for the host's.
namespace aliquot::sim {

struct ProcessTreeOptions {
    std::string proc = "/proc";  // beneath the root
    std::string pod_logs = "/var/log/pods";
    std::string container_logs = "/var/log/containers";
    CgroupForm form = CgroupForm::kSystemd;
    /// Processes of this machine that are in no pod show as the host's. False: they do not exist.
    bool others = true;
    std::string real_proc = "/proc";  // where this machine's processes are; not beneath the root
};

struct PodOnNode {
    std::string pod_namespace = "default";
    std::string name;
    std::string uid;
    QualityOfService quality = QualityOfService::kBurstable;
};

/// Writes the tree and keeps it in step with the machine's real processes. An entry's `stat` and
/// `comm` are links to the real ones, so an ended process is gone at once; its `cgroup` is a file
/// as this node's kubelet and runtime would bring it about. Process 1 and 2 are the host's init and
/// kthreadd. Not thread-safe.
class ProcessTree {
public:
    /// root   must outlive this; nothing is written before begin()
    ProcessTree(const os::Root& root, ProcessTreeOptions options);

    /// Makes the directories and the host's own processes.
    /// errors   kPermission, kUnavailable; kConflict: `proc` beneath the root is the machine's own
    Result<Done> begin();

    /// A container starts, or starts again (it then has another id). Makes its log directory.
    /// log      its real log file; empty: none
    /// returns  the container's id
    /// errors   kInvalidInput: no uid of a pod, or a name that holds '/' or '_'
    Result<std::string> start_container(const PodOnNode& pod, const std::string& container,
                                        const std::string& log = {});

    /// A real process of a started container; what it forks belongs to it too, found by refresh():
    /// children by their parent, and who stays in its process group.
    /// errors   kNotFound: no such container, no such process
    Result<Done> add_process(const std::string& pod_uid, const std::string& container, pid_t pid);

    /// A process that exists in this tree only, for scripted loads.
    struct Scripted {
        std::uint32_t pid = 0;
        std::uint64_t start_ticks = 0;
        std::string command = "python3";
    };
    /// container   empty: a process of the host, and pod_uid is not looked at
    Result<Done> put_process(const std::string& pod_uid, const std::string& container,
                             const Scripted& process);

    /// The pod was deleted: its processes and its log directories go.
    void remove_pod(const std::string& pod_uid);

    /// Looks for processes that came and went. Reads each process of the machine once.
    void refresh();

    /// How many processes of pods there are now.
    [[nodiscard]] std::size_t size() const { return processes_.size(); }

private:
    struct Container {
        std::string id;
        std::string log_link;  // host path
        unsigned starts = 0;
    };
    struct Pod {
        PodOnNode identity;
        std::string logs;  // host path
        std::map<std::string, Container> containers;
    };
    struct Place {
        std::string pod_uid;
        std::string container;  // empty: the host
        friend bool operator==(const Place&, const Place&) = default;
    };
    struct Process {
        Place place;
        std::uint64_t start_ticks = 0;
        bool scripted = false;
    };

    [[nodiscard]] std::string directory_of(std::uint32_t pid) const;
    [[nodiscard]] std::string text_of(const Place& place) const;
    [[nodiscard]] bool is_known(const Place& place) const;
    Result<Done> write_scripted(const Scripted& process, const std::string& cgroup) const;
    Result<Done> write_real(std::uint32_t pid, const Place& place) const;
    void show_other(std::uint32_t pid);
    void hide(std::uint32_t pid);

    const os::Root& root_;
    const ProcessTreeOptions options_;
    std::map<std::string, Pod> pods_;             // by uid
    std::map<std::uint32_t, Process> processes_;  // of pods, and scripted ones
    std::set<std::uint32_t> others_;              // that are shown
};

}  // namespace aliquot::sim
