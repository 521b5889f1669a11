// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/json_text.h"
#include "base/number.h"
#include "base/text.h"
#include "sim/apiserver/patch.h"

namespace aliquot::sim::apiserver {

namespace {

constexpr std::size_t kOperationsMax = 10'000;

Error wrong(std::string message) { return {ErrorCode::kInvalidInput, std::move(message)}; }

Result<std::vector<std::string>> read_pointer(const Value& pointer) {
    if (!pointer.is_string()) return wrong("a JSON pointer is missing or is not a text");
    std::vector<std::string> tokens;
    std::string_view text = pointer.text();
    if (text.empty()) return tokens;
    if (text[0] != '/')
        return wrong("JSON pointer '" + pointer.text() + "' does not begin with '/'");
    for (const std::string_view part : split(text.substr(1), '/')) {
        std::string token;
        for (std::size_t i = 0; i < part.size(); ++i) {
            if (part[i] != '~') {
                token += part[i];
                continue;
            }
            const char next = i + 1 < part.size() ? part[i + 1] : '\0';
            if (next != '0' && next != '1') {
                return wrong("JSON pointer '" + pointer.text() + "': '~' must stand before 0 or 1");
            }
            token += next == '0' ? '~' : '/';
            ++i;
        }
        tokens.push_back(std::move(token));
    }
    return tokens;
}

/// An index into a list of `size` elements; `end_too`: "-" and size itself are allowed.
Result<std::size_t> read_index(const std::string& token, std::size_t size, bool end_too) {
    if (end_too && token == "-") return size;
    const auto index = parse_number<std::int64_t>(token);
    const bool spelled = index && token == std::to_string(*index);
    if (!spelled || *index < 0 || static_cast<std::size_t>(*index) >= size + (end_too ? 1 : 0)) {
        return wrong("index '" + token + "' is out of bounds of a list of " + std::to_string(size));
    }
    return static_cast<std::size_t>(*index);
}

Result<Value*> step(Value& value, const std::string& token) {
    if (value.is_array()) {
        auto index = read_index(token, value.size(), false);
        if (!index) return std::move(index).error();
        return &value.items()[*index];
    }
    Value* member = value.find(token);
    if (member == nullptr) return wrong("path segment '" + token + "' does not exist");
    return member;
}

Result<Value*> resolve(Value& document, const std::vector<std::string>& tokens, std::size_t count) {
    Value* at = &document;
    for (std::size_t i = 0; i < count; ++i) {
        auto next = step(*at, tokens[i]);
        if (!next) return next;
        at = *next;
    }
    return at;
}

Result<Done> add(Value& document, const std::vector<std::string>& tokens, Value value) {
    if (tokens.empty()) {
        document = std::move(value);
        return Done{};
    }
    auto parent = resolve(document, tokens, tokens.size() - 1);
    if (!parent) return std::move(parent).error();
    Value& place = **parent;
    if (place.is_array()) {
        auto index = read_index(tokens.back(), place.size(), true);
        if (!index) return std::move(index).error();
        place.items().insert(place.items().begin() + static_cast<std::ptrdiff_t>(*index),
                             std::move(value));
        return Done{};
    }
    if (!place.is_object()) return wrong("add: the parent of '" + tokens.back() + "' is a scalar");
    place[tokens.back()] = std::move(value);
    return Done{};
}

Result<Value> remove(Value& document, const std::vector<std::string>& tokens) {
    if (tokens.empty()) return std::exchange(document, Value());
    auto parent = resolve(document, tokens, tokens.size() - 1);
    if (!parent) return std::move(parent).error();
    auto place = step(**parent, tokens.back());
    if (!place) return std::move(place).error();
    Value taken = std::move(**place);
    if ((*parent)->is_array()) {
        auto& items = (*parent)->items();
        items.erase(items.begin() + (*place - items.data()));
    } else {
        (*parent)->erase(tokens.back());
    }
    return taken;
}

Result<Done> replace(Value& document, const std::vector<std::string>& tokens, const Value& value) {
    auto place = resolve(document, tokens, tokens.size());
    if (!place) return std::move(place).error();
    **place = value;
    return Done{};
}

bool is_prefix(const std::vector<std::string>& shorter, const std::vector<std::string>& longer) {
    return shorter.size() < longer.size() &&
           std::equal(shorter.begin(), shorter.end(), longer.begin());
}

Result<Done> move_or_copy(Value& document, const Value& operation,
                          const std::vector<std::string>& path, bool moves) {
    auto from = read_pointer(operation.at("from"));
    if (!from) return std::move(from).error();
    if (moves && is_prefix(*from, path)) return wrong("move: a value cannot be moved into itself");
    auto source = resolve(document, *from, from->size());
    if (!source) return std::move(source).error();
    Value value = **source;
    if (moves) {
        auto taken = remove(document, *from);
        if (!taken) return std::move(taken).error();
    }
    return add(document, path, std::move(value));
}

Result<Done> apply_one(Value& document, const Value& operation) {
    const std::string& op = operation.at("op").text();
    auto path = read_pointer(operation.at("path"));
    if (!path) return std::move(path).error();
    const Value* value = operation.find("value");
    if ((op == "add" || op == "replace" || op == "test") && value == nullptr) {
        return wrong("operation '" + op + "' without a value");
    }
    if (op == "add") return add(document, *path, *value);
    if (op == "replace") return replace(document, *path, *value);
    if (op == "move" || op == "copy") return move_or_copy(document, operation, *path, op == "move");
    if (op == "remove") {
        auto taken = remove(document, *path);
        if (!taken) return std::move(taken).error();
        return Done{};
    }
    if (op == "test") {
        auto place = resolve(document, *path, path->size());
        if (!place) {
            if (value->is_null()) return Done{};  // as Kubernetes' library has it
            return Error{ErrorCode::kConflict, place.error().message};
        }
        if (**place == *value) return Done{};
        return Error{ErrorCode::kConflict,
                     "testing path '" + operation.at("path").text() + "' value failed"};
    }
    return wrong("unknown operation '" + op + "'");
}

void compare(Value& patch, const std::string& path, const Value& before, const Value& after) {
    if (before == after) return;
    if (!before.is_object() || !after.is_object()) {
        patch.push(Value::object({{"op", "replace"}, {"path", path}, {"value", after}}));
        return;
    }
    for (const Member& member : before.members()) {
        const std::string place = path + "/" + json_pointer_step(member.name);
        const Value* now = after.find(member.name);
        if (now == nullptr) {
            patch.push(Value::object({{"op", "remove"}, {"path", place}}));
        } else {
            compare(patch, place, member.value, *now);
        }
    }
    for (const Member& member : after.members()) {
        if (before.find(member.name) != nullptr) continue;
        patch.push(Value::object({{"op", "add"},
                                  {"path", path + "/" + json_pointer_step(member.name)},
                                  {"value", member.value}}));
    }
}

}  // namespace

Result<Value> apply_json_patch(Value document, const Value& patch) {
    if (!patch.is_array()) return wrong("a JSON patch is a list of operations");
    if (patch.size() > kOperationsMax) {
        return wrong("the allowed maximum operations in a JSON patch is 10000, got " +
                     std::to_string(patch.size()));
    }
    for (const Value& operation : patch.items()) {
        auto done = apply_one(document, operation);
        if (!done) return std::move(done).error();
    }
    return document;
}

Value make_json_patch(const Value& before, const Value& after) {
    Value patch = Value::array();
    compare(patch, "", before, after);
    return patch;
}

void apply_merge_patch(Value& document, const Value& patch) {
    if (!patch.is_object()) {
        document = patch;
        return;
    }
    if (!document.is_object()) document = Value::object();
    for (const Member& member : patch.members()) {
        if (member.value.is_null()) {
            document.erase(member.name);
        } else {
            apply_merge_patch(document[member.name], member.value);
        }
    }
}

}  // namespace aliquot::sim::apiserver
