// SPDX-License-Identifier: Apache-2.0
#include "cel/parser.h"

#include <algorithm>
#include <array>

#include "base/number.h"
#include "cel/tokens.h"

namespace aliquot::cel {
namespace {

using Kind = Node::Kind;

constexpr unsigned kDeepest = 100;

bool is_loop(std::string_view name) {
    constexpr std::array<std::string_view, 6> kLoops{"all",       "exists", "exists_one",
                                                     "existsOne", "map",    "filter"};
    return std::ranges::find(kLoops, name) != kLoops.end();
}

/// Recursive descent over the grammar of the language. The first error ends it.
class ExpressionReader {
public:
    ExpressionReader(std::string_view text, std::vector<Token> tokens)
        : text_(text), tokens_(std::move(tokens)) {}

    Result<Node> read() {
        Node root = conditional();
        if (!error_ && now().kind != Token::Kind::kEnd) fail(now().offset, unexpected());
        if (error_) return *error_;
        return root;
    }

private:
    [[nodiscard]] const Token& now() const { return tokens_[at_]; }
    [[nodiscard]] bool is(std::string_view sign) const {
        return now().kind == Token::Kind::kSign && now().text == sign;
    }
    bool take(std::string_view sign) {
        if (error_ || !is(sign)) return false;
        ++at_;
        return true;
    }
    void need(std::string_view sign) {
        if (!take(sign))
            fail(now().offset, unexpected() + ", '" + std::string(sign) + "' expected");
    }
    [[nodiscard]] std::string unexpected() const {
        return now().kind == Token::Kind::kEnd ? "the expression ends here"
                                               : "unexpected '" + now().text + "'";
    }
    void fail(std::size_t offset, std::string_view what) {
        if (!error_) error_ = error_at(text_, offset, what);
    }

    Node made(Kind kind, std::size_t offset, std::string name, std::vector<Node> children) {
        Node node{.kind = kind, .offset = offset, .name = std::move(name)};
        for (const Node& child : children) node.depth = std::max(node.depth, child.depth + 1);
        node.children = std::move(children);
        if (node.depth > kDeepest) fail(offset, "nested too deep: 100 levels at most");
        return node;
    }
    Node binary(std::size_t offset, std::string name, Node left, Node right) {
        std::vector<Node> both;
        both.push_back(std::move(left));
        both.push_back(std::move(right));
        return made(Kind::kCall, offset, std::move(name), std::move(both));
    }

    Node conditional() {
        if (++level_ > kDeepest) fail(now().offset, "nested too deep: 100 levels at most");
        Node condition = error_ ? Node{} : alternatives(Kind::kOr);
        const std::size_t offset = now().offset;
        if (take("?")) {
            std::vector<Node> parts;
            parts.push_back(std::move(condition));
            parts.push_back(alternatives(Kind::kOr));
            need(":");
            parts.push_back(error_ ? Node{} : conditional());
            condition = made(Kind::kCall, offset, "?:", std::move(parts));
        }
        --level_;
        return condition;
    }

    /// a || b || c, each of them a && b && c.
    Node alternatives(Kind kind) {
        const bool any = kind == Kind::kOr;
        std::vector<Node> parts;
        std::size_t offset = now().offset;
        do {
            parts.push_back(any ? alternatives(Kind::kAnd) : relation());
            if (parts.size() == 1) offset = now().offset;
        } while (take(any ? "||" : "&&"));
        if (parts.size() == 1) return std::move(parts.front());
        return made(kind, offset, any ? "||" : "&&", std::move(parts));
    }

    Node relation() {
        Node left = chain(0);
        constexpr std::array<std::string_view, 6> kRelations{"==", "!=", "<=", ">=", "<", ">"};
        while (!error_) {
            const Token sign = now();
            const bool in = sign.kind == Token::Kind::kName && sign.text == "in";
            if (!in && (sign.kind != Token::Kind::kSign ||
                        std::ranges::find(kRelations, sign.text) == kRelations.end())) {
                break;
            }
            ++at_;
            left = binary(sign.offset, sign.text, std::move(left), chain(0));
        }
        return left;
    }

    /// + and - between chains of * / %, which are between members with their signs.
    Node chain(int strength) {
        const std::string_view signs = strength == 0 ? "+-" : "*/%";
        Node left = strength == 0 ? chain(1) : signed_member();
        while (!error_ && now().kind == Token::Kind::kSign && now().text.size() == 1 &&
               signs.find(now().text.front()) != std::string_view::npos) {
            const Token sign = now();
            ++at_;
            left = binary(sign.offset, sign.text, std::move(left),
                          strength == 0 ? chain(1) : signed_member());
        }
        return left;
    }

    Node signed_member() {
        std::vector<Token> signs;
        while (is("!") || is("-")) {
            signs.push_back(now());
            ++at_;
        }
        Node node = member();
        for (auto sign = signs.rbegin(); sign != signs.rend(); ++sign) {
            std::vector<Node> one;
            one.push_back(std::move(node));
            node = made(Kind::kCall, sign->offset, sign->text, std::move(one));
        }
        return node;
    }

    Node member() {
        Node node = primary();
        while (!error_) {
            if (take(".")) {
                const bool optional = take("?");
                const Token name = now();
                if (name.kind != Token::Kind::kName) {
                    fail(name.offset, unexpected() + ", a name expected");
                    break;
                }
                ++at_;
                std::vector<Node> parts;
                parts.push_back(std::move(node));
                if (!optional && take("(")) {
                    node = method(name, std::move(parts));
                } else {
                    node = made(Kind::kSelect, name.offset, name.text, std::move(parts));
                    node.optional = optional;
                }
            } else if (is("[")) {
                const std::size_t offset = now().offset;
                ++at_;
                const bool optional = take("?");
                std::vector<Node> parts;
                parts.push_back(std::move(node));
                parts.push_back(conditional());
                need("]");
                node = made(Kind::kIndex, offset, "[]", std::move(parts));
                node.optional = optional;
            } else {
                break;
            }
        }
        return node;
    }

