// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scheduling/gpu_pod.h"

/// How a pod that somebody moves comes back where it is meant to be: who evicts it writes that on it before
/// (kMoveAnnotation), and the pod that its owner makes in its place prefers its place. The pod that comes is another one,
/// so nothing else could tell.
namespace aliquot::scheduling {

/// What kMoveAnnotation says:
///   {"v":1,"until":"2026-11-28T12:10:00Z","node":"node-a","units":{"nvidia.com/gpu.shared":{"GPU-1":1}}}
struct MoveNote {
    std::chrono::system_clock::time_point until;  // afterwards it means nothing; whole seconds
    Target to;
    friend bool operator==(const MoveNote&, const MoveNote&) = default;
};

std::string to_json(const MoveNote& note);
/// Any bytes. Empty: it is no such text, or of a newer version.
std::optional<MoveNote> parse_move_note(std::string_view json);

/// The pods that were moved of late. What they say is a preference: the place is given only where the pod may go and what
/// it asks is free, so a forged note chooses among free GPUs at most. Not thread-safe.
class MovedPods {
public:
    using Time = std::chrono::system_clock::time_point;

    /// A pod as it is now. One that has gone is kept in mind until its note's time is over.
    void set(const GpuPod& pod, Time now);
    /// Where a waiting pod is to go, because one of the same owner that asked for the same was moved.
    [[nodiscard]] std::optional<Target> target_of(const GpuPod& waiting, Time now) const;
    /// It got what it wished for: no other pod does. Which pod was moved, and from where: "team/web-1 on node-a";
    /// empty: none is known.
    std::string fulfil(const GpuPod& pod);

private:
    struct Moved {
        std::string owner;
        std::vector<DeviceRequest> devices;
        MoveNote note;
        std::string what;  // "team/web-1 on node-a"
        bool is_fulfilled = false;

        [[nodiscard]] bool is_for(const GpuPod& pod) const {
            return owner == pod.owner && devices == pod.devices;
        }
    };
    std::map<std::string, Moved> moved_;  // by uid
};

}  // namespace aliquot::scheduling
