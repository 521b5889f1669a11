// SPDX-License-Identifier: Apache-2.0
#include "node/config_choice.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/json_value.h"
#include "base/nearest_word.h"
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

std::string to_json(const ConfigStatus& told) {
    return dumped(Json{{"source", to_text(told.source)},
                       {"key", told.key},
                       {"state", told.served ? "served" : "refused"},
                       {"problem", told.problem}});
}

std::optional<ConfigStatus> parse_config_status(std::string_view json) {
    const Json root = Json::parse(json, nullptr, false);
    if (!root.is_object()) return std::nullopt;
    const auto source = std::ranges::find(kSources, text_at(root, "source"));
    if (source == kSources.end()) return std::nullopt;
    return ConfigStatus{.source = static_cast<Source>(source - kSources.begin()),
                        .key = text_at(root, "key"),
                        .served = text_at(root, "state") == "served",
                        .problem = text_at(root, "problem")};
}

}  // namespace aliquot::node
