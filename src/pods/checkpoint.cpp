// SPDX-License-Identifier: Apache-2.0
#include "pods/checkpoint.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/json_value.h"

namespace aliquot::pods {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kLongestWord = 512;  // a name has at most 253, an id of ours below 100

std::optional<std::string> word_in(const Json& entry, const char* key) {
    const auto found = entry.find(key);
    if (found == entry.end() || !found->is_string()) return std::nullopt;
    auto word = found->get<std::string>();
    if (word.empty() || word.size() > kLongestWord) return std::nullopt;
    return word;
}

void add_ids(const Json& list, std::vector<std::string>& ids) {
    if (!list.is_array()) return;
    for (const Json& id : list) {
        if (!id.is_string()) continue;
        const auto& text = id.get_ref<const std::string&>();
        if (!text.empty() && text.size() <= kLongestWord) ids.push_back(text);
    }
}

std::optional<CheckpointEntry> read_entry(const Json& json) {
    if (!json.is_object()) return std::nullopt;
    auto uid = word_in(json, "PodUID");
    auto container = word_in(json, "ContainerName");
    auto resource = word_in(json, "ResourceName");
    const auto devices = json.find("DeviceIDs");
    if (!uid || !container || !resource || devices == json.end()) return std::nullopt;

    CheckpointEntry entry{.pod_uid = *std::move(uid),
                          .container = *std::move(container),
                          .resource = *std::move(resource)};
    if (devices->is_object()) {
        // A device with several NUMA nodes stands at each of them.
        for (const Json& list : *devices) add_ids(list, entry.ids);
    } else {
        add_ids(*devices, entry.ids);
    }
    std::ranges::sort(entry.ids);
    entry.ids.erase(std::unique(entry.ids.begin(), entry.ids.end()), entry.ids.end());
    if (entry.ids.empty()) return std::nullopt;
    return entry;
}

Error malformed(std::string_view found) {
    return {ErrorCode::kInvalidInput,
            "kubelet_internal_checkpoint: " + std::string(found) +
                "; expected JSON with Data.PodDeviceEntries, as kubelet writes it"};
}

/// Whether brackets stand deeper in each other than kubelet ever writes them: reading such a text
/// costs far more than its size.
bool is_too_deep(std::string_view text) {
    constexpr int kDeepest = 32;
    int depth = 0;
    bool in_string = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (in_string) {
            if (c == '\\') ++i;
            in_string = c != '"';
        } else if (c == '"') {
            in_string = true;
        } else if (c == '[' || c == '{') {
            if (++depth > kDeepest) return true;
        } else if (c == ']' || c == '}') {
            --depth;
        }
    }
    return false;
}

}  // namespace

Result<std::vector<CheckpointEntry>> parse_checkpoint(std::string_view text) {
    if (text.size() > kMostCheckpointBytes) return malformed("too large");
    if (is_too_deep(text)) return malformed("brackets too deep");
    // All of it, though most of the file are the plugins' answers: a parser that is told what to leave
    // out goes over a list again for each of its entries.
    const Json json = parse_json<Json>(text);
    if (!json.is_object()) return malformed("not a JSON object");
    const auto data = json.find("Data");
    if (data == json.end() || !data->is_object()) return malformed("no object 'Data'");
    const auto list = data->find("PodDeviceEntries");
    if (list == data->end() || !(list->is_array() || list->is_null())) {
        return malformed("no list 'Data.PodDeviceEntries'");
    }
    if (list->size() > kMostCheckpointEntries) return malformed("too many entries");
    std::vector<CheckpointEntry> entries;
    for (const Json& item : *list) {
        if (auto entry = read_entry(item)) entries.push_back(*std::move(entry));
    }
    std::ranges::sort(entries);
    return entries;
}

}  // namespace aliquot::pods
