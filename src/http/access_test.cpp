// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "http/server.h"
#include "http/test_certificate.h"
#include "os/temporary_directory.h"

namespace aliquot::http {
namespace {

constexpr const char* kHash = "$2y$05$abcdefghijklmnopqrstuuOQiyCxlgf/oeuTqixKmWdcYUh4Hjl0a";

std::string complaint(const std::string& text) {
    const auto access = parse_access(text, "/etc/web.yml");
    return access ? "" : access.error().message;
}

TEST(Access, AWholeFileIsRead) {
    const auto access = parse_access(R"(tls_server_config:
  cert_file: tls/server.crt
  key_file: /keys/server.key
  client_auth_type: RequireAndVerifyClientCert
  client_ca_file: ca.crt
  client_allowed_sans: [prometheus.monitoring.svc]
  min_version: TLS13
http_server_config:
  http2: true
  headers:
    X-Frame-Options: deny
basic_auth_users:
  alice: )" + std::string(kHash) + "\n",
                                     "/etc/aliquot/web.yml");
    ASSERT_TRUE(access) << access.error().message;
    ASSERT_TRUE(access->tls);
    EXPECT_EQ(access->tls->certificate_file, "/etc/aliquot/tls/server.crt");
    EXPECT_EQ(access->tls->key_file, "/keys/server.key");
    EXPECT_EQ(access->tls->client_ca_file, "/etc/aliquot/ca.crt");
    EXPECT_EQ(access->tls->client_auth, Tls::ClientAuth::kVerify);
    EXPECT_EQ(access->tls->min_version, "TLS13");
    EXPECT_EQ(access->tls->allowed_client_names.size(), 1U);
    EXPECT_EQ(access->response_headers.at("X-Frame-Options"), "deny");
    EXPECT_EQ(access->users.at("alice"), kHash);
    EXPECT_EQ(access->file, "/etc/aliquot/web.yml");
}

TEST(Access, AnEmptyFileAsksForNothing) {
    const auto access = parse_access("# nothing\n", "web.yml");
    ASSERT_TRUE(access);
    EXPECT_FALSE(access->tls);
    EXPECT_TRUE(access->users.empty());
}

TEST(Access, WhatIsUnknownIsNamedWithItsPlace) {
    EXPECT_EQ(complaint("tls_server_config:\n  cert_fil: a\n"),
              "/etc/web.yml:2:3: tls_server_config: unknown key 'cert_fil'; expected one of "
              "cert_file, key_file, client_ca_file, client_auth_type, client_allowed_sans, "
              "min_version, max_version; did you mean cert_file?");
    EXPECT_EQ(complaint("basic_auth_user: {}\n"),
              "/etc/web.yml:1:1: unknown key 'basic_auth_user'; expected one of "
              "tls_server_config, http_server_config, basic_auth_users; did you mean "
              "basic_auth_users?");
    EXPECT_EQ(complaint("http_server_config:\n  headers:\n    Server: x\n"),
              "/etc/web.yml:3:5: headers: unknown key 'Server'; expected one of "
              "Content-Security-Policy, Strict-Transport-Security, X-Content-Type-Options, "
              "X-Frame-Options, X-XSS-Protection");
    EXPECT_EQ(complaint("tls_server_config:\n  cipher_suites: []\n"),
              "/etc/web.yml:2:3: tls_server_config: 'cipher_suites' is not supported here; remove "
              "it (certificates come from cert_file and key_file, ciphers are those that OpenSSL "
              "holds safe)");
}

TEST(Access, WhatDoesNotFitTogetherIsRefused) {
    const std::string pair = "tls_server_config:\n  cert_file: a\n  key_file: b\n";
    EXPECT_EQ(complaint("tls_server_config:\n  cert_file: a\n"),
              "/etc/web.yml:2:3: tls_server_config: key_file is missing");
    EXPECT_TRUE(complaint(pair + "  client_ca_file: c\n").contains("does not verify clients"));
    EXPECT_TRUE(complaint(pair + "  client_auth_type: VerifyClientCertIfGiven\n")
                    .contains("client_ca_file is missing"));
    EXPECT_TRUE(complaint(pair + "  client_auth_type: Yes\n").contains("web.yml:4:"));
    EXPECT_TRUE(complaint(pair + "  min_version: TLS10\n").contains("use TLS12 or TLS13"));
    EXPECT_TRUE(complaint(pair + "  min_version: TLS13\n  max_version: TLS12\n")
                    .contains("min_version is above max_version"));
    EXPECT_TRUE(complaint(pair + "  client_allowed_sans: [a]\n")
                    .contains("needs client_auth_type RequireAndVerifyClientCert"));
    EXPECT_TRUE(complaint(pair + "  key_file: c\n").contains("stands there twice"));
    EXPECT_TRUE(complaint("basic_auth_users: [a]\n").contains("a mapping expected"));
    EXPECT_TRUE(complaint("a: b\n---\nc: d\n").contains("a second document"));
    EXPECT_TRUE(complaint("a: [\n").starts_with("/etc/web.yml:"));
}

TEST(Access, APasswordThatIsNoHashIsRefused) {
    EXPECT_EQ(
        complaint("basic_auth_users:\n  bob: secret\n"),
        "/etc/web.yml:2:8: basic_auth_users: the value of 'bob' is not a bcrypt hash ($2y$10$ "
        "and 53 letters); make one with: htpasswd -nBC 10 bob");
    EXPECT_TRUE(complaint("basic_auth_users:\n  bob: $2y$31$" + std::string(53, '.') + "\n")
                    .contains("has bcrypt cost 31; expected 4 to 15"));
}

TEST(Access, AFileIsReadFromItsFolder) {
    const os::TemporaryDirectory folder;
    const std::string path = folder.path() / "web.yml";
    write_file(path, "tls_server_config: {cert_file: a.crt, key_file: a.key}\n");
    const auto access = read_access(path);
    ASSERT_TRUE(access) << access.error().message;
    EXPECT_EQ(access->tls->certificate_file, folder.path() / "a.crt");
    EXPECT_EQ(read_access(folder.path() / "none.yml").error().code, ErrorCode::kNotFound);
}

TEST(WebAccess, AMessageIsOneLineWhateverItQuotes) {
    for (const char* const text :
         {"\"a\\nb\": 1", "tls_server_config: {\"x\\ny\": 1}",
          "basic_auth_users: {\"a\\nb\": plain}", "basic_auth_users: {\"a\\nb\": c, \"a\\nb\": d}",
          "http_server_config: {headers: {\"x\\r\": 1}}",
          "tls_server_config: {client_auth_type: \"a\\nb\"}",
          "tls_server_config: {min_version: \"a\\tb\\n\"}", "? |\n  a\n  b\n: 1\n"}) {
        const auto access = parse_access(text, "/etc/web.yml");
        ASSERT_FALSE(access) << text;
        EXPECT_EQ(access.error().message.find_first_of("\n\r"), std::string::npos)
            << access.error().message;
    }
}

}  // namespace
}  // namespace aliquot::http
