// SPDX-License-Identifier: Apache-2.0
// CEL of DeviceClasses and claims: CEL001 to CEL003.
#include <algorithm>
#include <array>

#include "base/sentence.h"
#include "cel/parser.h"
#include "findings/finding.h"
#include "lint/families.h"
#include "lint/forms.h"
#include "lint/kept.h"
#include "lint/words.h"

namespace aliquot::lint {
namespace {

constexpr std::string_view kOurDomain = "gpu.aliquot.dev";

struct CelToken {
    enum class Kind { kName, kText, kNumber, kSign, kBad };
    Kind kind = Kind::kSign;
    std::string_view text;  // of kText without its quotes
};

bool is_name_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/// Takes an expression apart; a text that is not closed is one of kBad.
std::vector<CelToken> cel_tokens(std::string_view text) {
    std::vector<CelToken> tokens;
    constexpr std::size_t kMost = 10'000;
    for (std::size_t at = 0; at < text.size() && tokens.size() < kMost;) {
        const char c = text[at];
        std::size_t end = at + 1;
        if (c == ' ' || c == '\n' || c == '\t' || c == '\r') {
            ++at;
            continue;
        }
        if (text.substr(at, 2) == "//") {
            at = std::min(text.find('\n', at), text.size());
            continue;
        }
        if (c == '\'' || c == '"') {
            while (end < text.size() && text[end] != c) end += text[end] == '\\' ? 2 : 1;
            if (end >= text.size()) {
                tokens.push_back({CelToken::Kind::kBad, text.substr(at)});
                return tokens;
            }
            tokens.push_back({CelToken::Kind::kText, text.substr(at + 1, end - at - 1)});
            at = end + 1;
            continue;
        }
        CelToken::Kind kind = CelToken::Kind::kSign;
        if (is_name_letter(c)) {
            while (end < text.size() &&
                   (is_name_letter(text[end]) || (c >= '0' && c <= '9' && text[end] == '.'))) {
                ++end;
            }
            kind = c >= '0' && c <= '9' ? CelToken::Kind::kNumber : CelToken::Kind::kName;
        } else if (constexpr std::array<std::string_view, 6> kPairs{"==", "!=", "<=", ">=", "&&",
                                                                    "||"};
                   std::find(kPairs.begin(), kPairs.end(), text.substr(at, 2)) != kPairs.end()) {
            end = at + 2;
        }
        tokens.push_back({kind, text.substr(at, end - at)});
        at = end;
    }
    return tokens;
}

/// One expression, where it stands.
class CelCheck {
public:
    CelCheck(const Value& value, Report& report)
        : value_(value), report_(report), tokens_(cel_tokens(value.scalar)) {}

    void check() {
        if (tokens_.empty() || check_form() || check_grammar()) return;
        for (std::size_t i = 0; i < tokens_.size(); ++i) {
            if (tokens_[i].kind != CelToken::Kind::kName) continue;
            const bool member = i > 0 && is(i - 1, ".");
            if (!member && tokens_[i].text == "device" && is(i + 1, ".")) check_device(i + 2);
            if (!member && !is(i + 1, "(") && check_root(i)) return;
            if (is(i + 1, "(")) check_call(i);
        }
    }

private:
    [[nodiscard]] bool is(std::size_t i, std::string_view sign) const {
        return i < tokens_.size() && tokens_[i].kind == CelToken::Kind::kSign &&
               tokens_[i].text == sign;
    }
    [[nodiscard]] std::string_view text(std::size_t i) const {
        return i < tokens_.size() ? tokens_[i].text : std::string_view();
    }
    [[nodiscard]] bool is_kind(std::size_t i, CelToken::Kind kind) const {
        return i < tokens_.size() && tokens_[i].kind == kind;
    }

    Report::Entry add(std::string_view rule, std::string message) {
        return report_.add(rule, value_.mark, std::move(message));
    }

