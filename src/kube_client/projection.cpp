// SPDX-License-Identifier: Apache-2.0
#include <map>

#include "kube_client/object_reader.h"
#include "kube_client/store.h"

namespace aliquot::kube_client {
namespace {

using simdjson::error_code;
using simdjson::SUCCESS;
using simdjson::ondemand::json_type;

/// The fields that are kept, as a tree; a leaf keeps all below it.
struct Kept {
    std::map<std::string, Kept, std::less<>> fields;

    void add(std::string_view path) {
        const auto dot = path.find('.');
        Kept& next = fields[std::string(path.substr(0, dot))];
        if (dot == std::string_view::npos) {
            next.fields.clear();
            next.whole = true;
        } else if (!next.whole) {
            next.add(path.substr(dot + 1));
        }
    }
    bool whole = false;
};

error_code copy(simdjson::ondemand::value value, const Kept& kept, std::string& out);

error_code copy_object(simdjson::ondemand::object object, const Kept& kept, std::string& out) {
    out += '{';
    bool first = true;
    for (auto field : object) {
        std::string_view key;
        if (const auto error = field.unescaped_key().get(key)) return error;
        const auto found = kept.fields.find(key);
        if (found == kept.fields.end()) continue;
        if (!first) out += ',';
        first = false;
        out.append("\"").append(found->first).append("\":");
        simdjson::ondemand::value value;
        if (const auto error = field.value().get(value)) return error;
        if (const auto error = copy(value, found->second, out)) return error;
    }
    out += '}';
    return SUCCESS;
}

error_code copy(simdjson::ondemand::value value, const Kept& kept, std::string& out) {
    json_type type{};
    if (const auto error = value.type().get(type)) return error;
    if (!kept.whole && type == json_type::object) {
        simdjson::ondemand::object object;
        if (const auto error = value.get_object().get(object)) return error;
        return copy_object(object, kept, out);
    }
    if (!kept.whole && type == json_type::array) {
        simdjson::ondemand::array array;
        if (const auto error = value.get_array().get(array)) return error;
        out += '[';
        bool first = true;
        for (auto item : array) {
            if (!first) out += ',';
            first = false;
            simdjson::ondemand::value each;
            if (const auto error = item.get(each)) return error;
            if (const auto error = copy(each, kept, out)) return error;
        }
        out += ']';
        return SUCCESS;
    }
    std::string_view text;
    if (const auto error = simdjson::to_json_string(value).get(text)) return error;
    const auto end = text.find_last_not_of(" \t\r\n");
    out.append(text.substr(0, end == std::string_view::npos ? 0 : end + 1));
    return SUCCESS;
}

}  // namespace

Projection keep_fields(const std::vector<std::string>& paths) {
    auto kept = std::make_shared<Kept>();
    for (const char* const path : {"apiVersion", "kind", "metadata.name", "metadata.namespace",
                                   "metadata.uid", "metadata.resourceVersion"}) {
        kept->add(path);
    }
    for (const auto& path : paths) kept->add(path);
    return [kept = std::shared_ptr<const Kept>(std::move(kept))](std::string_view json) {
        PaddedText padded;
        simdjson::ondemand::parser parser;
        simdjson::ondemand::document document;
        simdjson::ondemand::object root;
        std::string out;
        auto error = parser.iterate(padded.assign(json)).get(document);
        if (error == SUCCESS) error = document.get_object().get(root);
        if (error == SUCCESS) error = copy_object(root, *kept, out);
        if (error != SUCCESS) return std::string(json);  // as it is, rather than half of it
        out.shrink_to_fit();
        return out;
    };
}

}  // namespace aliquot::kube_client
