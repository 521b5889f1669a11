// SPDX-License-Identifier: Apache-2.0
#include "cel/evaluate.h"

#include <utility>

#include "cel/functions.h"
#include "cel/tokens.h"

namespace aliquot::cel {
namespace {

using Kind = Node::Kind;

/// One evaluation: variables of loops on top of those of the caller, and the steps.
class Evaluation {
public:
    Evaluation(const Expression& expression, const Variables& variables, std::size_t most_steps)
        : text_(expression.text()), variables_(variables), steps_left_(most_steps) {}

    Result<Value> of(const Node& node) {
        if (!spend(1)) return too_long(node);
        switch (node.kind) {
            case Kind::kLiteral:
                return node.value;
            case Kind::kName:
                return named(node);
            case Kind::kSelect:
            case Kind::kIndex:
                return inside(node);
            case Kind::kCall:
                return node.name == "?:" ? chosen(node) : called(node);
            case Kind::kMethod:
                return called(node);
            case Kind::kAnd:
            case Kind::kOr:
                return joined(node);
            case Kind::kList:
            case Kind::kMap:
                return collected(node);
            case Kind::kHas:
                return has(node);
            case Kind::kLoop:
                return looped(node);
            case Kind::kBind:
                return bound(node);
        }
        return wrong(node, "not an expression");
    }

private:
    bool spend(std::size_t steps) {
        const bool enough = steps <= steps_left_;
        steps_left_ = enough ? steps_left_ - steps : 0;
        spent_ = spent_ || !enough;
        return enough;
    }
    [[nodiscard]] Error wrong(const Node& node, std::string_view what) const {
        return error_at(text_, node.offset, what);
    }
    [[nodiscard]] Error too_long(const Node& node) const {
        return wrong(node, "the expression takes too many steps");
    }

    Result<Value> named(const Node& node) {
        for (auto local = locals_.rbegin(); local != locals_.rend(); ++local) {
            if (local->first == node.name) return local->second;
        }
        const auto found = variables_.find(node.name);
        if (found != variables_.end()) return found->second;
        return wrong(node, "there is no variable '" + node.name + "'");
    }

    /// The value behind a key or an index; none: there is none. `optional`: looked into if it is there.
    Result<Value> inside(const Node& node) {
        auto operand = of(node.children.front());
        if (!operand) return operand;
        Value key(node.name);
        if (node.kind == Kind::kIndex) {
            auto index = of(node.children[1]);
            if (!index) return index;
            key = *std::move(index);
        }
        bool optional = node.optional;
        if (const auto* const maybe = operand->as<Maybe>()) {
            if (maybe->value == nullptr) return Value(Maybe{});
            optional = true;
            operand = Value(*maybe->value);
        }
        auto found = lookup(*operand, key);
        if (!found) return wrong(node, found.error().message);
        if (optional) return Value(*std::move(found));
        if (found->value == nullptr) {
            return wrong(
                node, (operand->as<List>() != nullptr ? "index out of range: " : "no such key: ") +
                          key.text());
        }
        return *found->value;
    }

    static Result<Maybe> lookup(const Value& operand, const Value& key) {
        if (const auto* const map = operand.as<Map>()) {
            const auto* const name = key.as<std::string>();
            if (name == nullptr) return Maybe{};
            const auto found = map->entries.find(*name);
            if (found != map->entries.end()) {
                return Maybe{std::make_shared<const Value>(found->second)};
            }
            if (!map->missing_is_empty) return Maybe{};
            return Maybe{std::make_shared<const Value>(Map{})};
        }
        if (const auto* const list = operand.as<List>()) {
            const auto* const index = key.as<std::int64_t>();
            if (index == nullptr) {
                return Error{ErrorCode::kInvalidInput, "a list has no item " + key.text()};
            }
            if (*index < 0 || *index >= static_cast<std::int64_t>(list->size())) return Maybe{};
            return Maybe{std::make_shared<const Value>((*list)[static_cast<std::size_t>(*index)])};
        }
        return Error{
            ErrorCode::kInvalidInput,
            "a value of type " + std::string(operand.type_name()) + " has no " + key.text()};
    }

    Result<Value> chosen(const Node& node) {
        const auto condition = of(node.children[0]);
        if (!condition) return condition;
        const bool* const yes = condition->as<bool>();
        if (yes == nullptr) return wrong(node, not_bool("?:", *condition));
        return of(node.children[*yes ? 1 : 2]);
    }

    static std::string not_bool(std::string_view name, const Value& value) {
        return std::string(name) + " takes a bool, not " + std::string(value.type_name());
    }

    /// && and ||: one side that decides outweighs an error of another.
    Result<Value> joined(const Node& node) {
        const bool deciding = node.kind == Kind::kOr;
        std::optional<Error> failed;
        for (const Node& child : node.children) {
            const auto value = of(child);
            if (spent_) return too_long(node);
            if (!value) {
                if (!failed) failed = value.error();
                continue;
            }
            const bool* const flag = value->as<bool>();
            if (flag == nullptr) {
                if (!failed) failed = wrong(child, not_bool(node.name, *value));
            } else if (*flag == deciding) {
                return Value(deciding);
            }
        }
        if (failed) return *std::move(failed);
        return Value(!deciding);
    }

    Result<Value> collected(const Node& node) {
        List list;
        Map map;
        const bool pairs = node.kind == Kind::kMap;
        for (std::size_t i = 0; i < node.children.size(); ++i) {
            auto value = of(node.children[i]);
            if (!value) return value;
            list.push_back(*std::move(value));
            if (!pairs || i % 2 == 0) continue;
            const auto* const key = list[i - 1].as<std::string>();
            if (key == nullptr)
                return wrong(node.children[i - 1], "keys other than texts are not supported");
            if (!map.entries.emplace(*key, list[i]).second) {
                return wrong(node.children[i - 1],
                             "the key " + list[i - 1].text() + " stands twice");
            }
        }
        if (pairs) return Value(std::move(map));
        return Value(std::move(list));
    }

