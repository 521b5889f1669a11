// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"

/// An API server for tests: what kubectl, client libraries and our own client talk to. Everything
/// but ApiServer (api_server.h) is internal.
namespace aliquot::sim::apiserver {

struct Member;

/// A JSON value. The members of an object are kept sorted by name, so equal values are written
/// equally. Integers that fit 64 bits stay integers.
class Value {
public:
    using Array = std::vector<Value>;
    using Object = std::vector<Member>;

    // Defined below, where a Member is complete: clang 14 looks into them at once.
    Value();
    ~Value();
    Value(const Value& other);
    Value(Value&& other) noexcept;
    Value& operator=(const Value& other);
    Value& operator=(Value&& other) noexcept;
    Value(std::nullptr_t);          // NOLINT(*explicit*)
    Value(bool value);              // NOLINT(*explicit*)
    Value(int value);               // NOLINT(*explicit*)
    Value(std::int64_t value);      // NOLINT(*explicit*)
    Value(double value);            // NOLINT(*explicit*)
    Value(std::string value);       // NOLINT(*explicit*)
    Value(std::string_view value);  // NOLINT(*explicit*)
    Value(const char* value);       // NOLINT(*explicit*)
    Value(Array value);             // NOLINT(*explicit*)
    static Value object();
    static Value object(std::initializer_list<Member> members);
    static Value array();

    [[nodiscard]] bool is_null() const { return state_.index() == 0; }
    [[nodiscard]] bool is_bool() const { return state_.index() == 1; }
    [[nodiscard]] bool is_integer() const { return state_.index() == 2; }
    [[nodiscard]] bool is_number() const { return state_.index() == 2 || state_.index() == 3; }
    [[nodiscard]] bool is_string() const { return state_.index() == 4; }
    [[nodiscard]] bool is_array() const { return state_.index() == 5; }
    [[nodiscard]] bool is_object() const { return state_.index() == 6; }

    /// The content, or the given value when it is of another kind.
    [[nodiscard]] const std::string& text() const;  // else the empty text
    [[nodiscard]] std::int64_t integer(std::int64_t otherwise = 0) const;
    [[nodiscard]] double number(double otherwise = 0) const;
    [[nodiscard]] bool boolean(bool otherwise = false) const;

    /// Elements of an array, members of an object; an empty list of any other value. The writable
    /// forms turn another value into an empty array or object.
    [[nodiscard]] const Array& items() const;
    [[nodiscard]] const Object& members() const;
    Array& items();
    Object& members();

    [[nodiscard]] bool empty() const;  // null, or nothing inside
    [[nodiscard]] std::size_t size() const;

    [[nodiscard]] const Value* find(std::string_view key) const;
    [[nodiscard]] Value* find(std::string_view key);
    [[nodiscard]] const Value& at(std::string_view key) const;  // null when there is none
    Value& operator[](std::string_view key);                    // made when there is none
    bool erase(std::string_view key);
    void push(Value value) { items().push_back(std::move(value)); }

    /// Follows the names between the points ("metadata.labels"); null when the way ends.
    [[nodiscard]] const Value& at_path(std::string_view path) const;
    Value* find_path(std::string_view path);
    Value& ensure_path(std::string_view path);
    void erase_path(std::string_view path);

    friend bool operator==(const Value& left, const Value& right);

private:
    std::variant<std::monostate, bool, std::int64_t, double, std::string, Array, Object> state_;
};

struct Member {
    Member(std::string_view key, Value content);
    std::string name;
    Value value;
    friend bool operator==(const Member&, const Member&) = default;
};

inline Value::Value() = default;
inline Value::~Value() = default;
inline Value::Value(const Value& other) = default;
inline Value::Value(Value&& other) noexcept = default;
inline Value& Value::operator=(const Value& other) = default;
inline Value& Value::operator=(Value&& other) noexcept = default;
inline Value::Value(std::nullptr_t) {}
inline Value::Value(bool value) : state_(value) {}
inline Value::Value(int value) : state_(static_cast<std::int64_t>(value)) {}
inline Value::Value(std::int64_t value) : state_(value) {}
inline Value::Value(double value) : state_(value) {}
inline Value::Value(std::string value) : state_(std::move(value)) {}
inline Value::Value(std::string_view value) : state_(std::string(value)) {}
inline Value::Value(const char* value) : state_(std::string(value)) {}
inline Value::Value(Array value) : state_(std::move(value)) {}
inline Value Value::array() { return Value(Array{}); }
inline Member::Member(std::string_view key, Value content) : name(key), value(std::move(content)) {}

/// A text read as JSON, and the paths of members that it had twice (the last one counts).
struct Parsed {
    Value value;
    std::vector<std::string> duplicates;  // "spec.replicas"
};

/// errors   kInvalidInput: no JSON, nested deeper than 512, or something behind the value
Result<Parsed> parse_json(std::string_view text);

/// The same for YAML (1.2 core schema); `text` may be JSON.
Result<Parsed> parse_yaml(std::string_view text);

/// Every document of a YAML text.
Result<std::vector<Value>> parse_yaml_documents(std::string_view text);

/// Without blanks, members in order of their names.
std::string to_json(const Value& value);
void append_json(std::string& out, const Value& value);  // NOLINT: builds long texts in one buffer

}  // namespace aliquot::sim::apiserver
