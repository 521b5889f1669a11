// SPDX-License-Identifier: Apache-2.0
#include "registry/login.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>
#include <vector>

#include "base/base64.h"
#include "base/descriptor.h"
#include "base/text.h"
#include "document/json.h"
#include "document/path.h"
#include "os/spawner.h"

namespace aliquot::registry {
namespace {

using document::Value;

constexpr std::size_t kMostLoginBytes = std::size_t{1} << 20U;
constexpr std::size_t kMostHelperBytes = std::size_t{64} << 10U;
constexpr std::chrono::seconds kHelperLimit{20};
constexpr std::string_view kDockerHub = "registry-1.docker.io";

/// "https://ghcr.io/v2/" is "ghcr.io"; Docker Hub's are all one.
std::string key_of(std::string_view key) {
    for (const std::string_view scheme : {"https://", "http://"}) {
        if (key.starts_with(scheme)) key.remove_prefix(scheme.size());
    }
    while (key.ends_with('/')) key.remove_suffix(1);
    for (const std::string_view version : {"/v1", "/v2"}) {
        if (key.ends_with(version)) key.remove_suffix(version.size());
    }
    for (const std::string_view hub : {"index.docker.io", "docker.io"}) {
        if (key != hub && !key.starts_with(std::string(hub) + "/")) continue;
        return std::string(kDockerHub) + std::string(key.substr(hub.size()));
    }
    return std::string(key);
}

/// The entry of the longest key that the image is or is below.
const Value::Entry* entry_for(const Value& list, const Reference& image) {
    const std::string name = image.registry + "/" + image.repository + "/";
    const Value::Entry* best = nullptr;
    std::size_t longest = 0;
    for (const Value::Entry& one : list.entries) {
        const std::string key = key_of(one.first.scalar) + "/";
        if (key.size() <= longest || !name.starts_with(key)) continue;
        longest = key.size();
        best = &one;
    }
    return best;
}

Error login_error(const std::string& what) {
    return {ErrorCode::kInvalidInput, "logins of registries: " + what};
}

Result<std::optional<Login>> login_in(const Value& entry, const Reference& image) {
    if (!document::text_at(entry, {"identitytoken"}).empty()) {
        return login_error(
            "that of " + image.registry +
            " is an identity token, which is not read; log in with a name and a password");
    }
    const std::string packed = document::text_at(entry, {"auth"});
    if (packed.empty()) {
        Login login{document::text_at(entry, {"username"}), document::text_at(entry, {"password"})};
        return login.user.empty() ? std::optional<Login>() : login;
    }
    const auto plain = decode_base64(packed);
    const auto colon = plain ? plain->find(':') : std::string::npos;
    if (colon == std::string::npos)
        return login_error("auth of " + image.registry + " is not NAME:PASSWORD in base64");
    Login login{plain->substr(0, colon), plain->substr(colon + 1)};
    while (login.password.ends_with('\0')) login.password.pop_back();
    return std::optional(std::move(login));
}

bool is_helper_name(std::string_view name) {
    return !name.empty() && name.size() <= 64 && std::ranges::all_of(name, [](char c) {
        return is_letter(c) || is_digit(c) || c == '-' || c == '_';
    });
}

Result<std::optional<Login>> login_by(const std::string& helper, const std::string& server,
                                      const AskHelper& ask) {
    if (!is_helper_name(helper))
        return login_error("'" + helper.substr(0, 64) + "' is not the name of a helper");
    const auto said = ask(helper, server);
    if (!said) return said.error();
    const auto value = document::parse_json(*said);
    if (!value) {
        // "credentials not found in native keychain": no login, which may be enough.
        if (contains_folded(*said, "not found")) return std::optional<Login>();
        return login_error("docker-credential-" + helper +
                           ": no JSON: " + std::string(trim(*said)).substr(0, 120));
    }
    Login login{document::text_at(*value, {"Username"}), document::text_at(*value, {"Secret"})};
    if (login.user == "<token>") {
        return login_error("docker-credential-" + helper +
                           " gives an identity token, which is not read");
    }
    return login.user.empty() ? std::optional<Login>() : login;
}

/// What a pipe says until its end, at most so much and so long.
std::string read_all(int descriptor, std::chrono::steady_clock::time_point until) {
    std::string text;
    std::array<char, 4096> part{};
    while (text.size() < kMostHelperBytes) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
            until - std::chrono::steady_clock::now());
        pollfd wait{.fd = descriptor, .events = POLLIN, .revents = 0};
        if (left.count() <= 0 || ::poll(&wait, 1, static_cast<int>(left.count())) <= 0) break;
        const ssize_t count = ::read(descriptor, part.data(), part.size());
        if (count <= 0) break;
        text.append(part.data(), static_cast<std::size_t>(count));
    }
    return text;
}

