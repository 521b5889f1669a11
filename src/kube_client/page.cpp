// SPDX-License-Identifier: Apache-2.0
#include "kube_client/page.h"

#include "base/json_text.h"
#include "kube_client/object_reader.h"

namespace aliquot::kube_client {
namespace {

using simdjson::error_code;

struct ListHead {
    bool keep_managed_fields = true;
    std::string kind;
    std::string api_version;
    std::vector<std::size_t> bare;  // items without a kind of their own
};

error_code read_items(simdjson::ondemand::value value, Page& page, ListHead& list) {
    // Some servers write null for an empty list.
    simdjson::ondemand::json_type type{};
    if (const auto error = value.type().get(type)) return error;
    if (type == simdjson::ondemand::json_type::null) return simdjson::SUCCESS;
    simdjson::ondemand::array items;
    if (const auto error = value.get_array().get(items)) return error;
    for (auto item : items) {
        simdjson::ondemand::object object;
        if (const auto error = item.get_object().get(object)) return error;
        ObjectHead head;
        if (const auto error = read_head(object, head)) return error;
        if (head.object.name.empty()) return simdjson::NO_SUCH_FIELD;
        if (head.kind.empty()) list.bare.push_back(page.items.size());
        if (list.keep_managed_fields || head.managed_fields.empty()) {
            head.object.json.assign(head.raw);
        } else {
            head.object.json = without_field(head.raw, head.managed_fields);
        }
        page.items.push_back(std::move(head.object));
    }
    return simdjson::SUCCESS;
}

error_code read_list_metadata(simdjson::ondemand::value value, Page& page) {
    simdjson::ondemand::object metadata;
    if (const auto error = value.get_object().get(metadata)) return error;
    for (auto field : metadata) {
        simdjson::ondemand::raw_json_string key;
        if (const auto error = field.key().get(key)) return error;
        const bool version = key == "resourceVersion";
        if (!version && !(key == "continue")) continue;
        std::string_view text;
        if (const auto error = field.value().get_string().get(text)) return error;
        (version ? page.resource_version : page.next).assign(text);
    }
    return simdjson::SUCCESS;
}

error_code read_list(simdjson::ondemand::document& document, Page& page, ListHead& list) {
    simdjson::ondemand::object root;
    if (const auto error = document.get_object().get(root)) return error;
    for (auto field : root) {
        simdjson::ondemand::raw_json_string key;
        if (const auto error = field.key().get(key)) return error;
        simdjson::ondemand::value value;
        if (const auto error = field.value().get(value)) return error;
        error_code error = simdjson::SUCCESS;
        if (key == "items") {
            error = read_items(value, page, list);
        } else if (key == "metadata") {
            error = read_list_metadata(value, page);
        } else if (key == "kind" || key == "apiVersion") {
            std::string_view text;
            error = value.get_string().get(text);
            (key == "kind" ? list.kind : list.api_version).assign(text);
        }
        if (error != simdjson::SUCCESS) return error;
    }
    return simdjson::SUCCESS;
}

/// Items of a list do not repeat what the list's own kind says: PodList is of Pods.
void name_kinds(Page& page, const ListHead& list) {
    constexpr std::string_view kSuffix = "List";
    if (!list.kind.ends_with(kSuffix) || list.kind.size() == kSuffix.size()) return;
    const std::string front = R"({"kind":)" +
                              json_quoted(list.kind.substr(0, list.kind.size() - kSuffix.size())) +
                              R"(,"apiVersion":)" + json_quoted(list.api_version);
    for (const std::size_t at : list.bare) {
        std::string& json = page.items[at].json;
        std::string named;
        named.reserve(front.size() + json.size() + 1);
        named += front;
        if (json.find_first_not_of(" \t\r\n", 1) != json.size() - 1) named += ',';
        named.append(json, 1);
        json = std::move(named);
    }
}

}  // namespace

Outcome<Page> read_page(std::string_view body, std::string_view what, bool keep_managed_fields) {
    Page page;
    ListHead list{.keep_managed_fields = keep_managed_fields};
    PaddedText padded;
    simdjson::ondemand::parser parser;
    simdjson::ondemand::document document;
    auto error = parser.iterate(padded.assign(body)).get(document);
    if (error == simdjson::SUCCESS) error = read_list(document, page, list);
    if (error != simdjson::SUCCESS) {
        return Failure{.reason = Reason::kMalformed,
                       .message = std::string(what) +
                                  ": the answer is no list: " + simdjson::error_message(error)};
    }
    name_kinds(page, list);
    return page;
}

}  // namespace aliquot::kube_client
