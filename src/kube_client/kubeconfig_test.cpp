// SPDX-License-Identifier: Apache-2.0
#include "kube_client/kubeconfig.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube_client/url.h"
#include "os/root.h"
#include "os/temporary_directory.h"

namespace aliquot::kube_client {
namespace {

using testing::HasSubstr;

constexpr std::string_view kWhole = R"(apiVersion: v1
kind: Config
clusters:
- name: home
  cluster:
    server: https://10.0.0.1:6443
    certificate-authority: pki/ca.crt
    tls-server-name: kubernetes
    proxy-url: socks5://localhost:1080
- name: open
  cluster: {server: "https://[::1]:6443/", insecure-skip-tls-verify: true}
users:
- name: ada
  user:
    client-certificate-data: Y2VydA==
    client-key: /abs/key
    as: bob
    as-groups: [a, b]
    as-user-extra: {reason: [x]}
- name: cloud
  user:
    exec:
      apiVersion: client.authentication.k8s.io/v1
      command: ./bin/login
      args: [--cluster, "1"]
      env: [{name: A, value: b}]
      interactiveMode: IfAvailable
      provideClusterInfo: true
contexts:
- name: ada@home
  context: {cluster: home, user: ada, namespace: shop}
- name: cloud
  context: {cluster: open, user: cloud}
- name: broken
  context: {cluster: nowhere, user: ada}
current-context: ada@home
)";

TEST(Kubeconfig, IsReadWithPathsFromItsOwnDirectory) {
    const auto config = parse_kubeconfig(kWhole, "/home/ada/.kube/config");
    ASSERT_TRUE(config) << config.error().message;
    const auto choice = choose(*config, "");
    ASSERT_TRUE(choice) << choice.error().message;
    EXPECT_EQ(choice->context, "ada@home");
    EXPECT_EQ(choice->namespace_name, "shop");
    EXPECT_EQ(choice->cluster.ca_file, "/home/ada/.kube/pki/ca.crt");
    EXPECT_EQ(choice->cluster.tls_server_name, "kubernetes");
    EXPECT_EQ(choice->user.client_certificate_pem, "cert");
    EXPECT_EQ(choice->user.client_key_file, "/abs/key");
    EXPECT_EQ(choice->user.as_groups.size(), 2U);
    EXPECT_EQ(choice->user.as_extra.at(0).second, "x");

    const auto cloud = choose(*config, "cloud");
    ASSERT_TRUE(cloud);
    ASSERT_TRUE(cloud->user.exec);
    EXPECT_EQ(cloud->user.exec->command, "/home/ada/.kube/bin/login");
    EXPECT_EQ(cloud->user.exec->arguments[1], "1");
    EXPECT_TRUE(cloud->user.exec->provide_cluster_info);
    EXPECT_TRUE(cloud->cluster.insecure);
}

struct Bad {
    std::string text;
    std::string expected;
};

TEST(Kubeconfig, NamesThePlaceOfWhatIsWrong) {
    const std::vector<Bad> cases{
        {"clusters: 3\n", "k:1:11: clusters is a number or a truth value, expected a list"},
        {"clusters:\n- name: a\n  cluster:\n    server: [x]\n", "k:4:13: server is a list"},
        {"clusters:\n- cluster: {}\n", "k:2:3: an entry of clusters has no name"},
        {"kind: Pod\n", "k:1:7: kind is another one, expected Config"},
        {"clusters:\n- name: a\n  cluster: {certificate-authority-data: '%%'}\n",
         "k:3:41: certificate-authority-data is not base64"},
        {"users:\n- name: a\n  user:\n    exec: {command: x, apiVersion: v7}\n",
         "k:4:11: exec has another apiVersion, expected client"},
        {"- a\n", "k:1:1: is a list, expected a kubeconfig"},
        {"a: [\n", "k:"},
        {"clusters:\n- name: a\n  cluster: {insecure-skip-tls-verify: maybe}\n", "expected true"},
    };
    for (const auto& one : cases) {
        const auto config = parse_kubeconfig(one.text, "k");
        ASSERT_FALSE(config) << one.text;
        EXPECT_EQ(config.error().code, ErrorCode::kInvalidInput);
        EXPECT_THAT(config.error().message, HasSubstr(one.expected));
    }
}

std::string with(const std::string& cluster, const std::string& user) {
    return "clusters: [{name: c, cluster: {" + cluster + "}}]\nusers: [{name: u, user: {" + user +
           "}}]\ncontexts: [{name: x, context: {cluster: c, user: u}}]\ncurrent-context: x\n";
}

TEST(Kubeconfig, NeverQuotesTheFile) {
    const std::vector<std::string> texts{
        "tiger",
        "tiger\n  tiger: x\n tiger",
        "users: tiger",
        "users: [tiger]",
        "kind: tiger",
        "users:\n- name: a\n  user: tiger",
        "users:\n- name: a\n  user: {token: [tiger]}",
        "users:\n- name: a\n  user:\n    token: x\n    tiger\n",
        "users:\n- name: a\n  user: {exec: {command: x, apiVersion: tiger}}",
        "users:\n- name: a\n  user: {exec: {command: x, interactiveMode: tiger}}",
        "users:\n- name: a\n  user: {client-key-data: 'tiger%'}",
        "\"tiger",
        "- tiger: *tiger",
        "clusters:\n- name: a\n  cluster: {insecure-skip-tls-verify: tiger}",
        "users: {tiger: tiger}",
        "tiger: !!int tiger",
        "? tiger\n? tiger",
        "a: |tiger\n b"};
    for (const std::string& text : texts) {
        const auto config = parse_kubeconfig(text, "k");
        if (config) continue;
        EXPECT_THAT(config.error().message, testing::Not(HasSubstr("tiger"))) << text;
    }
}

TEST(Kubeconfig, RefusesWhatCannotWork) {
    const std::string good = "server: 'https://h:1'";
    const std::vector<std::pair<std::string, std::string>> cases{
        {with("", ""), "the cluster has no server"},
        {with("server: 'h:1'", ""), "server is not https://HOST:PORT"},
        {with("server: 'https://ada:tiger@h:1'", ""), "server is not https://HOST:PORT"},
        {with(good + ", insecure-skip-tls-verify: true, certificate-authority: a", ""),
         "exclude each other"},
        {with(good + ", proxy-url: 'ftp://x'", ""), "proxy-url"},
        {with(good, "username: a, password: b"), "username and password"},
        {with(good, "auth-provider: {name: gcp}"), "auth-provider 'gcp' was removed"},
        {with(good, "client-certificate: a"), "without client-key"},
        {with(good, "client-key: a"), "without client-certificate"},
        {with(good, "as-groups: [a]"), "need `as`"},
        {with(good, "token: \"a\\nb\""), "line break"},
    };
    for (const auto& [text, expected] : cases) {
        const auto config = parse_kubeconfig(text, "k");
        ASSERT_TRUE(config) << text << config.error().message;
        const auto choice = choose(*config, "");
        ASSERT_FALSE(choice) << text;
        EXPECT_THAT(choice.error().message, HasSubstr(expected));
    }
    const auto config = parse_kubeconfig(kWhole, "k");
    EXPECT_THAT(choose(*config, "no").error().message, HasSubstr("ada@home, broken, cloud"));
    EXPECT_THAT(choose(*config, "broken").error().message, HasSubstr("'nowhere'"));
}

TEST(Kubeconfig, IsMergedSuchThatTheFirstFileWins) {
    const os::TemporaryDirectory directory;
    const os::Root root(directory.path());
    ASSERT_TRUE(root.write_atomically("/a", with("server: 'https://first:1'", "token: one")));
    ASSERT_TRUE(root.write_atomically(
        "/b",
        "clusters: [{name: c, cluster: {server: 'https://second:1'}}, {name: d, cluster: "
        "{server: 'https://third:1'}}]\ncontexts: [{name: y, context: {cluster: d, user: "
        "u}}]\ncurrent-context: y\n"));
    const std::string base = directory.path().string();
    const auto config = read_kubeconfigs({base + "/missing", base + "/a", "", base + "/b"});
    ASSERT_TRUE(config) << config.error().message;
    EXPECT_EQ(choose(*config, "")->cluster.server, "https://first:1");
    EXPECT_EQ(choose(*config, "y")->cluster.server, "https://third:1");
    EXPECT_EQ(choose(*config, "y")->user.token, "one");

    const auto none = read_kubeconfigs({base + "/missing"});
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().code, ErrorCode::kNotFound);
}