    /// What the language's own reader has against it; true: said. What it does not support, others may.
    bool check_grammar() {
        const auto read = cel::parse_nodes(value_.scalar);
        if (read || contains(read.error().message, "not supported")) return false;
        add("CEL001", "not CEL, at " + read.error().message);
        return true;
    }

    /// Brackets, quotes, signs; true: said.
    bool check_form() {
        std::string open;
        for (std::size_t i = 0; i < tokens_.size(); ++i) {
            const CelToken& token = tokens_[i];
            if (token.kind == CelToken::Kind::kBad) {
                add("CEL001", "a text is not closed: " + one_line(token.text, 40))
                    .expected("a quote at its end");
                return true;
            }
            if (token.kind == CelToken::Kind::kName &&
                (token.text == "and" || token.text == "or" || token.text == "AND" ||
                 token.text == "OR")) {
                add("CEL001", "CEL has no '" + std::string(token.text) + '\'')
                    .expected(lower(token.text) == "and" ? "&&" : "||");
                return true;
            }
            if (token.kind != CelToken::Kind::kSign) continue;
            const char c = token.text.front();
            if (c == '(' || c == '[' || c == '{') open += c;
            if (c == ')' || c == ']' || c == '}') {
                const char wanted = c == ')' ? '(' : c == ']' ? '[' : '{';
                if (open.empty() || open.back() != wanted) {
                    add("CEL001", std::string("a '") + c + "' closes nothing")
                        .expected("brackets in pairs");
                    return true;
                }
                open.pop_back();
            }
            if (token.text == "=" || token.text == "&" || token.text == "|") {
                add("CEL001", "CEL has no operator '" + std::string(token.text) + '\'')
                    .expected(token.text == "=" ? "==" : std::string(2, c));
                return true;
            }
        }
        if (open.empty()) return check_end();
        add("CEL001", std::string("a '") + open.back() + "' is not closed")
            .expected("brackets in pairs");
        return true;
    }

    /// An operator at the end, or two values with nothing between them.
    bool check_end() {
        const CelToken& last = tokens_.back();
        constexpr std::array<std::string_view, 12> kOpen{"==", "!=", "<=", ">=", "&&", "||",
                                                         "<",  ">",  "+",  "-",  ".",  ","};
        if (last.kind == CelToken::Kind::kSign &&
            std::find(kOpen.begin(), kOpen.end(), last.text) != kOpen.end()) {
            add("CEL001", "the expression ends in '" + std::string(last.text) + '\'')
                .expected("a value behind it");
            return true;
        }
        for (std::size_t i = 1; i < tokens_.size(); ++i) {
            const bool both = tokens_[i].kind != CelToken::Kind::kSign &&
                              tokens_[i - 1].kind != CelToken::Kind::kSign;
            if (!both || text(i) == "in" || text(i - 1) == "in") continue;
            add("CEL001", "nothing stands between '" + std::string(text(i - 1)) + "' and '" +
                              std::string(text(i)) + '\'')
                .expected("an operator");
            return true;
        }
        return false;
    }

    /// The only variable is `device`; others are bound by macros.
    bool check_root(std::size_t i) {
        const std::string_view name = text(i);
        if (name == "device" || nearest(name, {"device"}).empty()) return false;
        if (is(i + 1, ".") || is(i + 1, "[")) {
            add("CEL002", "there is no variable '" + std::string(name) + '\'').expected("device");
            return true;
        }
        return false;
    }

    void check_call(std::size_t i) {
        static const std::vector<std::string_view> kCalls = words_of_form("cel functions");
        const std::string_view name = text(i);
        if (std::find(kCalls.begin(), kCalls.end(), name) != kCalls.end()) return;
        const std::string meant(nearest(name, kCalls));
        add("CEL002", "CEL has no function '" + std::string(name) + '\'')
            .expected(meant.empty() ? "a function of CEL or of Kubernetes" : meant);
    }