    std::vector<Node> arguments(std::string_view close) {
        std::vector<Node> list;
        while (!error_ && !is(close)) {
            list.push_back(conditional());
            if (!take(",")) break;
        }
        need(close);
        return list;
    }

    Node method(const Token& name, std::vector<Node> parts) {
        const bool binds =
            parts[0].kind == Kind::kName && parts[0].name == "cel" && name.text == "bind";
        for (Node& one : arguments(")")) parts.push_back(std::move(one));
        if (error_ || (!binds && !is_loop(name.text))) {
            return made(Kind::kMethod, name.offset, name.text, std::move(parts));
        }
        const bool right_number =
            parts.size() == 3 || (parts.size() == 4 && (binds || name.text == "map"));
        if (!right_number || (binds && parts.size() != 4)) {
            fail(name.offset, "wrong number of arguments of " + name.text + "()");
            return {};
        }
        if (parts[1].kind != Kind::kName) {
            fail(parts[1].offset, "the first argument of " + name.text + "() is a name");
            return {};
        }
        std::string variable = parts[1].name;
        parts.erase(parts.begin() + 1);
        if (binds) parts.erase(parts.begin());
        Node node =
            made(binds ? Kind::kBind : Kind::kLoop, name.offset, name.text, std::move(parts));
        node.variable = std::move(variable);
        return node;
    }

    Node primary() {
        const Token token = now();
        if (token.kind == Token::Kind::kEnd) {
            fail(token.offset, "the expression ends where a value is expected");
            return {};
        }
        ++at_;
        switch (token.kind) {
            case Token::Kind::kText:
                return literal(token, Value(token.text));
            case Token::Kind::kWhole:
                return whole(token);
            case Token::Kind::kNumber:
                return number(token);
            case Token::Kind::kName:
                return name(token);
            default:
                break;
        }
        if (token.text == "(") {
            Node node = conditional();
            need(")");
            return node;
        }
        if (token.text == "[") return made(Kind::kList, token.offset, "[]", arguments("]"));
        if (token.text == "{") return map(token.offset);
        fail(token.offset, "unexpected '" + token.text + "', a value expected");
        return {};
    }

    static Node literal(const Token& token, Value value) {
        return {.kind = Kind::kLiteral, .offset = token.offset, .value = std::move(value)};
    }
    Node whole(const Token& token) {
        const auto value = parse_number<std::int64_t>(token.text);
        if (!value) fail(token.offset, "the number does not fit 64 bits");
        return literal(token, Value(value.value_or(0)));
    }
    Node number(const Token& token) {
        const std::string text = token.text.front() == '.' ? "0" + token.text : token.text;
        const auto value = parse_number<double>(text);
        if (!value) fail(token.offset, "the number is too large");
        return literal(token, Value(value.value_or(0)));
    }

    Node name(const Token& token) {
        if (token.text == "true" || token.text == "false") {
            return literal(token, Value(token.text == "true"));
        }
        if (token.text == "null") return literal(token, Value());
        if (token.text == "in") {
            fail(token.offset, "unexpected 'in', a value expected");
            return {};
        }
        if (is("{")) {
            fail(now().offset, "messages are not supported");
            return {};
        }
        if (!take("(")) return made(Kind::kName, token.offset, token.text, {});
        std::vector<Node> list = arguments(")");
        if (token.text != "has")
            return made(Kind::kCall, token.offset, token.text, std::move(list));
        if (error_) return {};
        if (list.size() != 1 || list.front().kind != Kind::kSelect || list.front().optional) {
            fail(token.offset, "has() takes a member: has(a.b)");
            return {};
        }
        Node node = std::move(list.front());
        node.kind = Kind::kHas;
        node.offset = token.offset;
        return node;
    }

    Node map(std::size_t offset) {
        std::vector<Node> parts;
        while (!error_ && !is("}")) {
            parts.push_back(conditional());
            need(":");
            parts.push_back(error_ ? Node{} : conditional());
            if (!take(",")) break;
        }
        need("}");
        return made(Kind::kMap, offset, "{}", std::move(parts));
    }

    std::string_view text_;
    std::vector<Token> tokens_;
    std::size_t at_ = 0;
    unsigned level_ = 0;
    std::optional<Error> error_;
};

}  // namespace

Result<Node> parse_nodes(std::string_view text) {
    auto tokens = read_tokens(text);
    if (!tokens) return std::move(tokens).error();
    return ExpressionReader(text, *std::move(tokens)).read();
}

Result<Expression> Expression::parse(std::string_view text,
                                     const std::vector<std::string>& variables) {
    if (text.size() > kLongest) {
        return Error{ErrorCode::kInvalidInput,
                     "the expression has " + std::to_string(text.size()) +
                         " bytes, more than the 10240 that the API server takes"};
    }
    auto root = parse_nodes(text);
    if (!root) return std::move(root).error();
    if (auto known = check_names(text, *root, variables); !known) return std::move(known).error();
    Expression made;
    made.text_ = std::make_shared<const std::string>(text);
    made.root_ = std::make_shared<const Node>(*std::move(root));
    return made;
}

}  // namespace aliquot::cel
