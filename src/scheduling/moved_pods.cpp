// SPDX-License-Identifier: Apache-2.0
#include "scheduling/moved_pods.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json_value.h"
#include "base/time_text.h"

namespace aliquot::scheduling {
namespace {

using Json = nlohmann::ordered_json;

constexpr unsigned kNoteVersion = 1;
constexpr std::size_t kMostNoteBytes = 16'384;
constexpr std::size_t kMostMoved = 1'024;      // kept in mind
constexpr std::chrono::hours kLongestNote{1};  // from now on

}  // namespace

std::string to_json(const MoveNote& note) {
    Json units = Json::object();
    for (const auto& [resource, gpus] : note.to.units) {
        for (const auto& [gpu, count] : gpus) units[resource][gpu] = count;
    }
    return dumped(Json{{"v", kNoteVersion},
                       {"until", rfc3339(note.until)},
                       {"node", note.to.node},
                       {"units", std::move(units)}});
}

std::optional<MoveNote> parse_move_note(std::string_view json) {
    if (json.size() > kMostNoteBytes) return std::nullopt;
    const Json root = parse_json<Json>(json);
    if (!root.is_object() || number_at<unsigned>(root, "v") != kNoteVersion) return std::nullopt;
    const auto until = parse_rfc3339(text_at(root, "until"));
    MoveNote note{.until = {}, .to = {.node = text_at(root, "node")}};
    const Json& units = member(root, "units");
    if (!until || note.to.node.empty() || !units.is_object()) return std::nullopt;
    note.until = *until;
    for (const auto& [resource, gpus] : units.items()) {
        if (!gpus.is_object()) return std::nullopt;
        for (const auto& gpu : gpus.items())
            note.to.units[resource][gpu.key()] = number_at<unsigned>(gpus, gpu.key().c_str());
    }
    return note;
}

void MovedPods::set(const GpuPod& pod, Time now) {
    if (pod.owner.empty() || pod.node.empty()) return;
    if (pod.move.empty()) {
        moved_.erase(pod.uid);
        return;
    }
    std::erase_if(moved_, [&](const auto& one) { return one.second.note.until < now; });
    auto note = parse_move_note(pod.move);
    if (!note || note->until < now || note->until > now + kLongestNote) return;
    const auto known = moved_.find(pod.uid);
    if (known != moved_.end() && known->second.note == *note) return;
    if (known == moved_.end() && moved_.size() >= kMostMoved) return;
    moved_[pod.uid] = {.owner = pod.owner,
                       .devices = pod.devices,
                       .note = *std::move(note),
                       .what = pod.full_name() + " on " + pod.node};
}

std::optional<Target> MovedPods::target_of(const GpuPod& waiting, Time now) const {
    if (waiting.owner.empty()) return std::nullopt;
    for (const auto& [uid, moved] : moved_) {
        if (!moved.is_fulfilled && moved.is_for(waiting) && moved.note.until >= now)
            return moved.note.to;
    }
    return std::nullopt;
}

std::string MovedPods::fulfil(const GpuPod& pod) {
    const auto found = std::find_if(moved_.begin(), moved_.end(), [&](const auto& one) {
        const Moved& moved = one.second;
        return pod.preferred && !moved.is_fulfilled && moved.is_for(pod) &&
               moved.note.to == *pod.preferred;
    });
    if (found == moved_.end()) return {};
    found->second.is_fulfilled = true;  // its pod may still be leaving
    return found->second.what;
}

}  // namespace aliquot::scheduling