    /// Behind "device.": a member, its domain, its attribute.
    void check_device(std::size_t i) {
        const std::string_view member = text(i);
        if (member == "driver") {
            if (is(i + 1, "==") && is_kind(i + 2, CelToken::Kind::kText)) check_domain(text(i + 2));
            return;
        }
        if (member != "attributes" && member != "capacity") {
            if (member == "allowMultipleAllocations") return;
            const std::string meant(nearest(member, {"driver", "attributes", "capacity"}));
            add("CEL002", "a device has no '" + std::string(member) + '\'')
                .expected(meant.empty() ? "driver, attributes or capacity" : meant);
            return;
        }
        if (!is(i + 1, "[")) return;
        if (!is_kind(i + 2, CelToken::Kind::kText) || !is(i + 3, "]")) return;
        const std::string_view domain = text(i + 2);
        if (!check_domain(domain)) return;
        const std::size_t name = is(i + 5, "?") ? i + 6 : i + 5;
        if (!is(i + 4, ".") || (domain != "gpu.nvidia.com" && domain != kOurDomain)) return;
        check_attribute(domain, member, text(name), name + 1);
    }

    /// A domain that nearly is NVIDIA's; false: said.
    bool check_domain(std::string_view domain) {
        if (domain == "gpu.nvidia.com" || domain == kOurDomain) return true;
        if (domain == "aliquot.dev" || domain == "mig.aliquot.dev" ||
            !nearest(domain, {kOurDomain}).empty()) {
            add("CEL002", "no driver has the name '" + std::string(domain) + '\'')
                .expected(std::string(kOurDomain));
            return false;
        }
        const bool wrong =
            domain == "nvidia.com/gpu" || domain == "nvidia.com" ||
            domain == "gpu.nvidia.com/gpu" || domain == "mig.nvidia.com" ||
            (!nearest(domain, {"gpu.nvidia.com"}).empty() && contains(domain, "nv") &&
             domain.find("compute") == std::string_view::npos);
        if (!wrong) return true;
        add("CEL002", "no driver has the name '" + std::string(domain) + '\'')
            .expected("gpu.nvidia.com");
        return false;
    }

    void check_attribute(std::string_view domain, std::string_view member, std::string_view name,
                         std::size_t next) {
        static const std::vector<std::string_view> kOurs{"type",          "uuid",
                                                         "parentUUID",    "profile",
                                                         "productName",   "architecture",
                                                         "driverVersion", "cudaComputeCapability",
                                                         "memoryMiB",     "cudaDriverVersion",
                                                         "index",         "parentIndex"};
        static const std::vector<std::string_view> kOurCapacities{
            "memory",   "compute",  "multiprocessors", "copyEngines",
            "decoders", "encoders", "jpegEngines",     "ofaEngines"};
        static const std::vector<std::string_view> kAttributes{
            "type",           "uuid",
            "minor",          "index",
            "productName",    "brand",
            "architecture",   "cudaComputeCapability",
            "driverVersion",  "cudaDriverVersion",
            "pcieBusID",      "parentUUID",
            "profile",        "parentIndex",
            "parentMinor",    "pciBusID",
            "addressingMode", "pcieRoot",
            "numaNode",       "numa"};
        static const std::vector<std::string_view> kCapacities{
            "memory",   "multiprocessors", "copyEngines", "decoders",
            "encoders", "jpegEngines",     "ofaEngines"};
        const bool capacity = member == "capacity";
        const bool ours = domain == kOurDomain;
        const auto& attributes = ours ? kOurs : kAttributes;
        const auto& capacities = ours ? kOurCapacities : kCapacities;
        const auto& known = capacity ? capacities : attributes;
        const auto& other = capacity ? attributes : capacities;
        if (name.starts_with("memorySlice")) return;
        if (std::find(known.begin(), known.end(), name) == known.end()) {
            const std::string meant(nearest(name, known));
            const bool swapped = std::find(other.begin(), other.end(), name) != other.end();
            auto entry =
                add("CEL002", "the " + std::string(capacity ? "capacity" : "attributes") + " of " +
                                  std::string(domain) + " have no '" + std::string(name) + '\'');
            if (swapped) {
                entry.expected(std::string(capacity ? "device.attributes" : "device.capacity"));
            } else {
                entry.expected(meant.empty() ? std::string(known.front()) + ", " +
                                                   std::string(known[1]) + ", ..."
                                             : meant);
                if (meant.empty()) entry.severity(findings::Severity::kWarning);
            }
            return;
        }
        check_comparison(capacity, name, next);
    }