    Result<Value> has(const Node& node) {
        auto operand = of(node.children.front());
        if (!operand) return operand;
        if (const auto* const maybe = operand->as<Maybe>()) {
            if (maybe->value == nullptr) return Value(false);
            operand = Value(*maybe->value);
        }
        const auto* const map = operand->as<Map>();
        if (map == nullptr) {
            return wrong(node, "has() looks into a map, not " + std::string(operand->type_name()));
        }
        return Value(map->entries.contains(node.name));
    }

    Result<Value> called(const Node& node) {
        if (node.kind == Kind::kMethod && node.children.front().kind == Kind::kName &&
            node.children.front().name == "optional") {
            return optional_made(node);
        }
        std::vector<Value> values;
        values.reserve(node.children.size());
        std::size_t length = 0;
        for (const Node& child : node.children) {
            auto value = of(child);
            if (!value) return value;
            if (const auto* const text = value->as<std::string>()) length += text->size();
            if (const auto* const list = value->as<List>()) length += list->size() * 4;
            values.push_back(*std::move(value));
        }
        if (!spend(length / 16)) return too_long(node);
        const Function* const function = find_function(node.name);
        auto result =
            function != nullptr ? function->call(values) : apply_operator(node.name, values);
        if (!result) return wrong(node, result.error().message);
        return result;
    }

    Result<Value> optional_made(const Node& node) {
        if (node.name == "none") return Value(Maybe{});
        auto value = of(node.children[1]);
        if (!value) return value;
        const bool zero = value->is_null() || *value == Value(false) ||
                          *value == Value(std::int64_t{0}) || value->size() == 0;
        if (node.name == "ofNonZeroValue" && zero) return Value(Maybe{});
        return Value(Maybe{std::make_shared<const Value>(*std::move(value))});
    }

    /// The values that a loop walks over: of a map its keys.
    static std::optional<List> walked(const Value& value) {
        if (const auto* const list = value.as<List>()) return *list;
        const auto* const map = value.as<Map>();
        if (map == nullptr) return std::nullopt;
        List keys;
        for (const auto& entry : map->entries) keys.emplace_back(entry.first);
        return keys;
    }

    Result<Value> looped(const Node& node) {
        const auto operand = of(node.children.front());
        if (!operand) return operand;
        const auto items = walked(*operand);
        if (!items) {
            return wrong(node, node.name + "() walks over a list or a map, not " +
                                   std::string(operand->type_name()));
        }
        locals_.emplace_back(node.variable, Value());
        auto result = node.name == "map" || node.name == "filter" ? transformed(node, *items)
                                                                  : judged(node, *items);
        locals_.pop_back();
        return result;
    }

    Result<Value> transformed(const Node& node, const List& items) {
        const bool filters = node.name == "filter" || node.children.size() == 3;
        List made;
        for (const Value& item : items) {
            locals_.back().second = item;
            if (filters) {
                const auto kept = of(node.children[1]);
                if (!kept) return kept;
                const bool* const yes = kept->as<bool>();
                if (yes == nullptr)
                    return wrong(node.children[1], not_bool(node.name + "()", *kept));
                if (!*yes) continue;
            }
            if (node.name == "filter") {
                made.push_back(item);
                continue;
            }
            auto value = of(node.children.back());
            if (!value) return value;
            made.push_back(*std::move(value));
        }
        return Value(std::move(made));
    }

    /// all, exists, exists_one: an error counts unless another item decides.
    Result<Value> judged(const Node& node, const List& items) {
        const bool all = node.name == "all";
        const bool one = node.name == "exists_one" || node.name == "existsOne";
        std::size_t holding = 0;
        std::optional<Error> failed;
        for (const Value& item : items) {
            locals_.back().second = item;
            const auto value = of(node.children[1]);
            if (spent_) return too_long(node);
            const bool* const yes = value ? value->as<bool>() : nullptr;
            if (yes == nullptr) {
                Error error = value ? wrong(node.children[1], not_bool(node.name + "()", *value))
                                    : value.error();
                if (one) return error;
                if (!failed) failed = std::move(error);
                continue;
            }
            holding += *yes ? 1 : 0;
            if (!one && *yes != all) return Value(!all);
        }
        if (failed) return *std::move(failed);
        return Value(one ? holding == 1 : all);
    }

    Result<Value> bound(const Node& node) {
        auto value = of(node.children.front());
        if (!value) return value;
        locals_.emplace_back(node.variable, *std::move(value));
        auto result = of(node.children[1]);
        locals_.pop_back();
        return result;
    }

    const std::string& text_;
    const Variables& variables_;
    std::size_t steps_left_;
    bool spent_ = false;
    std::vector<std::pair<std::string, Value>> locals_;
};

}  // namespace

Result<Value> evaluate(const Expression& expression, const Variables& variables,
                       std::size_t most_steps) {
    return Evaluation(expression, variables, most_steps).of(expression.root());
}

Result<bool> evaluate_condition(const Expression& expression, const Variables& variables) {
    const auto value = evaluate(expression, variables);
    if (!value) return value.error();
    if (const bool* const flag = value->as<bool>()) return *flag;
    return error_at(expression.text(), 0,
                    "the expression is " + std::string(value->type_name()) + ", a bool expected");
}

}  // namespace aliquot::cel
