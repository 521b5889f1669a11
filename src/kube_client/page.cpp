// SPDX-License-Identifier: Apache-2.0
#include "kube_client/page.h"

#include "base/json_text.h"
#include "kube_client/object_reader.h"

namespace aliquot::kube_client {
namespace {

using simdjson::error_code;

struct ListHead {
    std::string kind;
    std::string api_version;
};

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
        if (key == "metadata") {
            error = read_list_metadata(value, page);
        } else if (key == "items") {
            // They were taken as they came; some servers write null for an empty list.
            simdjson::ondemand::json_type type{};
            error = value.type().get(type);
            if (error == simdjson::SUCCESS && type != simdjson::ondemand::json_type::null &&
                type != simdjson::ondemand::json_type::array) {
                error = simdjson::INCORRECT_TYPE;
            }
        } else if (key == "kind" || key == "apiVersion") {
            std::string_view text;
            error = value.get_string().get(text);
            (key == "kind" ? list.kind : list.api_version).assign(text);
        }
        if (error != simdjson::SUCCESS) return error;
    }
    return simdjson::SUCCESS;
}

error_code read_list(std::string_view text, Page& page, ListHead& list) {
    PaddedText padded;
    simdjson::ondemand::parser parser;
    simdjson::ondemand::document document;
    if (const auto error = parser.iterate(padded.assign(text)).get(document)) return error;
    return read_list(document, page, list);
}

/// Items of a list do not repeat what the list's own kind says: PodList is of Pods.
std::string front_of(const ListHead& list) {
    constexpr std::string_view kSuffix = "List";
    if (!list.kind.ends_with(kSuffix) || list.kind.size() == kSuffix.size()) return {};
    return R"({"kind":)" + json_quoted(list.kind.substr(0, list.kind.size() - kSuffix.size())) +
           R"(,"apiVersion":)" + json_quoted(list.api_version);
}

std::string with_front(const std::string& front, std::string_view json) {
    std::string named;
    named.reserve(front.size() + json.size() + 1);
    named += front;
    if (json.find_first_not_of(" \t\r\n", 1) != json.size() - 1) named += ',';
    return named.append(json.substr(1));
}

}  // namespace

Failure ListReader::malformed(std::string_view why) const {
    return {.reason = Reason::kMalformed,
            .message = options_.what + ": the answer is not a list: " + std::string(why)};
}

Failure ListReader::too_large(std::string_view which, std::size_t most) const {
    return {.reason = Reason::kTooLarge,
            .message = options_.what + ": " + std::string(which) + " more than " +
                       std::to_string(most) + " bytes"};
}

/// Whether `c` belongs to a string.
bool ListReader::note_string(char c) {
    if (!in_string_) {
        in_string_ = c == '"';
        return in_string_;
    }
    if (escaped_) {
        escaped_ = false;
    } else if (c == '\\') {
        escaped_ = true;
    } else if (c == '"') {
        in_string_ = false;
    }
    return true;
}

Outcome<Done> ListReader::outside(char c) {
    if (rest_.size() >= options_.limits.object_bytes) {
        return too_large("what stands beside the items has", options_.limits.object_bytes);
    }
    const bool began = !in_string_;
    rest_ += c;
    if (note_string(c)) {
        if (began) string_begin_ = rest_.size();
        return Done{};
    }
    if (c == ':' && depth_ == 1) {
        const auto end = rest_.find('"', string_begin_);
        key_ = rest_.substr(string_begin_, end - string_begin_);
    } else if (c == ',' && depth_ == 1) {
        key_.clear();
    } else if (c == '{' || c == '[') {
        if (c == '[' && depth_ == 1 && key_ == "items") place_ = Place::kBetween;
        ++depth_;
    } else if ((c == '}' || c == ']') && depth_ > 0) {
        --depth_;
    }
    return Done{};
}

Outcome<Done> ListReader::between(char c) {
    if (c == '{') {
        place_ = Place::kObject;
        object_ = c;
        depth_ = 1;
        return Done{};
    }
    if (c == ']') {
        place_ = Place::kOutside;
        depth_ = 1;
        rest_ += c;
        return Done{};
    }
    if (std::string_view(" \t\r\n,").contains(c)) return Done{};
    return malformed("an item is not an object");
}

/// The kind stands before the items nearly always; else the items are named when all is there.
void ListReader::read_kind() {
    kind_is_read_ = true;
    Page ignored;
    ListHead list;
    if (read_list(rest_ + "]}", ignored, list) == simdjson::SUCCESS) front_ = front_of(list);
}

Outcome<Done> ListReader::end_object() {
    place_ = Place::kBetween;
    if (!kind_is_read_) read_kind();
    PaddedText padded;
    simdjson::ondemand::parser parser;
    simdjson::ondemand::document document;
    simdjson::ondemand::object object;
    ObjectHead head;
    auto error = parser.iterate(padded.assign(object_)).get(document);
    if (error == simdjson::SUCCESS) error = document.get_object().get(object);
    if (error == simdjson::SUCCESS) error = read_head(object, head);
    if (error == simdjson::SUCCESS && head.object.name.empty()) error = simdjson::NO_SUCH_FIELD;
    if (error != simdjson::SUCCESS) return malformed(simdjson::error_message(error));
    std::string json = options_.keep_managed_fields || head.managed_fields.empty()
                           ? std::string(head.raw)
                           : without_field(head.raw, head.managed_fields);
    if (head.kind.empty() && !front_.empty()) json = with_front(front_, json);
    if (head.kind.empty() && front_.empty()) bare_.push_back(page_.items.size());
    head.object.json = options_.projection ? options_.projection(json) : std::move(json);
    kept_bytes_ += head.object.json.size() + sizeof(Object);
    if (kept_bytes_ > options_.limits.answer_bytes) {
        return too_large("the items have", options_.limits.answer_bytes);
    }
    page_.items.push_back(std::move(head.object));
    return Done{};
}

Outcome<Done> ListReader::take(std::string_view bytes) {
    for (const char c : bytes) {
        Outcome<Done> taken = Done{};
        if (place_ == Place::kOutside) {
            taken = outside(c);
        } else if (place_ == Place::kBetween) {
            taken = between(c);
        } else {
            if (object_.size() >= options_.limits.object_bytes) {
                return too_large("an object has", options_.limits.object_bytes);
            }
            object_ += c;
            if (note_string(c)) continue;
            if (c == '{' || c == '[') ++depth_;
            if ((c == '}' || c == ']') && --depth_ == 0) taken = end_object();
        }
        if (!taken) return taken;
    }
    return Done{};
}

Outcome<Page> ListReader::finish() {
    if (place_ != Place::kOutside) return malformed("it ends within its items");
    ListHead list;
    if (const auto error = read_list(rest_, page_, list)) {
        return malformed(simdjson::error_message(error));
    }
    const std::string front = bare_.empty() ? "" : front_of(list);
    for (const std::size_t at : bare_) {
        if (!front.empty()) page_.items[at].json = with_front(front, page_.items[at].json);
    }
    return std::move(page_);
}

Outcome<Page> read_page(std::string_view body, std::string_view what, bool keep_managed_fields) {
    ListReader reader({.what = std::string(what),
                       .keep_managed_fields = keep_managed_fields,
                       .projection = {},
                       .limits = {}});
    if (auto taken = reader.take(body); !taken) return std::move(taken).failure();
    return reader.finish();
}

}  // namespace aliquot::kube_client
