// SPDX-License-Identifier: Apache-2.0
#include "sim/apiserver/list_options.h"

#include <algorithm>

#include "base/base64.h"
#include "base/number.h"
#include "base/text.h"
#include "sim/apiserver/conversion.h"

namespace aliquot::sim::apiserver {

namespace {

constexpr std::string_view kAccepted =
    "application/json, application/yaml, application/vnd.kubernetes.protobuf";

Outcome<Done> read_revision(const Call& call, ListOptions& options) {
    const std::string_view text = call.http.parameter("resourceVersion");
    const std::string_view match = call.http.parameter("resourceVersionMatch");
    if (!text.empty()) {
        const auto revision = parse_number<std::int64_t>(text);
        if (!revision || *revision < 0) {
            return invalid("ListOptions", "meta.k8s.io", "",
                           {invalid_value("resourceVersion", text, "invalid resource version")});
        }
        options.revision = static_cast<std::uint64_t>(*revision);
        options.has_revision = true;
    }
    if (match.empty()) return Done{};
    const bool watch = call.verb == "watch";
    if (watch && !options.initial_events) {
        return invalid("ListOptions", "meta.k8s.io", "",
                       {forbidden_field("resourceVersionMatch",
                                        "resourceVersionMatch is forbidden for watch unless "
                                        "sendInitialEvents is provided")});
    }
    if (!options.has_revision && !watch) {
        return invalid("ListOptions", "meta.k8s.io", "",
                       {forbidden_field("resourceVersionMatch",
                                        "resourceVersionMatch is forbidden unless resourceVersion "
                                        "is provided")});
    }
    if (match != "Exact" && match != "NotOlderThan") {
        return invalid(
            "ListOptions", "meta.k8s.io", "",
            {unsupported_value("resourceVersionMatch", match, {"Exact", "NotOlderThan", ""})});
    }
    if (match == "Exact" && text == "0") {
        return invalid("ListOptions", "meta.k8s.io", "",
                       {forbidden_field("resourceVersionMatch",
                                        "resourceVersionMatch \"exact\" is forbidden for "
                                        "resourceVersion \"0\"")});
    }
    options.exact = match == "Exact";
    return Done{};
}

Outcome<Done> read_selectors(const Call& call, ListOptions& options) {
    auto labels = parse_label_selector(call.http.parameter("labelSelector"));
    if (!labels) return bad_request(labels.error().message);
    options.labels = std::move(*labels);
    auto fields = parse_field_selector(call.http.parameter("fieldSelector"));
    if (!fields) return bad_request(fields.error().message);
    options.fields = std::move(*fields);
    for (const Requirement& one : options.fields) {
        if (!is_selectable(*call.resource, one.key)) {
            return bad_request("field label not supported: " + one.key);
        }
    }
    return Done{};
}

Outcome<Done> read_initial_events(const Call& call, ListOptions& options) {
    if (!call.http.has_parameter("sendInitialEvents")) return Done{};
    options.initial_events = call.http.flag("sendInitialEvents");
    if (call.verb != "watch") {
        return invalid(
            "ListOptions", "meta.k8s.io", "",
            {forbidden_field("sendInitialEvents", "sendInitialEvents is forbidden for list")});
    }
    if (call.http.parameter("resourceVersionMatch").empty()) {
        return invalid("ListOptions", "meta.k8s.io", "",
                       {forbidden_field("resourceVersionMatch",
                                        "sendInitialEvents requires setting resourceVersionMatch "
                                        "to NotOlderThan")});
    }
    return Done{};
}

}  // namespace

std::string make_token(const ContinueToken& token) {
    const Value value = Value::object(
        {{"v", "meta.k8s.io/v1"},
         {"rv", static_cast<std::int64_t>(token.revision)},
         {"start", token.next_key},
         {"t", static_cast<std::int64_t>(std::chrono::system_clock::to_time_t(token.made))}});
    // A token stands in a query as it is: the alphabet for URLs, without padding. Source: RFC 4648, 5.
    std::string text = encode_base64(to_json(value));
    text.erase(std::min(text.find('='), text.size()));
    std::ranges::replace(text, '+', '-');
    std::ranges::replace(text, '/', '_');
    return text;
}

std::optional<ContinueToken> read_token(std::string_view text) {
    std::string standard(text);
    std::ranges::replace(standard, '-', '+');
    std::ranges::replace(standard, '_', '/');
    standard.append((4 - standard.size() % 4) % 4, '=');
    const auto bytes = decode_base64(standard);
    if (!bytes) return std::nullopt;
    const auto json = parse_json(*bytes);
    if (!json || json->value.at("v").text() != "meta.k8s.io/v1") return std::nullopt;
    ContinueToken token;
    token.revision = static_cast<std::uint64_t>(json->value.at("rv").integer());
    token.next_key = json->value.at("start").text();
    token.made = std::chrono::system_clock::from_time_t(json->value.at("t").integer());
    return token;
}

Outcome<ListOptions> read_list_options(const Call& call) {
    ListOptions options;
    auto initial = read_initial_events(call, options);
    if (!initial) return initial.failure();
    auto revision = read_revision(call, options);
    if (!revision) return revision.failure();
    auto selectors = read_selectors(call, options);
    if (!selectors) return selectors.failure();
    if (!call.name.empty()) {
        options.fields.push_back({"metadata.name", Requirement::Operator::kIn, {call.name}});
    }
    const std::string_view limit = call.http.parameter("limit");
    if (!limit.empty()) {
        const auto number = parse_number<std::int64_t>(limit);
        if (!number || *number < 0) return bad_request("limit: expected a number from 0");
        options.limit = static_cast<std::size_t>(*number);
    }
    const std::string_view token = call.http.parameter("continue");
    if (!token.empty()) {
        if (options.has_revision && options.revision != 0) {
            return bad_request("specifying resource version is not allowed when using continue");
        }
        options.token = read_token(token);
        if (!options.token) return bad_request("continue key is not valid: " + std::string(token));
        const auto age = std::chrono::system_clock::now() - options.token->made;
        if (options.token->revision != 0 && age > call.context.options.continue_lifetime) {
            return expired_token(call, options);
        }
    }
    options.bookmarks = call.http.flag("allowWatchBookmarks");
    const auto timeout =
        parse_number<std::int64_t>(call.http.parameter("timeoutSeconds")).value_or(0);
    options.timeout = std::chrono::seconds(std::clamp<std::int64_t>(timeout, 0, 86'400));
    return options;
}

Failure expired_token(const Call& /*call*/, const ListOptions& options) {
    Failure failure = expired(
        "The provided continue parameter is too old to display a consistent list result. You can "
        "start a new list without the continue parameter, or use the continue token in this "
        "response to retrieve the remainder of the results. Continuing with the provided token "
        "results in an inconsistent list - objects that were created, modified, or deleted between "
        "the time the first chunk was returned and now may show up in the list.");
    ContinueToken rest = options.token.value_or(ContinueToken{});
    rest.revision = 0;  // as of whenever it comes
    failure.continue_token = make_token(rest);
    return failure;
}

bool selects(const ListOptions& options, const Resource& resource, const Value& object) {
    return (options.labels.empty() ||
            matches_labels(options.labels, object.at_path("metadata.labels"))) &&
           (options.fields.empty() || matches_fields(options.fields, resource, object));
}

Outcome<Acceptance> read_acceptance(const HttpRequest& request, bool tables) {
    const std::string_view header = request.header("accept");
    if (header.empty()) return Acceptance{};
    for (const std::string_view clause : split(header, ',')) {
        std::string type;
        std::string as;
        for (const std::string_view part : split(clause, ';')) {
            const std::string_view word = trim(part);
            if (type.empty()) {
                type = lower(word);
            } else if (word.starts_with("as=")) {
                as = word.substr(3);
            }
        }
        if (type != "application/json" && type != "*/*" && type != "application/*" &&
            type != "application/yaml" && type != "text/html") {
            continue;
        }
        if (as == "Table" && tables) return Acceptance{Acceptance::Form::kTable};
        if (as.starts_with("PartialObjectMetadata")) return Acceptance{Acceptance::Form::kMetadata};
        if (as.empty()) return Acceptance{};
    }
    return not_acceptable(kAccepted);
}

Value to_partial_metadata(const Value& object) {
    return Value::object({{"kind", "PartialObjectMetadata"},
                          {"apiVersion", "meta.k8s.io/v1"},
                          {"metadata", object.at("metadata")}});
}

void append_entry(std::string& out, const Entry& entry, const Resource& resource,
                  const Acceptance& wanted) {
    if (wanted.form == Acceptance::Form::kMetadata) {
        append_json(out, to_partial_metadata(entry.object));
    } else if (is_stored_version(entry.object, resource)) {
        out += entry.json();
    } else {
        append_json(out, to_version(entry.object, resource));
    }
}

std::string include_object(const HttpRequest& request) {
    const std::string_view given = request.parameter("includeObject");
    return given.empty() ? "Metadata" : std::string(given);
}

}  // namespace aliquot::sim::apiserver
