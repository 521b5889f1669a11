// SPDX-License-Identifier: Apache-2.0
#include "http/access.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <span>

#include "base/nearest_word.h"
#include "document/yaml.h"
#include "http/password.h"
#include "os/root.h"

namespace aliquot::http {
namespace {

using document::Value;

constexpr std::size_t kMostFileBytes = 1U << 20U;
constexpr std::array<std::string_view, 3> kSections{"tls_server_config", "http_server_config",
                                                    "basic_auth_users"};
constexpr std::array<std::string_view, 7> kTlsKeys{
    "cert_file",           "key_file",    "client_ca_file", "client_auth_type",
    "client_allowed_sans", "min_version", "max_version"};
constexpr std::array<std::string_view, 6> kUnsupportedTlsKeys{
    "cipher_suites", "curve_preferences", "prefer_server_cipher_suites", "cert",
    "key",           "client_ca"};
constexpr std::array<std::string_view, 5> kHeaders{
    "Content-Security-Policy", "Strict-Transport-Security", "X-Content-Type-Options",
    "X-Frame-Options", "X-XSS-Protection"};
constexpr std::array<std::string_view, 5> kClientAuth{
    "NoClientCert", "RequestClientCert", "RequireAnyClientCert", "VerifyClientCertIfGiven",
    "RequireAndVerifyClientCert"};

std::string listed(std::span<const std::string_view> words) {
    std::string text;
    for (const std::string_view word : words) text.append(text.empty() ? "" : ", ").append(word);
    return text;
}

/// What a file says may be quoted in a message, and may have any character in it.
std::string in_one_line(std::string_view text) {
    std::string line(text);
    std::replace_if(
        line.begin(), line.end(),
        [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, ' ');
    return line;
}

/// Reads one file; the first complaint ends it.
class AccessReader {
public:
    explicit AccessReader(const std::string& file)
        : file_(file), folder_(std::filesystem::path(file).parent_path()) {}

    Result<Access> read(const Value& root);

private:
    [[nodiscard]] Error at(document::Mark mark, std::string_view message) const {
        return {ErrorCode::kInvalidInput, file_ + ":" + std::to_string(mark.line) + ":" +
                                              std::to_string(mark.column) + ": " +
                                              in_one_line(message)};
    }
    [[nodiscard]] Error unknown(const Value& key, std::string_view section,
                                std::span<const std::string_view> known) const;
    /// A mapping with plain, different keys; an absent value is an empty mapping.
    [[nodiscard]] Result<Done> check_mapping(const Value& node, std::string_view name) const;
    [[nodiscard]] Result<std::string> text(const Value& node, std::string_view name) const;
    [[nodiscard]] Result<std::string> path(const Value& node, std::string_view name) const;
    [[nodiscard]] Result<Done> read_tls_key(const Value& key, const Value& value, Tls& tls) const;
    [[nodiscard]] Result<Done> read_names(const Value& list, Tls& tls) const;
    [[nodiscard]] Result<Done> read_tls(const Value& node, Access& access) const;
    [[nodiscard]] Result<Done> check_tls(const Value& node, const Tls& tls) const;
    [[nodiscard]] Result<Done> read_http(const Value& node, Access& access) const;
    [[nodiscard]] Result<Done> read_headers(const Value& node, Access& access) const;
    [[nodiscard]] Result<Done> read_users(const Value& node, Access& access) const;

    std::string file_;
    std::filesystem::path folder_;
};

Error AccessReader::unknown(const Value& key, std::string_view section,
                            std::span<const std::string_view> known) const {
    std::string message =
        std::string(section) + "unknown key '" + key.scalar + "'; expected one of " + listed(known);
    if (const auto near = nearest_word(key.scalar, known); !near.empty()) {
        message += "; did you mean " + std::string(near) + "?";
    }
    return at(key.mark, message);
}

Result<Done> AccessReader::check_mapping(const Value& node, std::string_view name) const {
    if (node.kind == Value::Kind::kNull) return Done{};
    if (!node.is_mapping()) {
        return at(node.mark, std::string(name) + ": " + document::describe(node) +
                                 " found, a mapping expected");
    }
    std::map<std::string_view, unsigned> times;
    for (const Value::Entry& entry : node.entries) ++times[entry.first.scalar];
    for (const Value::Entry& entry : node.entries) {
        if (times[entry.first.scalar] > 1) {
            return at(entry.first.mark, std::string(name) + ": '" + entry.first.scalar +
                                            "' stands there twice; remove one");
        }
    }
    return Done{};
}

Result<std::string> AccessReader::text(const Value& node, std::string_view name) const {
    if (node.is_string() && !node.scalar.contains('\0')) return node.scalar;
    return at(node.mark,
              std::string(name) + ": " + document::describe(node) + " found, a text expected");
}

Result<std::string> AccessReader::path(const Value& node, std::string_view name) const {
    auto written = text(node, name);
    if (!written || written->empty()) return written;
    return (folder_ / *written).lexically_normal().string();
}

Result<Done> AccessReader::read_names(const Value& list, Tls& tls) const {
    if (list.kind == Value::Kind::kNull) return Done{};
    if (!list.is_sequence()) {
        return at(list.mark, "client_allowed_sans: " + document::describe(list) +
                                 " found, a list of names expected");
    }
    for (const Value& item : list.items) {
        auto name = text(item, "client_allowed_sans");
        if (!name) return std::move(name).error();
        tls.allowed_client_names.push_back(*std::move(name));
    }
    return Done{};
}

Result<Done> AccessReader::read_tls_key(const Value& key, const Value& value, Tls& tls) const {
    const std::string& name = key.scalar;
    if (std::find(kUnsupportedTlsKeys.begin(), kUnsupportedTlsKeys.end(), name) !=
        kUnsupportedTlsKeys.end()) {
        return at(key.mark,
                  "tls_server_config: '" + name +
                      "' is not supported here; remove it (certificates come from "
                      "cert_file and key_file, ciphers are those that OpenSSL holds safe)");
    }
    if (name == "client_allowed_sans") return read_names(value, tls);
    if (name.ends_with("_file")) {
        auto file = path(value, name);
        if (!file) return std::move(file).error();
        (name == "cert_file"  ? tls.certificate_file
         : name == "key_file" ? tls.key_file
                              : tls.client_ca_file) = *std::move(file);
        return Done{};
    }
    const auto word = text(value, name);
    if (!word) return word.error();
    if (name == "client_auth_type") {
        const auto found = std::find(kClientAuth.begin(), kClientAuth.end(), *word);
        if (found == kClientAuth.end() && !word->empty()) {
            return at(value.mark, "client_auth_type: '" + *word + "' found, expected one of " +
                                      listed(kClientAuth));
        }
        const auto index = word->empty() ? 0 : found - kClientAuth.begin();
        tls.client_auth = static_cast<Tls::ClientAuth>(index);
        return Done{};
    }
    if (*word == "TLS10" || *word == "TLS11") {
        return at(value.mark,
                  name + ": " + *word + " is broken and not offered; use TLS12 or TLS13");
    }
    if (*word != "TLS12" && *word != "TLS13") {
        return at(value.mark, name + ": '" + *word + "' found, TLS12 or TLS13 expected");
    }
    (name == "min_version" ? tls.min_version : tls.max_version) = *word;
    return Done{};
}

Result<Done> AccessReader::check_tls(const Value& node, const Tls& tls) const {
    const auto say = [&](std::string_view what) {
        return at(node.mark, "tls_server_config: " + std::string(what));
    };
    if (tls.certificate_file.empty()) return say("cert_file is missing");
    if (tls.key_file.empty()) return say("key_file is missing");
    const bool verifies = tls.client_auth == Tls::ClientAuth::kVerify ||
                          tls.client_auth == Tls::ClientAuth::kVerifyIfGiven;
    if (verifies && tls.client_ca_file.empty()) {
        return say("client_auth_type asks to verify clients, but client_ca_file is missing");
    }
    if (!verifies && !tls.client_ca_file.empty()) {
        return say(
            "client_ca_file is set, but client_auth_type does not verify clients; set "
            "RequireAndVerifyClientCert or VerifyClientCertIfGiven");
    }
    if (!tls.allowed_client_names.empty() && tls.client_auth != Tls::ClientAuth::kVerify) {
        return say("client_allowed_sans needs client_auth_type RequireAndVerifyClientCert");
    }
    if (tls.min_version > tls.max_version) return say("min_version is above max_version");
    return Done{};
}

Result<Done> AccessReader::read_tls(const Value& node, Access& access) const {
    if (auto checked = check_mapping(node, "tls_server_config"); !checked) return checked;
    if (node.entries.empty()) return Done{};
    Tls tls;
    for (const Value::Entry& entry : node.entries) {
        const bool known =
            std::find(kTlsKeys.begin(), kTlsKeys.end(), entry.first.scalar) != kTlsKeys.end() ||
            std::find(kUnsupportedTlsKeys.begin(), kUnsupportedTlsKeys.end(), entry.first.scalar) !=
                kUnsupportedTlsKeys.end();
        if (!known) return unknown(entry.first, "tls_server_config: ", kTlsKeys);
        if (auto read = read_tls_key(entry.first, entry.second, tls); !read) return read;
    }
    if (auto checked = check_tls(node, tls); !checked) return checked;
    access.tls = std::move(tls);
    return Done{};
}

Result<Done> AccessReader::read_headers(const Value& node, Access& access) const {
    if (auto checked = check_mapping(node, "headers"); !checked) return checked;
    for (const Value::Entry& entry : node.entries) {
        const std::string& name = entry.first.scalar;
        if (std::find(kHeaders.begin(), kHeaders.end(), name) == kHeaders.end()) {
            return unknown(entry.first, "headers: ", kHeaders);
        }
        auto value = text(entry.second, name);
        if (!value) return std::move(value).error();
        if (std::any_of(value->begin(), value->end(),
                        [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; })) {
            return at(entry.second.mark, name + ": a line break or control character is in it");
        }
        if (!value->empty()) access.response_headers[name] = *std::move(value);
    }
    return Done{};
}

Result<Done> AccessReader::read_http(const Value& node, Access& access) const {
    constexpr std::array<std::string_view, 2> kKeys{"http2", "headers"};
    if (auto checked = check_mapping(node, "http_server_config"); !checked) return checked;
    for (const Value::Entry& entry : node.entries) {
        if (entry.first.scalar == "headers") {
            if (auto read = read_headers(entry.second, access); !read) return read;
        } else if (entry.first.scalar != "http2") {
            return unknown(entry.first, "http_server_config: ", kKeys);
        } else if (entry.second.kind != Value::Kind::kBool) {
            return at(entry.second.mark, "http2: " + document::describe(entry.second) +
                                             " found, true or false expected");
        }
    }
    return Done{};
}

Result<Done> AccessReader::read_users(const Value& node, Access& access) const {
    if (auto checked = check_mapping(node, "basic_auth_users"); !checked) return checked;
    for (const Value::Entry& entry : node.entries) {
        const std::string& name = entry.first.scalar;
        if (name.empty() || name.contains(':') || name.contains('\0')) {
            return at(entry.first.mark, "basic_auth_users: a name must not be empty nor hold ':'");
        }
        auto hash = text(entry.second, "basic_auth_users");
        if (!hash) return std::move(hash).error();
        if (const std::string problem = why_no_bcrypt(*hash); !problem.empty()) {
            return at(entry.second.mark, "basic_auth_users: the value of '" + name + "' " +
                                             problem + "; make one with: htpasswd -nBC 10 " + name);
        }
        access.users[name] = *std::move(hash);
    }
    return Done{};
}

Result<Access> AccessReader::read(const Value& root) {
    Access access{.file = file_};
    if (auto checked = check_mapping(root, "web configuration"); !checked) {
        return std::move(checked).error();
    }
    for (const Value::Entry& entry : root.entries) {
        Result<Done> read = Done{};
        if (entry.first.scalar == "tls_server_config") {
            read = read_tls(entry.second, access);
        } else if (entry.first.scalar == "http_server_config") {
            read = read_http(entry.second, access);
        } else if (entry.first.scalar == "basic_auth_users") {
            read = read_users(entry.second, access);
        } else {
            return unknown(entry.first, "", kSections);
        }
        if (!read) return std::move(read).error();
    }
    return access;
}

}  // namespace

Result<Access> parse_access(std::string_view text, const std::string& file) {
    const document::Stream stream = document::parse_yaml(text, {.bytes = kMostFileBytes});
    if (!stream.errors.empty()) {
        const document::SyntaxError& error = stream.errors.front();
        return Error{ErrorCode::kInvalidInput, file + ":" + std::to_string(error.mark.line) + ":" +
                                                   std::to_string(error.mark.column) + ": " +
                                                   error.message};
    }
    if (stream.documents.size() > 1) {
        return Error{ErrorCode::kInvalidInput, file + ":" +
                                                   std::to_string(stream.documents[1].mark.line) +
                                                   ":1: a second document; expected one"};
    }
    return AccessReader(file).read(stream.documents.empty() ? Value{} : stream.documents.front());
}

Result<Access> read_access(const std::string& file) {
    std::error_code problem;
    const std::string path = std::filesystem::absolute(file, problem).string();
    if (problem) return os::error_from_errno(problem.value(), file);
    const auto text = os::Root().read(path, kMostFileBytes);
    if (!text) return text.error();
    return parse_access(*text, path);
}

}  // namespace aliquot::http
