// SPDX-License-Identifier: Apache-2.0
#include "node/config_choice.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/json_value.h"
#include "base/nearest_word.h"
#include "base/number.h"
#include "node/names.h"

namespace aliquot::node {
namespace {

using Source = ConfigChoice::Source;
using Json = nlohmann::ordered_json;

constexpr char kUsualKey[] = "default";
constexpr std::array<std::string_view, 4> kSources{"label", "default", "only", "built-in"};

std::string keys_of(const std::map<std::string, std::string>& data) {
    constexpr std::size_t kMostShown = 10;
    std::string text;
    std::size_t shown = 0;
    for (const auto& [key, value] : data) {
        if (shown++ == kMostShown) {
            text += ", ...";
            break;
        }
        text += (text.empty() ? "" : ", ") + key;
    }
    return text.empty() ? "it has none" : "it has " + text;
}

std::string missing(const std::string& asked_by, const std::string& key,
                    const ConfigChoices& choices) {
    const std::string who = asked_by + " asks for the configuration '" + key + "', ";
    if (!choices.problem.empty()) return who + choices.problem;
    if (!choices.data) return who + "but there is no " + choices.place;
    std::vector<std::string_view> words;
    for (const auto& [word, text] : *choices.data) words.push_back(word);
    std::string message =
        who + "which " + choices.place + " does not have (" + keys_of(*choices.data) + ")";
    const std::string_view nearest = nearest_word(key, words);
    if (!nearest.empty()) message += "; did you mean '" + std::string(nearest) + "'?";
    return message;
}

constexpr std::size_t kMostPods = 16;  // an annotation holds so much

Json waiting_json(const std::vector<sharing::WaitingDevice>& waiting) {
    Json list = Json::array();
    for (const sharing::WaitingDevice& one : waiting) {
        Json pods = Json::array();
        for (const std::string& pod : one.pods) {
            if (pods.size() < kMostPods) pods.push_back(pod);
        }
        list.push_back({{"device", one.index},
                        {"uuid", one.uuid.text},
                        {"served", one.served},
                        {"pods", std::move(pods)},
                        {"why", one.why}});
    }
    return list;
}

std::vector<sharing::WaitingDevice> read_waiting(const Json& list) {
    std::vector<sharing::WaitingDevice> waiting;
    if (!list.is_array()) return waiting;
    for (const Json& one : list) {
        const std::string index = text_at(one, "device");
        waiting.push_back(
            {.uuid = {text_at(one, "uuid")},
             .gpu_index = parse_number<unsigned>(index.substr(0, index.find(':'))).value_or(0),
             .index = index,
             .served = text_at(one, "served"),
             .pods = {},
             .why = text_at(one, "why")});
        const Json& pods = member(one, "pods");
        if (!pods.is_array()) continue;
        for (const Json& pod : pods) {
            if (pod.is_string()) waiting.back().pods.push_back(pod.get<std::string>());
        }
    }
    return waiting;
}

}  // namespace

std::string_view to_text(Source source) { return kSources.at(static_cast<std::size_t>(source)); }

ConfigChoice choose_config(const std::optional<std::string>& label, const ConfigChoices& choices) {
    const auto take = [&](Source source, const std::string& key,
                          const std::string& asked_by) -> ConfigChoice {
        const auto* const data = choices.data ? &*choices.data : nullptr;
        const auto found = data == nullptr ? std::map<std::string, std::string>::const_iterator{}
                                           : data->find(key);
        if (data == nullptr || found == data->end()) {
            return {.source = source, .key = key, .problem = missing(asked_by, key, choices)};
        }
        return {.source = source, .key = key, .text = found->second};
    };
    if (label && !label->empty()) {
        return take(Source::kLabel, *label, std::string("the label ") + kConfigLabel);
    }
    if (!choices.default_key.empty()) {
        return take(Source::kDefault, choices.default_key, "--default-config");
    }
    if (!choices.problem.empty()) return {.problem = choices.problem};
    if (!choices.data || choices.data->empty()) return {};
    if (choices.data->contains(kUsualKey)) return take(Source::kDefault, kUsualKey, "");
    if (choices.data->size() == 1) return take(Source::kOnly, choices.data->begin()->first, "");
    return {};
}

std::string file_name(const ConfigChoices& choices, const ConfigChoice& choice) {
    if (choice.key.empty()) return {};
    const std::size_t slash = choices.place.rfind('/');
    return choices.place.substr(slash == std::string::npos ? 0 : slash + 1) + "/" + choice.key;
}

std::string_view state_text(const ConfigStatus& told) {
    if (!told.served) return "refused";
    return told.waiting.empty() ? "served" : "pending";
}

std::string to_json(const ConfigStatus& told) {
    Json json{{"source", to_text(told.source)},
              {"key", told.key},
              {"state", state_text(told)},
              {"problem", told.problem}};
    if (!told.instead.empty()) json["instead"] = told.instead;
    if (!told.shortage.empty()) json["shortage"] = told.shortage;
    if (!told.claims_problem.empty()) json["claimsProblem"] = told.claims_problem;
    if (!told.claims_refused.empty()) json["claimsRefused"] = told.claims_refused;
    if (!told.waiting.empty()) json["waiting"] = waiting_json(told.waiting);
    return dumped(json);
}

std::optional<ConfigStatus> parse_config_status(std::string_view json) {
    const Json root = parse_json<Json>(json);
    if (!root.is_object()) return std::nullopt;
    const auto source = std::ranges::find(kSources, text_at(root, "source"));
    if (source == kSources.end()) return std::nullopt;
    const std::string state = text_at(root, "state");
    return ConfigStatus{.source = static_cast<Source>(source - kSources.begin()),
                        .key = text_at(root, "key"),
                        .served = state == "served" || state == "pending",
                        .problem = text_at(root, "problem"),
                        .instead = text_at(root, "instead"),
                        .shortage = text_at(root, "shortage"),
                        .claims_problem = text_at(root, "claimsProblem"),
                        .claims_refused = text_at(root, "claimsRefused"),
                        .waiting = read_waiting(member(root, "waiting"))};
}

}  // namespace aliquot::node
