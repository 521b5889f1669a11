// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "http/access.h"
#include "http/message.h"
#include "page/live.h"

namespace aliquot::page {

/// Who can reach the port that the page is on.
enum class Reach : std::uint8_t {
    kThisMachine,  // only its own users: requests by any other name than its own are refused (DNS rebinding)
    kWhoMay,  // others too, and the port asks them for a password or a certificate
};

/// Whether the page may be shown on a port: on one that only this machine can reach, else only behind TLS with
/// passwords or client certificates.
/// errors   kInvalidInput: not such an address; kPermission: what is missing
Result<Reach> reach_of(std::string_view address, const http::Access& access);

/// What somebody may see of what the page shows.
struct Pass {
    std::optional<http::Response> refusal;  // what is answered in its place
    std::string only;                       // the namespace whose pods may be seen; empty: all
    std::string who{};  // whose streams are counted together; empty: nobody's are
};
/// The page's own files, which say nothing of the cluster, are for all. Thread-safe.
using Gate = std::function<Pass(const http::Request&)>;

/// The page over HTTP, read-only: the files of web/ and beside them snapshot.json, changes.json?epoch=&since=,
/// events (server-sent), shares.json?node= and history.json?gpu=. Thread-safe; a Handler once it is copied.
class Site {
public:
    static constexpr unsigned kMostStreamsOfOne = 16;  // events at once, of one Pass::who

    /// prefix   of the paths that come here: "/page/", "/"
    Site(std::shared_ptr<Live> live, std::string prefix, Reach reach, Gate gate = {});

    http::Response operator()(const http::Request& request) const;

private:
    struct File {
        std::string_view content_type;
        std::shared_ptr<const std::string> text;
        std::string tag;  // of this content
    };
    [[nodiscard]] http::Response answer(const http::Request& request) const;
    [[nodiscard]] http::Response file(const http::Request& request, const std::string& path) const;
    [[nodiscard]] http::Response data(const http::Request& request, const std::string& path,
                                      const Pass& pass) const;
    static http::Response changes(const http::Request& request, const Feed& feed);
    [[nodiscard]] http::Response events(const http::Request& request, const Pass& pass) const;
    [[nodiscard]] http::Response shares(const http::Request& request,
                                        const std::string& only) const;

    std::shared_ptr<Live> live_;
    std::string prefix_;
    Reach reach_;
    Gate gate_;  // empty: the port itself asks
    class Streams;
    std::shared_ptr<Streams> streams_;
    std::shared_ptr<const std::map<std::string, File, std::less<>>> files_;
};

}  // namespace aliquot::page
