// SPDX-License-Identifier: Apache-2.0
#include "sim/apiserver/value.h"

#include <algorithm>
#include <cmath>

namespace aliquot::sim::apiserver {

namespace {

const std::string kNoText;
const Value kNull;
const Value::Array kNoItems;
const Value::Object kNoMembers;

auto lower_bound(auto& members, std::string_view key) {
    return std::lower_bound(
        members.begin(), members.end(), key,
        [](const Member& member, std::string_view name) { return member.name.compare(name) < 0; });
}

/// Cuts the first name off a path.
std::string_view next_name(std::string_view& path) {
    const std::size_t point = path.find('.');
    const std::string_view name = path.substr(0, point);
    path = point == std::string_view::npos ? std::string_view() : path.substr(point + 1);
    return name;
}

}  // namespace

Value Value::object() {
    Value value;
    value.state_ = Object{};
    return value;
}

Value Value::object(std::initializer_list<Member> members) {
    Value value = object();
    for (const Member& member : members) value[member.name] = member.value;
    return value;
}

const std::string& Value::text() const { return is_string() ? std::get<4>(state_) : kNoText; }

std::int64_t Value::integer(std::int64_t otherwise) const {
    if (is_integer()) return std::get<2>(state_);
    if (state_.index() == 3) {
        const double number = std::get<3>(state_);
        if (std::nearbyint(number) == number && std::abs(number) < 9e18) {
            return static_cast<std::int64_t>(number);
        }
    }
    return otherwise;
}

double Value::number(double otherwise) const {
    if (is_integer()) return static_cast<double>(std::get<2>(state_));
    return state_.index() == 3 ? std::get<3>(state_) : otherwise;
}

bool Value::boolean(bool otherwise) const { return is_bool() ? std::get<1>(state_) : otherwise; }

const Value::Array& Value::items() const { return is_array() ? std::get<5>(state_) : kNoItems; }

const Value::Object& Value::members() const {
    return is_object() ? std::get<6>(state_) : kNoMembers;
}

Value::Array& Value::items() {
    if (!is_array()) state_ = Array{};
    return std::get<5>(state_);
}

Value::Object& Value::members() {
    if (!is_object()) state_ = Object{};
    return std::get<6>(state_);
}

bool Value::empty() const {
    return is_null() || (is_array() && items().empty()) || (is_object() && members().empty());
}

std::size_t Value::size() const { return is_array() ? items().size() : members().size(); }

const Value* Value::find(std::string_view key) const {
    const Object& all = members();
    const auto place = lower_bound(all, key);
    return place != all.end() && place->name == key ? &place->value : nullptr;
}

Value* Value::find(std::string_view key) {
    if (!is_object()) return nullptr;
    Object& all = members();
    const auto place = lower_bound(all, key);
    return place != all.end() && place->name == key ? &place->value : nullptr;
}

const Value& Value::at(std::string_view key) const {
    const Value* found = find(key);
    return found == nullptr ? kNull : *found;
}

Value& Value::operator[](std::string_view key) {
    Object& all = members();
    auto place = lower_bound(all, key);
    if (place == all.end() || place->name != key) place = all.insert(place, Member(key, Value()));
    return place->value;
}

bool Value::erase(std::string_view key) {
    if (!is_object()) return false;
    Object& all = members();
    const auto place = lower_bound(all, key);
    if (place == all.end() || place->name != key) return false;
    all.erase(place);
    return true;
}

const Value& Value::at_path(std::string_view path) const {
    const Value* value = this;
    while (!path.empty() && value != nullptr) value = value->find(next_name(path));
    return value == nullptr ? kNull : *value;
}

Value* Value::find_path(std::string_view path) {
    Value* value = this;
    while (!path.empty() && value != nullptr) value = value->find(next_name(path));
    return value;
}

Value& Value::ensure_path(std::string_view path) {
    Value* value = this;
    while (!path.empty()) value = &(*value)[next_name(path)];
    return *value;
}

void Value::erase_path(std::string_view path) {
    const std::size_t point = path.rfind('.');
    Value* parent = point == std::string_view::npos ? this : find_path(path.substr(0, point));
    if (parent != nullptr) {
        parent->erase(point == std::string_view::npos ? path : path.substr(point + 1));
    }
}

bool operator==(const Value& left, const Value& right) {
    if (left.is_number() && right.is_number() && left.is_integer() != right.is_integer()) {
        return left.number() == right.number();
    }
    return left.state_ == right.state_;
}

}  // namespace aliquot::sim::apiserver
