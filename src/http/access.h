// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

/// Who may reach a server, as files say it.
namespace aliquot::http {

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

}  // namespace aliquot::http
