// SPDX-License-Identifier: Apache-2.0
#include "sim/apiserver/fields.h"

namespace aliquot::sim::apiserver {

FieldSet read_field_set(const Value& fields_v1) {
    FieldSet set;
    for (const Member& member : fields_v1.members()) {
        if (member.name == ".") {
            set.owned = true;
            continue;
        }
        FieldSet below = read_field_set(member.value);
        if (member.value.members().empty()) below.owned = true;
        set.children[member.name] = std::move(below);
    }
    return set;
}

Value to_fields_v1(const FieldSet& set) {
    Value made = Value::object();
    if (set.owned && !set.children.empty()) made["."] = Value::object();
    for (const auto& child : set.children) made[child.first] = to_fields_v1(child.second);
    return made;
}

FieldSet unite(const FieldSet& left, const FieldSet& right) {
    FieldSet made = left;
    made.owned |= right.owned;
    for (const auto& child : right.children) {
        FieldSet& place = made.children[child.first];
        place = unite(place, child.second);
    }
    return made;
}

FieldSet subtract(const FieldSet& left, const FieldSet& right) {
    FieldSet made;
    made.owned = left.owned && !right.owned;
    for (const auto& child : left.children) {
        const auto other = right.children.find(child.first);
        FieldSet rest =
            other == right.children.end() ? child.second : subtract(child.second, other->second);
        if (!rest.empty()) made.children.emplace(child.first, std::move(rest));
    }
    return made;
}

FieldSet intersect(const FieldSet& left, const FieldSet& right) {
    FieldSet made;
    made.owned = left.owned && right.owned;
    for (const auto& child : left.children) {
        const auto other = right.children.find(child.first);
        if (other == right.children.end()) continue;
        FieldSet both = intersect(child.second, other->second);
        if (!both.empty()) made.children.emplace(child.first, std::move(both));
    }
    return made;
}

void remove_below(FieldSet& set, const std::vector<std::string>& path) {
    FieldSet* at = &set;
    for (std::size_t i = 0; i + 1 < path.size(); ++i) {
        const auto next = at->children.find(path[i]);
        if (next == at->children.end()) return;
        at = &next->second;
    }
    if (!path.empty()) at->children.erase(path.back());
    // Places that hold nothing any more go too.
    for (std::size_t length = path.size(); length-- > 1;) {
        FieldSet* parent = &set;
        for (std::size_t i = 0; i + 1 < length; ++i) parent = &parent->children[path[i]];
        const auto place = parent->children.find(path[length - 1]);
        if (place != parent->children.end() && place->second.empty()) parent->children.erase(place);
    }
}

namespace {

std::string spell_step(const std::string& step) {
    const std::string content = step.substr(2);
    if (step.starts_with("f:")) return "." + content;
    if (step.starts_with("v:")) return "[=" + content + "]";
    if (step.starts_with("i:")) return "[" + content + "]";
    std::string out = "[";
    const auto keys = parse_json(content);
    if (keys) {
        for (const Member& key : keys->value.members()) {
            if (out.size() > 1) out += ",";
            out += key.name + "=" + to_json(key.value);
        }
    }
    return out + "]";
}

void spell(std::vector<std::string>& out, const FieldSet& set, const std::string& path) {
    if (set.owned && !path.empty()) out.push_back(path);
    for (const auto& child : set.children) spell(out, child.second, path + spell_step(child.first));
}

}  // namespace

std::vector<std::string> spell_paths(const FieldSet& set) {
    std::vector<std::string> out;
    spell(out, set, "");
    return out;
}

}  // namespace aliquot::sim::apiserver