TEST(Base64, IsDecodedAsFilesHaveIt) {
    EXPECT_EQ(decode_base64("aGVsbG8="), "hello");
    EXPECT_EQ(decode_base64("aGVs\nbG8="), "hello");
    EXPECT_EQ(decode_base64("aGVsbG8"), "hello");
    EXPECT_EQ(decode_base64(""), "");
    EXPECT_FALSE(decode_base64("a"));
    EXPECT_FALSE(decode_base64("a-b_"));
    EXPECT_FALSE(decode_base64("aG=sbG8="));
}

TEST(Url, HasPartsOrIsRefused) {
    const auto url = parse_url("https://[fe80::1]:6443/prefix/");
    ASSERT_TRUE(url);
    EXPECT_EQ(url->host, "fe80::1");
    EXPECT_EQ(url->port, 6443U);
    EXPECT_EQ(url->text(), "https://[fe80::1]:6443/prefix");
    EXPECT_EQ(parse_url("http://h")->port, 80U);
    EXPECT_TRUE(parse_url("https://127.0.0.2")->is_loopback());
    for (const char* const bad : {"", "h:1", "ftp://h", "https://", "https://a:b", "https://a:0",
                                  "https://a:99999", "https://u@h", "https://::1", "https://h?x"}) {
        EXPECT_FALSE(parse_url(bad)) << bad;
    }
}

}  // namespace
}  // namespace aliquot::kube_client