    /// A value held against one of another type.
    void check_comparison(bool capacity, std::string_view name, std::size_t at) {
        constexpr std::array<std::string_view, 6> kSigns{"==", "!=", "<", ">", "<=", ">="};
        const bool compares = at < tokens_.size() && tokens_[at].kind == CelToken::Kind::kSign &&
                              std::find(kSigns.begin(), kSigns.end(), text(at)) != kSigns.end();
        const std::string shown(name);
        if (capacity) {
            const bool number = is_kind(at + 1, CelToken::Kind::kNumber);
            const bool string = is_kind(at + 1, CelToken::Kind::kText);
            const bool plain_call = is(at, ".") && text(at + 1) == "compareTo" && is(at + 2, "(") &&
                                    text(at + 3) != "quantity" &&
                                    !is_kind(at + 3, CelToken::Kind::kName);
            const bool quantity = compares && text(at + 1) == "quantity" && text(at) != "==";
            if (!(compares && (number || string)) && !plain_call && !quantity) return;
            add("CEL003", "the capacity " + shown + " is a quantity")
                .expected(shown + ".compareTo(quantity('40Gi')) >= 0");
            return;
        }
        const bool version = name == "cudaComputeCapability" || name.ends_with("riverVersion");
        const bool number = name == "minor" || name == "index" || name == "parentIndex" ||
                            name == "parentMinor" || name == "memoryMiB";
        const CelToken::Kind right =
            at + 1 < tokens_.size() ? tokens_[at + 1].kind : CelToken::Kind::kSign;
        if (version && compares && right != CelToken::Kind::kName &&
            right != CelToken::Kind::kSign) {
            add("CEL003", "the attribute " + shown + " is a version")
                .expected(shown + ".compareTo(semver('8.0.0')) >= 0");
        } else if (!version && compares && number && right == CelToken::Kind::kText) {
            add("CEL003", "the attribute " + shown + " is a number").expected("no quotes");
        } else if (!version && !number && compares && right == CelToken::Kind::kNumber &&
                   name != "numaNode" && name != "numa") {
            add("CEL003", "the attribute " + shown + " is a text").expected("quotes");
        } else if (!version && !number && name != "numa" && name != "numaNode" && compares &&
                   (text(at) == "<" || text(at) == ">" || text(at) == "<=" || text(at) == ">=")) {
            add("CEL003", "the attribute " + shown + " is a text, which has no order")
                .expected("== or matches()");
        }
    }

    const Value& value_;
    Report& report_;
    std::vector<CelToken> tokens_;
};

void find_expressions(const Value& node, int depth, Report& report) {
    constexpr int kDeepest = 24;
    if (depth > kDeepest) return;
    for (const Value::Entry& entry : node.entries) {
        if (entry.first.scalar == "cel" && entry.second.is_mapping()) {
            const Value* expression = entry.second.find("expression");
            if (expression != nullptr && expression->is_string() &&
                expression->scalar.find("{{") == std::string::npos &&
                expression->scalar.find("${") == std::string::npos) {
                CelCheck(*expression, report).check();
            }
        } else {
            find_expressions(entry.second, depth + 1, report);
        }
    }
    for (const Value& item : node.items) find_expressions(item, depth + 1, report);
}

}  // namespace

void check_selectors(const File& file, const Set&, const Facts*, Report& report) {
    if (!file.mentions("cel") || !file.mentions("expression") || is_kept(file) || is_record(file)) {
        return;
    }
    for (const Object& object : file.objects) {
        if (object.group() != "resource.k8s.io" || object.broken || object.templated) continue;
        find_expressions(*object.node, 0, report);
    }
}

}  // namespace aliquot::lint
