// SPDX-License-Identifier: Apache-2.0
#include "sim/apiserver/types.h"

#include <algorithm>

#include "base/number.h"
#include "base/text.h"
#include "sim/apiserver/embedded.h"

namespace aliquot::sim::apiserver {

namespace {

const std::map<std::string_view, Type::Kind> kScalars = {{"any", Type::Kind::kAny},
                                                         {"string", Type::Kind::kString},
                                                         {"int", Type::Kind::kInteger},
                                                         {"int32", Type::Kind::kInteger},
                                                         {"number", Type::Kind::kNumber},
                                                         {"bool", Type::Kind::kBool},
                                                         {"bytes", Type::Kind::kBytes},
                                                         {"time", Type::Kind::kTime},
                                                         {"microtime", Type::Kind::kMicroTime},
                                                         {"quantity", Type::Kind::kQuantity},
                                                         {"intstr", Type::Kind::kIntOrString}};

void apply_rule(Type& type, std::string_view rule) {
    const std::size_t equals = rule.find('=');
    const std::string_view name = rule.substr(0, equals);
    const std::string_view content = rule.substr(equals + 1);
    const std::size_t colon = content.find(':');
    const std::string_view head = content.substr(0, colon);
    const std::string_view tail =
        colon == std::string_view::npos ? std::string_view() : content.substr(colon + 1);
    if (name == "list") {
        type.list = head == "map"   ? Type::ListRule::kMap
                    : head == "set" ? Type::ListRule::kSet
                                    : Type::ListRule::kAtomic;
        for (const std::string_view key : split_list(tail)) type.keys.emplace_back(key);
    } else if (name == "map") {
        type.atomic = head == "atomic";
    } else if (name == "patch") {
        for (const std::string_view strategy : split(head, ',')) {
            if (strategy == "merge") type.patch_merge = true;
            if (strategy == "retainKeys") type.patch_retain_keys = true;
        }
        type.patch_key = tail;
    }
}

/// "wire=2.4-": the field 4 in the message that is field 2; zero is as good as nothing.
void read_wire(Field& field, std::string_view rules) {
    if (!rules.starts_with("wire=")) return;
    std::string_view numbers = rules.substr(5, rules.find('\t') - 5);
    field.wire_without_zero = numbers.ends_with('-');
    if (field.wire_without_zero) numbers.remove_suffix(1);
    for (const std::string_view number : split_list(numbers, '.')) {
        field.wire.push_back(static_cast<unsigned>(parse_number<std::int64_t>(number).value_or(0)));
    }
}

}  // namespace

const Field* Type::find(std::string_view field) const {
    const auto place =
        std::lower_bound(fields.begin(), fields.end(), field,
                         [](const Field& one, std::string_view text) { return one.name < text; });
    return place != fields.end() && place->name == field ? &*place : nullptr;
}

const Type* Type::member(std::string_view field) const {
    if (kind == Kind::kMap) return element;
    const Field* found = find(field);
    if (found != nullptr) return found->type;
    return kind == Kind::kObject ? element : nullptr;  // additionalProperties beside properties
}

const TypeTable& TypeTable::built_in() {
    static const TypeTable table(kTypeText);
    return table;
}

const Type* TypeTable::find(std::string_view name) const {
    const auto place = types_.find(name);
    return place == types_.end() ? nullptr : place->second;
}

TypeTable::TypeTable(std::string_view text) {
    // Names first, so that a type may name one that follows.
    for (const std::string_view line : split(text, '\n')) {
        if (!line.starts_with("type ")) continue;
        const std::vector<std::string_view> words = split(line.substr(5), '\t');
        Type& type = arena_.emplace_back();
        type.kind = Type::Kind::kObject;
        type.name = words[0];
        for (std::size_t i = 1; i < words.size(); ++i) apply_rule(type, words[i]);
        types_.emplace(type.name, &type);
    }
    auto current = arena_.begin();
    std::size_t index = 0;
    for (const std::string_view line : split(text, '\n')) {
        if (line.empty() || line[0] == '#') continue;
        if (line.starts_with("type ")) {
            current = arena_.begin() + static_cast<std::ptrdiff_t>(index++);
            continue;
        }
        const std::size_t first = line.find('\t');
        const std::size_t second = line.find('\t', first + 1);
        std::string_view spelled = line.substr(first + 1, second - first - 1);
        const std::string_view rules =
            second == std::string_view::npos ? std::string_view() : line.substr(second + 1);
        Field field;
        field.name = line.substr(0, first);
        field.required = spelled.starts_with('*');
        if (field.required) spelled.remove_prefix(1);
        const std::size_t default_at = rules.find("default=");
        if (default_at != std::string_view::npos) {
            const auto json = parse_json(rules.substr(default_at + 8));
            if (json) field.default_value = json->value;
        }
        read_wire(field, rules);
        Type& owner = *current;
        field.type = read(spelled, rules.substr(0, default_at));
        // read() may have grown the arena: a deque keeps its elements in place.
        owner.fields.push_back(std::move(field));
        current = arena_.begin() + static_cast<std::ptrdiff_t>(index - 1);
    }
    for (const auto& copy : copies_) copy.first->fields = copy.second->fields;
    for (Type& type : arena_) std::ranges::sort(type.fields, {}, &Field::name);
}

const Type* TypeTable::read(std::string_view text, std::string_view rules) {
    std::vector<std::string_view> words = split(rules, '\t');
    std::erase_if(words, [](auto word) { return word.starts_with("wire="); });
    if (text.starts_with("@")) {
        const Type* named = find(text.substr(1));
        const bool special = std::ranges::any_of(words, [](auto word) { return !word.empty(); });
        if (named == nullptr || !special) return named;
        // A rule at the place where a type is used. The type's fields may not be there yet.
        Type& own = arena_.emplace_back();
        own.kind = Type::Kind::kObject;
        own.name = named->name;
        own.atomic = named->atomic;
        for (const std::string_view word : words) apply_rule(own, word);
        if (own.atomic == named->atomic && !own.patch_retain_keys) {
            return named;
        }
        copies_.emplace_back(&own, named);
        return &own;
    }
    Type& type = arena_.emplace_back();
    for (const std::string_view word : words) {
        if (!word.empty()) apply_rule(type, word);
    }
    if (text.starts_with("[]")) {
        type.kind = Type::Kind::kList;
        type.element = read(text.substr(2), "");
    } else if (text.starts_with("{}")) {
        type.kind = Type::Kind::kMap;
        type.element = read(text.substr(2), "");
    } else if (const auto scalar = kScalars.find(text); scalar != kScalars.end()) {
        type.kind = scalar->second;
    }
    return &type;
}

}  // namespace aliquot::sim::apiserver
