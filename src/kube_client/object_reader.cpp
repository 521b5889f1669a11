// SPDX-License-Identifier: Apache-2.0
#include "kube_client/object_reader.h"

namespace aliquot::kube_client {
namespace {

using simdjson::error_code;
using simdjson::SUCCESS;

constexpr std::string_view kBlanks = " \t\r\n";

error_code read_text(simdjson::ondemand::value value, std::string& text) {
    std::string_view view;
    if (const auto error = value.get_string().get(view)) return error;
    text.assign(view);
    return SUCCESS;
}

error_code read_metadata_fields(simdjson::ondemand::object& metadata, ObjectHead& head) {
    for (auto field : metadata) {
        simdjson::ondemand::raw_json_string key;
        if (const auto error = field.key().get(key)) return error;
        simdjson::ondemand::value value;
        if (const auto error = field.value().get(value)) return error;
        error_code error = SUCCESS;
        if (key == "name") {
            error = read_text(value, head.object.name);
        } else if (key == "namespace") {
            error = read_text(value, head.object.namespace_name);
        } else if (key == "uid") {
            error = read_text(value, head.object.uid);
        } else if (key == "resourceVersion") {
            error = read_text(value, head.object.resource_version);
        } else if (key == "managedFields") {
            std::string_view text;
            error = simdjson::to_json_string(value).get(text);
            const char* const begin = key.raw() - 1;  // the quote before the key
            head.managed_fields = {begin, static_cast<std::size_t>(text.end() - begin)};
        }
        if (error != SUCCESS) return error;
    }
    return SUCCESS;
}

}  // namespace

error_code read_head(simdjson::ondemand::object& source, ObjectHead& head) {
    if (const auto error = source.raw_json().get(head.raw)) return error;
    if (const auto error = source.reset().error()) return error;
    for (auto field : source) {
        simdjson::ondemand::raw_json_string key;
        if (const auto error = field.key().get(key)) return error;
        if (key == "kind") {
            if (const auto error = field.value().get_string().get(head.kind)) return error;
        } else if (key == "metadata") {
            simdjson::ondemand::object metadata;
            if (const auto error = field.value().get_object().get(metadata)) return error;
            if (const auto error = read_metadata_fields(metadata, head)) return error;
            head.has_metadata = true;
        }
    }
    return SUCCESS;
}

std::string without_field(std::string_view raw, std::string_view part) {
    const auto begin = static_cast<std::size_t>(part.data() - raw.data());
    const std::string_view before = raw.substr(0, begin);
    const std::string_view after = raw.substr(begin + part.size());
    std::size_t keep = before.size();
    std::size_t skip = 0;
    const auto next = after.find_first_not_of(kBlanks);
    if (next != std::string_view::npos && after[next] == ',') {
        skip = next + 1;
    } else if (const auto last = before.find_last_not_of(kBlanks);
               last != std::string_view::npos && before[last] == ',') {
        keep = last;
    }
    std::string text;
    text.reserve(keep + after.size() - skip);
    text.append(before.substr(0, keep)).append(after.substr(skip));
    return text;
}

}  // namespace aliquot::kube_client
