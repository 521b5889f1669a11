// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

/// HTTP where it leaves the node: TLS, names and passwords, compression, limits.
namespace aliquot::http {

struct Request {
    std::string method;  // "GET"
    std::string path;    // decoded, without the query: "/metrics"
    std::vector<std::pair<std::string, std::string>> query;  // decoded, in order
    std::map<std::string, std::string> headers;              // names in lower case
    std::string body;
    std::string peer_name;  // common name of a client certificate that was verified; else empty
    /// First value of a parameter; empty: there is none.
    [[nodiscard]] std::string_view parameter(std::string_view name) const;
    [[nodiscard]] std::string_view header(std::string_view lower_case_name) const;
};

struct Answer {
    int status = 200;
    std::string content_type = "text/plain; charset=utf-8";
    std::string body;
    /// For bodies that many askers share: used instead of `body` when set.
    std::shared_ptr<const std::string> shared_body;
    std::vector<std::pair<std::string, std::string>> headers;
};

/// Certificates; files are read again when they change (an old one stays when the new one is bad).
struct Tls {
    std::string certificate_file;  // host paths
    std::string key_file;
    std::string client_ca_file;  // empty: no client certificates
    enum class ClientAuth : std::uint8_t { kNone, kRequest, kRequire, kVerifyIfGiven, kVerify };
    ClientAuth client_auth = ClientAuth::kNone;
    std::string min_version = "TLS12";  // or TLS13
    std::string max_version = "TLS13";
    /// Of a verified client's certificate one alternative name (DNS, IP, e-mail or URI) must be
    /// here; empty: any certificate that is verified will do.
    std::vector<std::string> allowed_client_names;
};

/// As the Prometheus exporter toolkit's --web.config.file has them.
struct Access {
    std::optional<Tls> tls;
    std::map<std::string, std::string> users;             // name -> bcrypt hash
    std::map<std::string, std::string> response_headers;  // of http_server_config
    /// Where it was read. A server looks there again when the file changes, and goes on with what
    /// it had when the new content is bad. Empty: not from a file.
    std::string file;
};

/// Reads that file. Findings of an unreadable one name file:line:column. Names of files in it are
/// relative to its own folder.
/// errors   kInvalidInput, kNotFound, kPermission
Result<Access> read_access(const std::string& file);

/// The same of a text; `file` is for messages and for relative names.
Result<Access> parse_access(std::string_view text, const std::string& file);

struct ServerOptions {
    std::string address =
        ":9400";  // "HOST:PORT", ":PORT" (all addresses), "[::1]:PORT"; port 0: a free one
    Access access;
    std::vector<std::string> methods = {"GET"};  // others are 405; HEAD goes with GET
    unsigned threads = 4;                        // handlers at once; started when there is need
    /// Connections at once. A further one takes the place of one that waits for its next request,
    /// or has not sent a whole request for a second; else it is closed.
    std::size_t most_connections = 64;
    std::size_t most_body_bytes = 1 << 20;  // of a request; a longer one is 413
    /// To read a request (with the TLS greeting), and again to write its answer.
    std::chrono::milliseconds request_limit{10'000};
    std::chrono::milliseconds idle_limit{90'000};  // between the requests of a connection
};

/// A server on threads of its own: one that waits for all connections, so that an idle or a slow
/// one costs a few KiB and no thread, and few that run the handler. Answers are compressed (gzip)
/// where the asker takes that and it pays. HEAD is answered as GET without body.
class Server {
public:
    using Handler = std::function<Answer(const Request&)>;  // thread-safe; for HEAD asked as GET

    /// errors   kInvalidInput: address, certificate; kConflict: address in use; kPermission
    static Result<std::unique_ptr<Server>> listen(ServerOptions options, Handler handler);
    ~Server();  // stops; open requests end within request_limit

    [[nodiscard]] unsigned port() const;

private:
    class Implementation;
    explicit Server(std::unique_ptr<Implementation> implementation);
    std::unique_ptr<Implementation> implementation_;
};

}  // namespace aliquot::http
