// SPDX-License-Identifier: Apache-2.0
// What structured merging does with values: their fields, their differences, one laid over another.
#include <algorithm>
#include <set>

#include "sim/apiserver/fields.h"

namespace aliquot::sim::apiserver {

namespace {

using Kind = Type::Kind;

const Type kAnyType;

const Type& below(const Type& type, const std::string& name) {
    const Type* found = type.member(name);
    return found == nullptr ? kAnyType : *found;
}

const Type& element_of(const Type& list) {
    return list.element == nullptr ? kAnyType : *list.element;
}

/// Untyped values ("any", unknown members): objects are merged, lists are replaced.
bool is_granular_object(const Value& value, const Type& type) {
    if (!value.is_object() || type.atomic) return false;
    return type.kind == Kind::kObject || type.kind == Kind::kMap || type.kind == Kind::kAny;
}

bool is_granular_list(const Value& value, const Type& type) {
    return value.is_array() && type.kind == Kind::kList && type.list != Type::ListRule::kAtomic;
}

Result<Done> collect(FieldSet& set, const Value& value, const Type& type, unsigned depth) {
    if (depth > 200) return Error{ErrorCode::kInvalidInput, "nested too deeply"};
    if (is_granular_object(value, type)) {
        for (const Member& member : value.members()) {
            FieldSet& child = set.children["f:" + member.name];
            auto done = collect(child, member.value, below(type, member.name), depth + 1);
            if (!done) return done;
            const bool declared = type.kind == Kind::kObject && type.find(member.name) != nullptr;
            if (!declared || member.value.is_null() ||
                (member.value.is_object() && member.value.members().empty())) {
                child.owned = true;
            }
            if (child.empty()) set.children.erase("f:" + member.name);
        }
        return Done{};
    }
    if (is_granular_list(value, type)) {
        for (const Value& item : value.items()) {
            const std::string step = element_step(item, type);
            if (step.empty()) {
                return Error{ErrorCode::kInvalidInput,
                             "associative list with keys has an element that omits key field"};
            }
            if (set.children.contains(step)) {
                FieldSet one;
                one.children[step].owned = true;
                return Error{ErrorCode::kInvalidInput,
                             "duplicate entries for key " + spell_paths(one).front()};
            }
            FieldSet& child = set.children[step];
            child.owned = true;
            if (type.list == Type::ListRule::kMap) {
                auto done = collect(child, item, element_of(type), depth + 1);
                if (!done) return done;
                child.owned = true;
            }
        }
        return Done{};
    }
    set.owned = true;
    return Done{};
}

/// A value and every place within it: what is wholly new or gone.
FieldSet every_place(const Value& value, const Type& type, unsigned depth = 0) {
    FieldSet set;
    set.owned = true;
    if (depth > 200) return set;
    if (is_granular_object(value, type)) {
        for (const Member& member : value.members()) {
            set.children["f:" + member.name] =
                every_place(member.value, below(type, member.name), depth + 1);
        }
    } else if (is_granular_list(value, type)) {
        const Type& element = type.list == Type::ListRule::kMap ? element_of(type) : kAnyType;
        for (const Value& item : value.items()) {
            const std::string step = element_step(item, type);
            if (!step.empty()) set.children[step] = every_place(item, element, depth + 1);
        }
    }
    return set;
}

const Value* find_element(const Value& list, const std::string& step, const Type& type) {
    for (const Value& item : list.items()) {
        if (element_step(item, type) == step) return &item;
    }
    return nullptr;
}

void compare(Difference& found, const Value& before, const Value& after, const Type& type);

void compare_child(Difference& found, const std::string& step, const Value* before,
                   const Value* after, const Type& type) {
    Difference child;
    if (before == nullptr || after == nullptr) {
        FieldSet& side = before == nullptr ? child.added : child.removed;
        side = every_place(before == nullptr ? *after : *before, type);
    } else {
        compare(child, *before, *after, type);
    }
    if (!child.added.empty()) found.added.children[step] = std::move(child.added);
    if (!child.removed.empty()) found.removed.children[step] = std::move(child.removed);
    if (!child.modified.empty()) found.modified.children[step] = std::move(child.modified);
}

void compare(Difference& found, const Value& before, const Value& after, const Type& type) {
    if (before == after) return;
    if (is_granular_object(before, type) && is_granular_object(after, type)) {
        for (const Member& member : before.members()) {
            compare_child(found, "f:" + member.name, &member.value, after.find(member.name),
                          below(type, member.name));
        }
        for (const Member& member : after.members()) {
            if (before.find(member.name) != nullptr) continue;
            compare_child(found, "f:" + member.name, nullptr, &member.value,
                          below(type, member.name));
        }
        return;
    }
    if (is_granular_list(before, type) && is_granular_list(after, type)) {
        const Type& element = type.list == Type::ListRule::kMap ? element_of(type) : kAnyType;
        for (const Value& item : before.items()) {
            const std::string step = element_step(item, type);
            if (!step.empty()) {
                compare_child(found, step, &item, find_element(after, step, type), element);
            }
        }
        for (const Value& item : after.items()) {
            const std::string step = element_step(item, type);
            if (!step.empty() && find_element(before, step, type) == nullptr) {
                compare_child(found, step, nullptr, &item, element);
            }
        }
        return;
    }
    found.modified.owned = true;
}

Value merge_list(const Value& live, const Value& applied, const Type& type) {
    // The applied order counts; elements that only live has stay behind the one they followed.
    Value made = Value::array();
    std::set<std::string> given;
    for (const Value& item : applied.items()) given.insert(element_step(item, type));
    std::size_t next = 0;
    const auto& old = live.items();
    const auto take_live_only = [&] {
        while (next < old.size() && !given.contains(element_step(old[next], type))) {
            made.push(old[next++]);
        }
    };
    for (const Value& item : applied.items()) {
        take_live_only();
        const Value* before = find_element(live, element_step(item, type), type);
        made.push(before == nullptr || type.list == Type::ListRule::kSet
                      ? item
                      : merge_values(*before, item, element_of(type)));
        if (next < old.size() && given.contains(element_step(old[next], type))) ++next;
    }
    while (next < old.size()) {
        take_live_only();
        if (next < old.size()) ++next;
    }
    return made;
}

bool prune_one(Value& value, const FieldSet& gone, const FieldSet* kept, const Type& type,
               unsigned depth);

bool prune_member(Value& object, const std::string& name, const FieldSet& gone,
                  const FieldSet* kept, const Type& type, unsigned depth) {
    Value* place = object.find(name);
    return place != nullptr && prune_one(*place, gone, kept, type, depth + 1);
}

/// True: the value itself shall go.
bool prune_one(Value& value, const FieldSet& gone, const FieldSet* kept, const Type& type,
               unsigned depth) {
    const bool nothing_kept = kept == nullptr || kept->empty();
    if (gone.owned && nothing_kept) return true;
    if (depth > 200) return false;
    for (const auto& child : gone.children) {
        const FieldSet* child_kept = nullptr;
        if (kept != nullptr) {
            const auto place = kept->children.find(child.first);
            if (place != kept->children.end()) child_kept = &place->second;
        }
        if (child.first.starts_with("f:")) {
            const std::string name = child.first.substr(2);
            if (prune_member(value, name, child.second, child_kept, below(type, name), depth)) {
                value.erase(name);
            }
            continue;
        }
        if (!value.is_array()) continue;
        auto& items = value.items();
        for (std::size_t i = 0; i < items.size(); ++i) {
            if (element_step(items[i], type) != child.first) continue;
            if (prune_one(items[i], child.second, child_kept, element_of(type), depth + 1)) {
                items.erase(items.begin() + static_cast<std::ptrdiff_t>(i));
            }
            break;
        }
    }
    return false;
}

}  // namespace

std::string element_step(const Value& element, const Type& list) {
    if (list.list == Type::ListRule::kSet) return "v:" + to_json(element);
    Value keys = Value::object();
    for (const std::string& key : list.keys) {
        const Value* value = element.find(key);
        if (value == nullptr) {
            const Field* field = list.element == nullptr ? nullptr : list.element->find(key);
            if (field == nullptr || field->default_value.is_null()) continue;
            value = &field->default_value;
        }
        keys[key] = *value;
    }
    return keys.members().empty() ? "" : "k:" + to_json(keys);
}

Result<FieldSet> fields_of(const Value& value, const Type& type) {
    FieldSet set;
    auto done = collect(set, value, type, 0);
    if (!done) return std::move(done).error();
    return set;
}

Difference compare_values(const Value& before, const Value& after, const Type& type) {
    Difference found;
    compare(found, before, after, type);
    return found;
}

Value merge_values(const Value& live, const Value& applied, const Type& type) {
    if (is_granular_object(applied, type) && live.is_object()) {
        Value made = live;
        for (const Member& member : applied.members()) {
            const Value* before = live.find(member.name);
            made[member.name] = before == nullptr
                                    ? member.value
                                    : merge_values(*before, member.value, below(type, member.name));
        }
        return made;
    }
    if (is_granular_list(applied, type) && live.is_array()) return merge_list(live, applied, type);
    return applied;
}

void prune_fields(Value& value, const FieldSet& gone, const FieldSet& kept, const Type& type) {
    static_cast<void>(prune_one(value, gone, &kept, type, 0));
}

}  // namespace aliquot::sim::apiserver
