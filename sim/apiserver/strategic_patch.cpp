// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "sim/apiserver/patch.h"

namespace aliquot::sim::apiserver {

namespace {

constexpr std::string_view kOrderPrefix = "$setElementOrder/";
constexpr std::string_view kDeletePrefix = "$deleteFromPrimitiveList/";

Error wrong(std::string message) { return {ErrorCode::kInvalidInput, std::move(message)}; }

const Value kNone;
const Type kAnyType;

bool is_directive(std::string_view name) {
    return name == "$patch" || name == "$retainKeys" || name.starts_with(kOrderPrefix) ||
           name.starts_with(kDeletePrefix);
}

/// A patch where nothing was before: its directives have no object.
Value without_directives(const Value& patch) {
    if (patch.is_array()) {
        Value made = Value::array();
        for (const Value& item : patch.items()) {
            if (item.at("$patch").text() == "delete") continue;
            if (item.is_object() && item.size() == 1 && item.find("$patch") != nullptr) continue;
            made.push(without_directives(item));
        }
        return made;
    }
    if (!patch.is_object()) return patch;
    Value made = Value::object();
    for (const Member& member : patch.members()) {
        if (is_directive(member.name) || member.value.is_null()) continue;
        made[member.name] = without_directives(member.value);
    }
    return made;
}

class Merger {
public:
    Result<Value> object(const Value& document, const Value& patch, const Type& type) {
        const std::string& directive = patch.at("$patch").text();
        if (directive == "replace") return without_directives(patch);
        if (directive == "delete") return Value::object();
        if (!directive.empty() && directive != "merge") {
            return wrong("unknown patch type " + directive);
        }
        Value made = document.is_object() ? document : Value::object();
        if (const Value* keys = patch.find("$retainKeys")) retain(made, *keys);
        for (const Member& member : patch.members()) {
            if (member.name.starts_with(kDeletePrefix)) {
                delete_from(made, member.name.substr(kDeletePrefix.size()), member.value);
                continue;
            }
            if (is_directive(member.name)) continue;
            auto done = one_member(made, member, type, patch);
            if (!done) return std::move(done).error();
        }
        for (const Member& member : patch.members()) {
            if (!member.name.starts_with(kOrderPrefix)) continue;
            const std::string name = member.name.substr(kOrderPrefix.size());
            const Type* list = type.member(name);
            Value* place = made.find(name);
            if (place != nullptr && place->is_array() && patch.find(name) == nullptr) {
                arrange(*place, document.at(name), member.value,
                        list == nullptr ? "" : list->patch_key);
            }
        }
        return made;
    }

private:
    static void retain(Value& made, const Value& keys) {
        std::erase_if(made.members(), [&](const Member& member) {
            return std::ranges::none_of(
                keys.items(), [&](const Value& key) { return key.text() == member.name; });
        });
    }

    static void delete_from(Value& made, const std::string& name, const Value& values) {
        Value* list = made.find(name);
        if (list == nullptr || !list->is_array()) return;
        std::erase_if(list->items(), [&](const Value& item) {
            return std::ranges::find(values.items(), item) != values.items().end();
        });
    }

    Result<Done> one_member(Value& made, const Member& member, const Type& type,
                            const Value& patch) {
        if (member.value.is_null()) {
            made.erase(member.name);
            return Done{};
        }
        const Type* below = type.member(member.name);
        const Type& known = below == nullptr ? kAnyType : *below;
        Value* before = made.find(member.name);
        if (member.value.is_object()) {
            auto merged = object(before == nullptr ? kNone : *before, member.value, known);
            if (!merged) return std::move(merged).error();
            if (member.value.at("$patch").text() == "delete") {
                made.erase(member.name);
            } else {
                made[member.name] = std::move(*merged);
            }
            return Done{};
        }
        if (member.value.is_array() && known.patch_merge) {
            auto merged = list(before == nullptr ? kNone : *before, member.value, known);
            if (!merged) return std::move(merged).error();
            const Value* order = patch.find(std::string(kOrderPrefix) + member.name);
            const bool replaced = replaces(member.value);
            const Value server = before == nullptr ? Value() : *before;
            if (!replaced) {
                arrange(*merged, server, order == nullptr ? member.value : *order, known.patch_key);
            }
            made[member.name] = std::move(*merged);
            return Done{};
        }
        made[member.name] = without_directives(member.value);
        return Done{};
    }

    Result<Value> list(const Value& document, const Value& patch, const Type& type) {
        if (replaces(patch)) return without_directives(patch);
        Value made = document.is_array() ? document : Value::array();
        for (const Value& item : patch.items()) {
            if (type.patch_key.empty()) {
                if (std::ranges::find(made.items(), item) == made.items().end()) made.push(item);
                continue;
            }
            auto done = one_item(made, item, type);
            if (!done) return std::move(done).error();
        }
        return made;
    }

    Result<Done> one_item(Value& made, const Value& item, const Type& type) {
        const Value* key = item.find(type.patch_key);
        if (key == nullptr) {
            return wrong("map: " + to_json(item) +
                         " does not contain declared merge key: " + type.patch_key);
        }
        auto& items = made.items();
        const auto place = std::ranges::find_if(
            items, [&](const Value& one) { return one.at(type.patch_key) == *key; });
        if (item.at("$patch").text() == "delete") {
            std::erase_if(items, [&](const Value& one) { return one.at(type.patch_key) == *key; });
            return Done{};
        }
        if (place == items.end()) {
            items.push_back(without_directives(item));
            return Done{};
        }
        auto merged = object(*place, item, type.element == nullptr ? kAnyType : *type.element);
        if (!merged) return std::move(merged).error();
        *place = std::move(*merged);
        return Done{};
    }

    static bool replaces(const Value& patch) {
        return std::ranges::any_of(
            patch.items(), [](const Value& item) { return item.at("$patch").text() == "replace"; });
    }

    static std::ptrdiff_t rank(const Value& list, const Value& item, const std::string& key) {
        const Value& mine = key.empty() ? item : item.at(key);
        for (std::size_t i = 0; i < list.size(); ++i) {
            const Value& one = list.items()[i];
            if ((key.empty() ? one : one.at(key)) == mine) return static_cast<std::ptrdiff_t>(i);
        }
        return -1;
    }

    /// Elements that the patch names come in its order, those that only the server has in the
    /// server's; between the two the server's order decides, and without one the patch comes first.
    static void arrange(Value& list, const Value& server, const Value& wanted,
                        const std::string& key) {
        Value::Array left;
        Value::Array right;
        for (const Value& item : list.items()) {
            (rank(wanted, item, key) >= 0 ? left : right).push_back(item);
        }
        std::ranges::stable_sort(left, {},
                                 [&](const Value& one) { return rank(wanted, one, key); });
        Value::Array made;
        std::size_t i = 0;
        std::size_t j = 0;
        while (i < left.size() || j < right.size()) {
            bool patch_first = j >= right.size();
            if (i < left.size() && j < right.size()) {
                const std::ptrdiff_t mine = rank(server, left[i], key);
                const std::ptrdiff_t theirs = rank(server, right[j], key);
                patch_first = mine < 0 || theirs < 0 || mine < theirs;
            }
            made.push_back(std::move(patch_first ? left[i++] : right[j++]));
        }
        list.items() = std::move(made);
    }
};

}  // namespace

Result<Value> apply_strategic_patch(const Value& document, const Value& patch, const Type& type) {
    if (!patch.is_object()) return wrong("a strategic merge patch is an object");
    return Merger().object(document, patch, type);
}

}  // namespace aliquot::sim::apiserver
