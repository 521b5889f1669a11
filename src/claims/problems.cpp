// SPDX-License-Identifier: Apache-2.0
#include "claims/problems.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "claims/selector.h"
#include "document/json.h"
#include "document/path.h"
#include "k8s/names.h"

namespace aliquot::claims {
namespace {

constexpr std::size_t kLongestShown = 256;
constexpr std::size_t kMostSelectors = 32;
constexpr std::size_t kLongestParameters = 10 * 1024;

std::string shown(const document::Value& value) {
    std::string text = document::to_json_line(value);
    return text.size() > kLongestShown ? std::string() : text;
}

std::string check_identifier(std::string_view name) {
    const bool good =
        !name.empty() && !is_digit(name.front()) &&
        std::ranges::all_of(name, [](char c) { return is_letter(c) || is_digit(c) || c == '_'; });
    return good ? ""
                : "a valid C identifier must start with alphabetic character or '_', followed by a "
                  "string of alphanumeric characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or "
                  "'MyName', regex used for validation is '[A-Za-z_][A-Za-z0-9_]*')";
}

}  // namespace

void Problems::required(std::string field, const document::Value& in, std::string message) {
    list.push_back({Kind::kRequired, std::move(field), "", std::move(message), in.mark});
}
void Problems::invalid(std::string field, const document::Value& value, std::string message) {
    list.push_back(
        {Kind::kInvalid, std::move(field), shown(value), std::move(message), value.mark});
}
void Problems::forbidden(std::string field, const document::Value& value, std::string message) {
    list.push_back({Kind::kForbidden, std::move(field), "", std::move(message), value.mark});
}
void Problems::duplicate(std::string field, const document::Value& value) {
    list.push_back({Kind::kDuplicate, std::move(field), shown(value), "", value.mark});
}
void Problems::unsupported(std::string field, const document::Value& value, std::string supported) {
    list.push_back(
        {Kind::kUnsupported, std::move(field), shown(value), std::move(supported), value.mark});
}
void Problems::too_many(std::string field, const document::Value& items, std::size_t most) {
    list.push_back({Kind::kTooMany, std::move(field), std::to_string(items.items.size()),
                    "must have at most " + std::to_string(most) + " items", items.mark});
}
void Problems::too_long(std::string field, const document::Value& text, std::size_t most) {
    list.push_back({Kind::kForbidden, std::move(field), "",
                    "may not be more than " + std::to_string(most) + " bytes", text.mark});
}

void Problems::name(const std::string& field, const document::Value& value, std::string complaint) {
    if (!complaint.empty()) invalid(field, value, std::move(complaint));
}

void Problems::need_name(const std::string& field, const document::Value& in, std::string_view key,
                         std::string (*check)(std::string_view)) {
    const document::Value* const value = in.find(key);
    const std::string path = field + "." + std::string(key);
    if (value == nullptr || value->scalar.empty()) {
        required(path, in);
    } else {
        name(path, *value, check(value->scalar));
    }
}

void check_driver(Problems& problems, const std::string& field, const document::Value& in) {
    problems.need_name(field, in, "driver", k8s::check_dns_subdomain);
    const document::Value* const driver = in.find("driver");
    constexpr std::size_t kLongestDriver = 63;
    if (driver != nullptr && driver->scalar.size() > kLongestDriver) {
        problems.too_long(field + ".driver", *driver, kLongestDriver);
    }
}

void check_qualified(Problems& problems, const std::string& field, const document::Value& name,
                     bool full) {
    const auto parts = split(std::string_view(name.scalar), '/');
    constexpr std::size_t kLongestDomain = 63;
    constexpr std::size_t kLongestName = 32;
    if (parts.size() > 2) {
        problems.invalid(field, name, "must not contain more than one slash");
        return;
    }
    if (parts.size() == 2) {
        if (parts[0].empty()) {
            problems.invalid(field, name, "the domain must not be empty");
        } else {
            problems.name(field, name, k8s::check_dns_subdomain(parts[0]));
        }
        if (parts[0].size() > kLongestDomain) problems.too_long(field, name, kLongestDomain);
    } else if (full) {
        problems.invalid(field, name,
                         "a fully qualified name must be a domain and a name separated by a slash");
    }
    if (parts.back().size() > kLongestName) problems.too_long(field, name, kLongestName);
    problems.name(
        field, name,
        parts.back().empty() ? "the name must not be empty" : check_identifier(parts.back()));
}

void check_list(Problems& problems, const std::string& field, const document::Value* items,
                std::size_t most, std::string_view key,
                const std::function<void(const document::Value&, const std::string&)>& each) {
    if (items == nullptr) return;
    if (items->items.size() > most) problems.too_many(field, *items, most);
    std::set<std::string> seen;
    for (std::size_t i = 0; i < items->items.size(); ++i) {
        const document::Value& item = items->items[i];
        const std::string path = field + "[" + std::to_string(i) + "]";
        each(item, path);
        if (key.empty()) continue;
        const document::Value* const named = item.find(key);
        if (named != nullptr && !seen.insert(named->scalar).second) {
            problems.duplicate(path + "." + std::string(key), *named);
        }
    }
}

void check_taint(Problems& problems, const std::string& field, const document::Value& taint) {
    problems.need_name(field, taint, "key", k8s::check_label_key);
    if (const document::Value* const value = taint.find("value")) {
        problems.name(field + ".value", *value, k8s::check_label_value(value->scalar));
    }
    const document::Value* const effect = taint.find("effect");
    if (effect == nullptr || effect->scalar.empty()) {
        problems.required(field + ".effect", taint);
    } else if (effect->scalar != "None" && effect->scalar != "NoSchedule" &&
               effect->scalar != "NoExecute") {
        problems.unsupported(field + ".effect", *effect, "NoExecute, NoSchedule, None");
    }
}

void check_toleration(Problems& problems, const std::string& field,
                      const document::Value& toleration) {
    const document::Value* const key = toleration.find("key");
    const document::Value* const operation = toleration.find("operator");
    const document::Value* const value = toleration.find("value");
    const bool has_key = key != nullptr && !key->scalar.empty();
    if (has_key) problems.name(field + ".key", *key, k8s::check_label_key(key->scalar));
    const std::string sign = operation == nullptr ? "" : operation->scalar;
    if (sign == "Exists") {
        if (value != nullptr && !value->scalar.empty()) {
            problems.invalid(field + ".value", *value, "must be empty for operator `Exists`");
        }
    } else if (sign == "Equal" || sign.empty()) {
        if (!has_key) {
            problems.required(field + ".key", toleration,
                              "must be set when operator is not `Exists`");
        }
    } else {
        problems.unsupported(field + ".operator", *operation, "Equal, Exists");
    }
    const document::Value* const effect = toleration.find("effect");
    if (effect != nullptr && !effect->scalar.empty() && effect->scalar != "NoSchedule" &&
        effect->scalar != "NoExecute") {
        problems.unsupported(field + ".effect", *effect, "NoExecute, NoSchedule");
    }
}

void check_selectors(Problems& problems, const std::string& field, const document::Value& node) {
    check_list(
        problems, field + ".selectors", node.find("selectors"), kMostSelectors, "",
        [&](const document::Value& selector, const std::string& path) {
            const document::Value* const text = document::at_path(selector, "cel.expression");
            if (selector.find("cel") == nullptr) {
                problems.required(path + ".cel", selector);
            } else if (text == nullptr) {
                problems.required(path + ".cel.expression", selector);
            } else if (text->scalar.size() > cel::Expression::kLongest) {
                problems.too_long(path + ".cel.expression", *text, cel::Expression::kLongest);
            } else if (const Selector read(text->scalar); !read.error().empty()) {
                problems.invalid(path + ".cel.expression", *text, read.error());
            }
        });
}

void check_opaque(Problems& problems, const std::string& field, const document::Value& config) {
    const document::Value* const opaque = config.find("opaque");
    if (opaque == nullptr || !opaque->is_mapping()) {
        problems.required(field, config, "exactly one field must be set");
        return;
    }
    check_driver(problems, field + ".opaque", *opaque);
    const document::Value* const parameters = opaque->find("parameters");
    if (parameters == nullptr || parameters->kind == document::Value::Kind::kNull) {
        problems.required(field + ".opaque.parameters", *opaque);
    } else if (!parameters->is_mapping()) {
        problems.invalid(field + ".opaque.parameters", *parameters, "must be a valid JSON object");
    } else if (document::to_json_line(*parameters).size() > kLongestParameters) {
        problems.too_long(field + ".opaque.parameters", *parameters, kLongestParameters);
    }
}

}  // namespace aliquot::claims
