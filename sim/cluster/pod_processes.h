// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/result.h"
#include "os/root.h"
#include "sim/cluster/container_run.h"
#include "sim/cluster/environment.h"
#include "sim/proc/process_tree.h"

namespace aliquot::sim::cluster {

/// Shows the agent, in the file tree that is its host, which processes the pods run: as a real node
/// would by /proc and the log directories. Not thread-safe.
class PodProcesses {
public:
    /// root   must outlive this
    explicit PodProcesses(const os::Root& root) : tree_(root, {}) {}

    /// Before the agent starts: what it sees first decides what it believes.
    Result<Done> begin();

    /// Tells of a container as it is now; to be called often. A new start is a new container.
    void note(const PodIdentity& pod, const ContainerRun& container);

    /// Looks for what the containers have forked, now and then: all of the machine's processes are
    /// read for it.
    void refresh(TimePoint now);

    /// Why the agent cannot see everything; told once.
    std::optional<std::string> take_problem();

private:
    struct Shown {
        unsigned restarts = 0;
        pid_t pid = 0;
    };
    void complain(const Error& error);

    sim::ProcessTree tree_;
    std::map<std::pair<std::string, std::string>, Shown> shown_;  // by uid and container
    TimePoint next_refresh_;
    std::optional<std::string> problem_;
    bool complained_ = false;
};

}  // namespace aliquot::sim::cluster
