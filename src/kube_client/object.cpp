// SPDX-License-Identifier: Apache-2.0
#include "kube_client/object.h"

#include <simdjson.h>

#include "kube_client/object_reader.h"

namespace aliquot::kube_client {
namespace {

using simdjson::SUCCESS;

std::string text_of(simdjson::dom::element element, const char* name) {
    std::string_view text;
    if (element[name].get(text) != SUCCESS) return {};
    return std::string(text);
}

std::map<std::string, std::string> words_of(simdjson::dom::element element, const char* name) {
    std::map<std::string, std::string> words;
    simdjson::dom::object fields;
    if (element[name].get(fields) != SUCCESS) return words;
    for (const auto& field : fields) {
        std::string_view text;
        if (field.value.get(text) == SUCCESS) words.emplace(field.key, text);
    }
    return words;
}

/// The value a pointer names; lives as long as `parser` parses nothing else.
std::optional<simdjson::dom::element> find(simdjson::dom::parser& parser, std::string_view json,
                                           std::string_view pointer) {
    simdjson::dom::element root;
    if (parser.parse(json.data(), json.size()).get(root) != SUCCESS) return {};
    simdjson::dom::element found;
    if (root.at_pointer(pointer).get(found) != SUCCESS) return {};
    return found;
}

template <class T>
std::optional<T> value_at(std::string_view json, std::string_view pointer) {
    simdjson::dom::parser parser;
    const auto found = find(parser, json, pointer);
    T value{};
    if (!found || found->get(value) != SUCCESS) return {};
    return value;
}

Error no_object(simdjson::error_code error) {
    return {ErrorCode::kInvalidInput,
            std::string("no JSON object of Kubernetes: ") + simdjson::error_message(error)};
}

}  // namespace

Result<Object> read_object(std::string json) {
    // The server ends its answers with a line break.
    while (json.ends_with('\n') || json.ends_with('\r')) json.pop_back();
    PaddedText padded;
    simdjson::ondemand::parser parser;
    simdjson::ondemand::document document;
    simdjson::ondemand::object root;
    ObjectHead head;
    auto error = parser.iterate(padded.assign(json)).get(document);
    if (error == SUCCESS) error = document.get_object().get(root);
    if (error == SUCCESS) error = read_head(root, head);
    if (error != SUCCESS) return no_object(error);
    if (!head.has_metadata) return Error{ErrorCode::kInvalidInput, "an object without metadata"};
    head.object.json = std::move(json);
    return std::move(head.object);
}

Result<Metadata> read_metadata(std::string_view json) {
    simdjson::dom::parser parser;
    simdjson::dom::element root;
    simdjson::dom::object fields;
    auto error = parser.parse(json.data(), json.size()).get(root);
    if (error == SUCCESS) error = root["metadata"].get(fields);
    if (error != SUCCESS) return no_object(error);
    const simdjson::dom::element source = root["metadata"].value_unsafe();

    Metadata metadata{.name = text_of(source, "name"),
                      .namespace_name = text_of(source, "namespace"),
                      .uid = text_of(source, "uid"),
                      .resource_version = text_of(source, "resourceVersion")};
    std::int64_t generation = 0;
    if (source["generation"].get(generation) == SUCCESS) metadata.generation = generation;
    metadata.deleting = !text_of(source, "deletionTimestamp").empty();
    metadata.labels = words_of(source, "labels");
    metadata.annotations = words_of(source, "annotations");
    simdjson::dom::array items;
    if (source["ownerReferences"].get(items) == SUCCESS) {
        for (const auto owner : items) {
            bool controller = false;
            if (owner["controller"].get(controller) != SUCCESS) controller = false;
            metadata.owners.push_back({.api_version = text_of(owner, "apiVersion"),
                                       .kind = text_of(owner, "kind"),
                                       .name = text_of(owner, "name"),
                                       .uid = text_of(owner, "uid"),
                                       .controller = controller});
        }
    }
    if (source["finalizers"].get(items) == SUCCESS) {
        for (const auto item : items) {
            std::string_view text;
            if (item.get(text) == SUCCESS) metadata.finalizers.emplace_back(text);
        }
    }
    return metadata;
}

std::optional<std::string> string_at(std::string_view json, std::string_view pointer) {
    simdjson::dom::parser parser;
    const auto found = find(parser, json, pointer);
    std::string_view text;
    if (!found || found->get(text) != SUCCESS) return {};
    return std::string(text);
}

std::optional<std::int64_t> integer_at(std::string_view json, std::string_view pointer) {
    return value_at<std::int64_t>(json, pointer);
}

std::optional<bool> bool_at(std::string_view json, std::string_view pointer) {
    return value_at<bool>(json, pointer);
}

std::optional<std::string> json_at(std::string_view json, std::string_view pointer) {
    simdjson::dom::parser parser;
    const auto found = find(parser, json, pointer);
    if (!found) return {};
    return simdjson::to_string(*found);
}

std::map<std::string, std::string> strings_at(std::string_view json, std::string_view pointer) {
    std::map<std::string, std::string> strings;
    simdjson::dom::parser parser;
    const auto found = find(parser, json, pointer);
    simdjson::dom::object object;
    if (!found || found->get(object) != SUCCESS) return strings;
    for (const auto field : object) {
        std::string_view text;
        if (field.value.get(text) == SUCCESS) strings.emplace(field.key, text);
    }
    return strings;
}

}  // namespace aliquot::kube_client
