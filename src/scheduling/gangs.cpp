// SPDX-License-Identifier: Apache-2.0
#include "scheduling/gangs.h"

#include <algorithm>

namespace aliquot::scheduling {
namespace {

using Source = GangClaim::Source;

bool is_live(const GpuPod& pod) { return !pod.is_over && !pod.is_leaving; }
/// It has no node yet, so its gang is of interest.
bool is_open(const GpuPod& pod) { return is_live(pod) && pod.node.empty(); }
/// We let it go with a place.
bool is_let_go(const GpuPod& pod) { return is_live(pod) && !pod.is_gated && !pod.plan.empty(); }

std::string counted(unsigned count, const char* what) {
    return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

/// Some pod of theirs waits since before another one was bound: they never ran together.
bool was_never_whole(const GangTurn& turn) {
    return std::any_of(turn.let_go.begin(), turn.let_go.end(), [&](const GpuPod* bound) {
        return !bound->node.empty() &&
               std::any_of(turn.waiting.begin(), turn.waiting.end(),
                           [&](const GpuPod* one) { return one->created <= bound->bound_at; });
    });
}

struct Members {
    unsigned there = 0;    // live or ended well
    unsigned settled = 0;  // of those, not gated
    unsigned held = 0;     // of those that are gated, by somebody else, too
};

/// Fills in what may be placed, and how.
void judge(const Members& members, GangTurn& turn) {
    const unsigned missing = turn.size > members.settled ? turn.size - members.settled : 0;
    const bool has_bound = std::any_of(turn.let_go.begin(), turn.let_go.end(),
                                       [](const GpuPod* one) { return !one->node.empty(); });
    if (missing == 0 || (has_bound && !was_never_whole(turn))) {
        turn.ask = turn.waiting;
        return;
    }
    if (turn.waiting.size() >= missing) {
        turn.at_once = true;
        turn.ask.assign(turn.waiting.begin(), turn.waiting.begin() + missing);
    } else if (members.there < turn.size) {
        turn.why = std::to_string(members.there) + " of its " + counted(turn.size, "pod") +
                   (members.there == 1 ? " exists" : " exist");
    } else {
        turn.why = counted(members.held, "pod") + " of its " + std::to_string(turn.size) +
                   (members.held == 1 ? " has" : " have") + " another scheduling gate, too";
    }
    turn.is_half_placed = !turn.let_go.empty();
    for (const GpuPod* const one : turn.let_go) {
        if (one->node.empty()) turn.undo.push_back(one);
    }
}

GangTurn turn_of(const std::string& id, const std::vector<const GpuPod*>& pods, unsigned size,
                 const std::string& wrong) {
    GangTurn turn{.id = id, .size = size};
    Members members;
    for (const GpuPod* const one : pods) {
        if (!is_live(*one) && !one->has_succeeded) continue;
        ++members.there;
        if (!one->is_gated) ++members.settled;
        if (one->is_gated && one->is_gated_else) ++members.held;
        if (one->waits()) turn.waiting.push_back(one);
        if (is_let_go(*one)) turn.let_go.push_back(one);
        if (turn.first == nullptr || comes_before(*one, *turn.first)) turn.first = one;
        turn.name = "gang " + one->name_space + "/" + one->claim.name;
    }
    std::sort(turn.waiting.begin(), turn.waiting.end(),
              [](const GpuPod* a, const GpuPod* b) { return comes_before(*a, *b); });
    turn.why = wrong;
    if (wrong.empty()) judge(members, turn);
    return turn;
}

}  // namespace

void Gangs::set_pod(const GpuPod& pod) {
    const auto known = keys_.find(pod.uid);
    if (known != keys_.end() && known->second != pod.claim.key) remove_pod(pod.uid);
    if (pod.claim.key.empty()) return;
    keys_[pod.uid] = pod.claim.key;
    Known& gang = gangs_[pod.claim.key];
    gang.pods[pod.uid] = pod;
    if (is_open(pod)) {
        gang.open.insert(pod.uid);
        open_.insert(pod.claim.key);
    } else if (gang.open.erase(pod.uid) > 0 && gang.open.empty()) {
        open_.erase(pod.claim.key);
    }
}

void Gangs::remove_pod(const std::string& uid) {
    const auto known = keys_.find(uid);
    if (known == keys_.end()) return;
    const std::string key = known->second;
    keys_.erase(known);
    Known& gang = gangs_[key];
    gang.pods.erase(uid);
    gang.open.erase(uid);
    if (gang.open.empty()) open_.erase(key);
    if (!gang.pods.empty()) return;
    gangs_.erase(key);
    sizes_.erase(key);
}

void Gangs::let_go(const std::string& uid) {
    const auto known = keys_.find(uid);
    if (known == keys_.end()) return;
    GpuPod& pod = gangs_[known->second].pods[uid];
    pod.is_gated = false;
    if (pod.plan.empty()) pod.plan = "{}";
}

void Gangs::forget_failures() {
    std::erase_if(sizes_, [](const auto& one) { return !one.second.wrong.empty(); });
}

const Gangs::Size& Gangs::size_of(const std::string& key, const Known& known) {
    const auto found = sizes_.find(key);
    const GangClaim& claim = known.pods.begin()->second.claim;
    if (found != sizes_.end() && claim.source != Source::kLabel) return found->second;
    Size& made = sizes_[key] = {};
    if (claim.source == Source::kLabel) {
        for (const auto& [uid, pod] : known.pods) {
            if (is_live(pod) && made.wrong.empty()) made.wrong = pod.claim.wrong;
            made.size.size = std::max(made.size.size, pod.claim.size);
        }
        made.size.is_gang = true;
        return made;
    }
    const std::string& space = known.pods.begin()->second.name_space;
    const auto object = fetch_(claim, space);
    const auto size = object ? read_gang_size(claim, *object) : Result<GangSize>(object.error());
    if (size) {
        made.size = *size;
    } else if (claim.is_named || claim.source == Source::kPodGroup ||
               (object.error().code != ErrorCode::kNotFound &&
                object.error().code != ErrorCode::kPermission)) {
        made.size.is_gang = true;
        made.wrong = "how many pods it has is not known: " + size.error().message;
    }  // else: nobody asked for a gang, and nobody can say that it is one
    return made;
}

void Gangs::add_turns(const std::string& key, const Known& known, std::vector<GangTurn>& turns) {
    const Size& size = size_of(key, known);
    std::map<std::string, std::vector<const GpuPod*>> parts;
    for (const auto& [uid, pod] : known.pods)
        parts[size.size.parts.empty() ? std::string() : pod.claim.part].push_back(&pod);
    for (const auto& [part, pods] : parts) {
        const auto of_part = size.size.parts.find(part);
        const unsigned count = of_part == size.size.parts.end() ? size.size.size : of_part->second;
        std::string wrong = size.wrong;
        if (wrong.empty() && count > kMostMembers)
            wrong = "it has " + std::to_string(count) + " pods; at most " +
                    std::to_string(kMostMembers) + " are placed together";
        const bool is_gang = size.size.is_gang && (count > 1 || !wrong.empty());
        GangTurn turn = turn_of(part.empty() ? key : key + "/" + part, pods, is_gang ? count : 0,
                                is_gang ? wrong : std::string());
        if (turn.first == nullptr) continue;
        if (!is_gang) turn.id.clear();
        turns.push_back(std::move(turn));
    }
}

std::vector<GangTurn> Gangs::turns() {
    std::vector<GangTurn> turns;
    for (const std::string& key : open_) add_turns(key, gangs_.at(key), turns);
    return turns;
}

std::vector<GangTurn> Gangs::turns_of(const GpuPod& pod) {
    std::vector<GangTurn> turns;
    const auto found = gangs_.find(pod.claim.key);
    if (found != gangs_.end()) add_turns(found->first, found->second, turns);
    return turns;
}

}  // namespace aliquot::scheduling