Result<std::string> run_helper(const std::string& helper, const std::string& server) {
    std::array<int, 2> to{};
    std::array<int, 2> from{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, to.data()) != 0) {
        return Error{ErrorCode::kUnavailable, "no socket for a helper"};
    }
    Descriptor their_input(to[0]);
    Descriptor our_output(to[1]);
    if (::pipe2(from.data(), O_CLOEXEC) != 0)
        return Error{ErrorCode::kUnavailable, "no pipe for a helper"};
    const Descriptor our_input(from[0]);
    Descriptor their_output(from[1]);
    auto process = os::Process::start({.argv = {"docker-credential-" + helper, "get"},
                                       .environment = os::current_environment(),
                                       .input_descriptor = their_input.get(),
                                       .output_descriptor = their_output.get(),
                                       .error_descriptor = STDERR_FILENO});
    if (!process) return process.error();
    their_input = Descriptor();
    their_output = Descriptor();
    // A name of a server fits into the socket: this does not wait.
    const bool told = ::send(our_output.get(), server.data(), server.size(), MSG_NOSIGNAL) ==
                      static_cast<ssize_t>(server.size());
    our_output = Descriptor();
    const auto until = std::chrono::steady_clock::now() + kHelperLimit;
    std::string said = read_all(our_input.get(), until);
    constexpr std::chrono::milliseconds kGrace{500};
    if (!told || !process->wait(std::chrono::seconds(1))) (void)process->terminate(kGrace);
    if (said.empty())
        return Error{ErrorCode::kUnavailable, "docker-credential-" + helper + " is silent"};
    return said;
}

std::optional<std::string> text_of_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) return std::nullopt;
    std::string text(kMostLoginBytes + 1, '\0');
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(file.gcount()));
    return text;
}

}  // namespace

std::string Login::field() const { return "Basic " + encode_base64(user + ":" + password); }

Result<std::optional<Login>> login_of(std::string_view config, const Reference& image,
                                      const AskHelper& ask) {
    if (config.size() > kMostLoginBytes) return login_error("the file is larger than 1 MiB");
    const auto value = document::parse_json(config);
    if (!value || value->kind != Value::Kind::kMapping)
        return login_error("the file is not JSON as docker login writes it");
    const std::string server =
        image.registry == kDockerHub ? "https://index.docker.io/v1/" : image.registry;
    if (const Value* const helpers = value->find("credHelpers")) {
        const auto* const entry = entry_for(*helpers, image);
        if (entry != nullptr) return login_by(entry->second.scalar, server, ask);
    }
    if (const Value* const logins = value->find("auths")) {
        const auto* const entry = entry_for(*logins, image);
        if (entry != nullptr && !entry->second.entries.empty())
            return login_in(entry->second, image);
    }
    const std::string store = document::text_at(*value, {"credsStore"});
    if (!store.empty()) return login_by(store, server, ask);
    return std::optional<Login>();
}

Result<std::optional<Login>> find_login(const std::string& file,
                                        const std::map<std::string, std::string>& environment,
                                        const Reference& image) {
    const auto variable = [&](const char* name, const char* rest) {
        const auto found = environment.find(name);
        return found == environment.end() || found->second.empty() ? "" : found->second + rest;
    };
    const std::vector<std::string> places =
        file.empty()
            ? std::vector<std::string>{variable("REGISTRY_AUTH_FILE", ""),
                                       variable("DOCKER_CONFIG", "/config.json"),
                                       variable("XDG_RUNTIME_DIR", "/containers/auth.json"),
                                       variable("HOME", "/.docker/config.json")}
            : std::vector<std::string>{file};
    for (const std::string& place : places) {
        const auto text = place.empty() ? std::nullopt : text_of_file(place);
        if (!text) continue;
        auto login = login_of(*text, image, run_helper);
        if (!login) return std::move(login).error().during(place);
        return login;
    }
    if (!file.empty()) return login_error(file + ": cannot read it");
    return std::optional<Login>();
}

}  // namespace aliquot::registry
