// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "scheduling/gang_claim.h"
#include "scheduling/gpu_pod.h"

namespace aliquot::scheduling {

/// What is to be done for one gang now. The pods are those of Gangs, until it is told of others.
struct GangTurn {
    std::string id;     // GpuPod::gang of its pods; empty: they are no gang
    std::string name;   // "gang research/train"
    unsigned size = 0;  // pods that are to start together; 0: not known
    /// Gated pods that may get places now, in the order of the queue. Empty: `why` says what is missing.
    std::vector<const GpuPod*> ask;
    bool at_once = false;  // all of `ask` or none; false: one by one, since the gang runs already
    std::vector<const GpuPod*> waiting;  // all of its gated pods
    std::vector<const GpuPod*> let_go;   // with a place that was chosen for the gang, and not ended
    /// Some have places and others of those that are to start with them have none.
    bool is_half_placed = false;
    /// Of a half placed one: those without a node, whose places are held for nothing while `ask` has none.
    std::vector<const GpuPod*> undo;
    const GpuPod* first = nullptr;  // the gang's place in the queue is that of its first pod
    std::string why;                // "2 of its 4 pods exist"
};

/// GET of the Job, JobSet or PodGroup that a claim names.
/// errors   kNotFound: no such object, or the cluster has no such kind; any other: it may be tried again
using FetchGangObject =
    std::function<Result<std::string>(const GangClaim& claim, const std::string& name_space)>;

/// The pods of all gangs and what they wait for. Pods that do not ask for GPUs count as members, too. Asks for an
/// object once for each gang that waits, until it is to look again. Not thread-safe.
class Gangs {
public:
    explicit Gangs(FetchGangObject fetch) : fetch_(std::move(fetch)) {}

    void set_pod(const GpuPod& pod);
    void remove_pod(const std::string& uid);
    /// It was let go with a place; until set_pod() shows it.
    void let_go(const std::string& uid);
    /// Sizes are asked for anew.
    void look_again() { sizes_.clear(); }
    /// Those that nobody could tell, alone.
    void forget_failures();

    /// Of every gang with a pod that waits or is on its way.
    std::vector<GangTurn> turns();
    /// Of the gang that the pod claims; a gang whose pods all have nodes is among them.
    std::vector<GangTurn> turns_of(const GpuPod& pod);

private:
    struct Known {
        std::map<std::string, GpuPod> pods;  // by uid
        std::set<std::string> open;          // of those without a node
    };
    /// Its size, or why nobody knows it.
    struct Size {
        GangSize size;
        std::string wrong;
    };
    const Size& size_of(const std::string& key, const Known& known);
    void add_turns(const std::string& key, const Known& known, std::vector<GangTurn>& turns);

    FetchGangObject fetch_;
    std::map<std::string, Known> gangs_;       // by key
    std::map<std::string, std::string> keys_;  // by uid
    std::set<std::string> open_;               // keys
    std::map<std::string, Size> sizes_;        // by key
};

}  // namespace aliquot::scheduling
