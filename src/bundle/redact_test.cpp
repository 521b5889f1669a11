// SPDX-License-Identifier: Apache-2.0
#include "bundle/redact.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace aliquot::bundle {
namespace {

TEST(Redaction, HidesValuesAndKeepsWhatTellsOfGpus) {
    Tree tree;
    tree.add_text("k8s/pods.json",
                  R"({"items":[{"spec":{"imagePullSecrets":[{"name":"hub"}],"containers":[{"env":[
                  {"name":"DB_PASSWORD","value":"tiger"},{"name":"NVIDIA_VISIBLE_DEVICES","value":"all"}],
                  "args":["--token","abc","--api-key=xyz","--max-tokens=5"]}]}}]})");
    tree.add_text("k8s/secrets.json", R"({"kind":"Secret","data":{"a":"Zm9v"}})");
    tree.add_text("/etc/rancher/k3s/config.yaml", "token: K10abc\nnode-label: a\n");
    tree.add_text("logs/a/b/c.log", "GET https://me:pass@host/x Authorization: Bearer eyJabc\n");
    const Tree safe = redacted(tree);
    const std::string pods = *safe.text("k8s/pods.json");
    EXPECT_FALSE(pods.contains("tiger") || pods.contains("hub") || pods.contains("abc") ||
                 pods.contains("xyz"))
        << pods;
    EXPECT_TRUE(pods.contains("\"all\"") && pods.contains("--max-tokens=5")) << pods;
    EXPECT_FALSE(safe.text("k8s/secrets.json")->contains("Zm9v"));
    EXPECT_EQ(*safe.text("/etc/rancher/k3s/config.yaml"), "token: ***\nnode-label: a\n");
    const std::string log = *safe.text("logs/a/b/c.log");
    EXPECT_FALSE(log.contains("pass") || log.contains("eyJabc")) << log;
}

TEST(Redaction, KnowsSecretsInTheShapesOfRealFiles) {
    const std::vector<std::string> lines{
        "  password = \"tiger x\"",
        "  auth = 'tiger'",
        "identitytoken=tiger",
        "X-Api-Key = [\"tiger\", \"tiger2\"]",
        "{\"token\" : \"tiger\", \"a\": 1}",
        "/usr/bin/kubelet --bootstrap-token tiger --v 2",
        "- {client-key-data: tiger, client-certificate-data: tiger}",
        "certificate-authority-data: tiger",
        "--service-account-key=tiger",
        "rd.luks.key=tiger quiet",
        "one https://a:tiger@h/x two https://b:tiger@h/y",
        "Bearer tiger and Bearer tiger",
        "jwt eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiIxIn0.tiger end",
        "-----BEGIN EC PRIVATE KEY-----\ntiger\n-----END EC PRIVATE KEY-----"};
    for (const std::string& line : lines) {
        EXPECT_FALSE(redacted_text(line).contains("tiger")) << line << "\n" << redacted_text(line);
    }
    // What checks read stays.
    for (const std::string line :
         {"key: nvidia.com/gpu", "topologyKey: kubernetes.io/hostname", "--max-tokens=5",
          "BinaryName = \"/usr/bin/nvidia-container-runtime\"", "secretName: x",
          "NVRM: Xid (PCI:0000:01:00): 79, pid=1", "Loading of module with unavailable key"}) {
        EXPECT_EQ(redacted_text(line), line);
    }
}

TEST(Redaction, HidesFilesThatAreSecretsAndTextsWithZerosInThem) {
    Tree tree;
    tree.add_text("/var/snap/microk8s/current/args/cluster-token", "tiger\n");
    tree.add_text("/etc/kubernetes/kubelet/kubelet.key", "tiger\n");
    tree.add_text("/etc/kubernetes/kubelet/kubeconfig", "a: tiger\n");
    tree.add_text("/var/log/kern.log", std::string("a\0b\ntoken: tiger\n", 17));
    const std::string efi("\6\0\0\0\1", 5);
    tree.add_text("/sys/firmware/efi/efivars/SecureBoot-8be4df61", efi);
    const Tree safe = redacted(tree);
    for (const auto& [path, entry] : safe.entries()) {
        EXPECT_FALSE(entry.content.contains("tiger")) << path << ": " << entry.content;
    }
    EXPECT_EQ(*safe.text("/sys/firmware/efi/efivars/SecureBoot-8be4df61"), efi);
}

}  // namespace
}  // namespace aliquot::bundle
