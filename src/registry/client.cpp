// SPDX-License-Identifier: Apache-2.0
#include "registry/client.h"

#include <algorithm>
#include <thread>

#include "base/number.h"
#include "base/sentence.h"
#include "base/text.h"
#include "document/json.h"
#include "document/path.h"
#include "registry/digest.h"

namespace aliquot::registry {
namespace {

constexpr int kMostTries = 4;
constexpr int kMostRedirects = 5;
constexpr std::size_t kMostManifestBytes = std::size_t{4}
                                           << 20U;  // what the specification asks registries for
constexpr std::size_t kMostTokenBytes = std::size_t{64} << 10U;
constexpr std::chrono::seconds kLongestWait{20};
constexpr const char* kManifests =
    "application/vnd.oci.image.index.v1+json, application/vnd.oci.image.manifest.v1+json, "
    "application/vnd.docker.distribution.manifest.list.v2+json, "
    "application/vnd.docker.distribution.manifest.v2+json";

bool is_busy(int status) {
    return status == 429 || (status >= 500 && status != 501 && status != 505);
}

bool is_redirect(int status) {
    return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

/// "https://host:port" of a URL.
std::string origin_of(std::string_view url) {
    const auto begin = url.find("://");
    if (begin == std::string_view::npos) return {};
    return std::string(url.substr(0, url.find('/', begin + 3)));
}

/// A token goes into a header field: nothing in it may end the field.
bool is_token(std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, [](char c) { return c > ' ' && c < 0x7f; });
}

/// What the registry itself says of an error: "manifest unknown"; empty: nothing.
std::string registry_words(const std::string& body) {
    const auto value = document::parse_json(body);
    if (!value) return {};
    const auto& errors = document::items_at(*value, {"errors"});
    if (errors.empty()) return one_line(document::text_at(*value, {"details"}), 120);
    const std::string message = document::text_at(errors[0], {"message"});
    return one_line(message.empty() ? document::text_at(errors[0], {"code"}) : message, 120);
}

}  // namespace

Client::Client(Reference image, ClientOptions options)
    : image_(std::move(image)),
      options_(std::move(options)),
      base_((options_.plain_http ? "http://" : "https://") + image_.registry) {}

bool Client::may_ask(const std::string& url) const {
    const bool plain = options_.plain_http && url.starts_with("http://");
    return (plain || url.starts_with("https://")) && !url.contains('@') &&
           std::ranges::all_of(url, [](char c) { return c > ' ' && c < 0x7f; });
}

Error Client::error_of(const Got& got, const std::string& what) const {
    const std::string said = registry_words(got.body);
    const std::string why = what + ": " + image_.registry + " answers " +
                            std::to_string(got.status) + (said.empty() ? "" : ": " + said);
    if (got.status == 404) return {ErrorCode::kNotFound, why};
    if (got.status == 401 || got.status == 403) {
        return {ErrorCode::kPermission,
                why + (options_.login ? "; the login was refused"
                                      : "; docker login " + image_.registry +
                                            " writes a login that is read here")};
    }
    return {is_busy(got.status) ? ErrorCode::kUnavailable : ErrorCode::kInvalidInput, why};
}

Result<Got> Client::follow(std::string url, const std::string& accept, std::size_t most_bytes,
                           const Sink& sink) {
    for (int redirects = 0; redirects <= kMostRedirects; ++redirects) {
        if (!may_ask(url)) {
            return Error{ErrorCode::kInvalidInput, image_.text() + ": " + image_.registry +
                                                       " leads to " + one_line(url, 80) +
                                                       ", where only https is followed"};
        }
        Get request{.url = url,
                    .ca_file = options_.ca_file,
                    .until = options_.until,
                    .most_bytes = most_bytes,
                    .sink = sink};
        request.headers = {{"Accept", accept}, {"User-Agent", "aliquot/" ALIQUOT_VERSION}};
        if (!authorization_.empty() && origin_of(url) == base_) {
            request.headers.emplace_back("Authorization", authorization_);
        }
        auto got = get(request);
        if (!got || !is_redirect(got->status)) return got;
        const std::string location = got->header("location");
        url = location.starts_with('/') && !location.starts_with("//") ? origin_of(url) + location
                                                                       : location;
    }
    return Error{ErrorCode::kInvalidInput,
                 image_.text() + ": " + image_.registry + " leads from place to place without end"};
}

Result<Got> Client::ask(const std::string& path, const std::string& accept, std::size_t most_bytes,
                        const Sink& sink) {
    bool was_refused = false;
    auto wait = options_.first_wait;
    for (int tries = 1;; ++tries) {
        auto got = follow(base_ + "/v2/" + image_.repository + path, accept, most_bytes, sink);
        if (!got) return got;
        if (got->status == 200) return got;
        if (got->status == 401 && !was_refused) {
            was_refused = true;
            const auto done = authorize(*got);
            if (!done) return done.error();
            continue;
        }
        if (!is_busy(got->status) || tries >= kMostTries) return error_of(*got, image_.text());
        const auto asked = parse_number<unsigned>(got->header("retry-after"));
        const std::chrono::milliseconds told =
            asked ? std::chrono::seconds(*asked) : std::chrono::seconds(0);
        const std::chrono::milliseconds pause = std::max(told, wait);
        if (pause > kLongestWait || std::chrono::steady_clock::now() + pause >= options_.until) {
            return error_of(*got, image_.text());
        }
        std::this_thread::sleep_for(pause);
        wait *= 2;
    }
}

Result<Done> Client::authorize(const Got& refusal) {
    const auto challenge = read_challenge(refusal.header("www-authenticate"));
    if (!challenge) return error_of(refusal, image_.text());
    if (!challenge->is_bearer) {
        if (!options_.login) return error_of(refusal, image_.text());
        if (options_.plain_http && !image_.is_local()) {
            return Error{ErrorCode::kPermission,
                         image_.text() + ": a login is not sent without TLS"};
        }
        authorization_ = options_.login->field();
        return Done{};
    }
    auto got = token(*challenge);
    if (!got) return std::move(got).error();
    authorization_ = "Bearer " + *got;
    return Done{};
}

Result<std::string> Client::token(const Challenge& challenge) {
    const std::string url = token_url(challenge, "repository:" + image_.repository + ":pull");
    const std::string what = "token for " + image_.text();
    if (!may_ask(url)) {
        return Error{ErrorCode::kInvalidInput,
                     what + ": '" + one_line(challenge.realm, 80) + "' is not an https address"};
    }
    Get request{.url = url,
                .ca_file = options_.ca_file,
                .until = options_.until,
                .most_bytes = kMostTokenBytes};
    request.headers = {{"User-Agent", "aliquot/" ALIQUOT_VERSION}};
    if (options_.login && (!options_.plain_http || image_.is_local())) {
        request.headers.emplace_back("Authorization", options_.login->field());
    }
    const auto got = get(request);
    if (!got) return got.error();
    if (got->status != 200) return error_of(*got, what);
    const auto value = document::parse_json(got->body);
    if (!value) return Error{ErrorCode::kInvalidInput, what + ": the answer is not JSON"};
    std::string text = document::text_at(*value, {"token"});
    if (text.empty()) text = document::text_at(*value, {"access_token"});
    if (!is_token(text))
        return Error{ErrorCode::kInvalidInput, what + ": there is none in the answer"};
    return text;
}

Result<ManifestText> Client::manifest(const std::string& version) {
    auto got = ask("/manifests/" + version, kManifests, kMostManifestBytes, {});
    if (!got) return std::move(got).error();
    ManifestText manifest{.media_type = got->header("content-type"),
                          .digest = digest_of(got->body)};
    manifest.media_type = manifest.media_type.substr(0, manifest.media_type.find(';'));
    if (is_digest(version) && manifest.digest != version) {
        return Error{ErrorCode::kInvalidInput, image_.text() + ": the manifest that came is " +
                                                   manifest.digest + ", asked for was " + version};
    }
    manifest.text = std::move(got->body);
    return manifest;
}

Result<std::string> Client::blob(const std::string& digest, std::size_t most_bytes) {
    auto got = ask("/blobs/" + digest, "*/*", most_bytes, {});
    if (!got) return std::move(got).error();
    if (digest_of(got->body) != digest) {
        return Error{ErrorCode::kInvalidInput, image_.text() + ": what came is not " + digest};
    }
    return std::move(got->body);
}

Result<Done> Client::stream(const std::string& digest, std::uint64_t size,
                            const std::function<bool(std::string_view bytes)>& take) {
    Digest seen;
    std::uint64_t bytes = 0;
    bool is_too_long = false;
    const auto got = ask("/blobs/" + digest, "*/*", kMostTokenBytes, [&](std::string_view part) {
        seen.add(part);
        is_too_long = (bytes += part.size()) > size;
        return !is_too_long && take(part);
    });
    if (!got) return got.error();
    if (is_too_long) {
        return Error{ErrorCode::kInvalidInput, image_.text() + ": layer " + digest +
                                                   " is longer than the " + std::to_string(size) +
                                                   " bytes of its manifest"};
    }
    if (got->ended_by_sink) return Done{};
    if (seen.text() != digest) {
        return Error{ErrorCode::kInvalidInput,
                     image_.text() + ": what came is not layer " + digest};
    }
    return Done{};
}

}  // namespace aliquot::registry
