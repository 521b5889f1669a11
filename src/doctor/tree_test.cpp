// SPDX-License-Identifier: Apache-2.0
#include "doctor/tree.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "base/json_text.h"
#include "doctor/bundle.h"
#include "doctor/check.h"
#include "doctor/fix.h"
#include "doctor/json.h"
#include "doctor/judge.h"
#include "doctor/redact.h"
#include "doctor/toml.h"
#include "findings/rule.h"

namespace aliquot::doctor {
namespace {

Tree small_tree() {
    Tree tree;
    tree.complete = true;
    tree.taken_s = 1795262400;
    tree.add_text("/proc/modules", "nouveau 1 0 - Live 0x0\n");
    tree.add("/dev/nvidia0", {.kind = Entry::Kind::kDevice});
    tree.add("/dev/kmsg", {.kind = Entry::Kind::kUnreadable, .content = "EACCES"});
    tree.add("/sys/bus/pci/devices/0000:01:00.0/driver",
             {.kind = Entry::Kind::kLink, .content = "../drivers/nouveau"});
    tree.add_text("/sys/firmware/efi/efivars/SecureBoot-x", std::string("\x06\0\0\0\xff", 5));
    tree.add_text("cmd/dmesg.txt", "NVRM: hello\n");
    tree.add_text("k8s/nodes.json", "{\"items\":[]}");
    tree.add_text("/usr/lib/modules/" + std::string(120, 'k') + "/nvidia.ko", "");
    return tree;
}

TEST(Tree, SurvivesTheWayThroughABundle) {
    const auto bytes = to_bundle(small_tree(), "gpu-1");
    ASSERT_TRUE(bytes) << bytes.error().message;
    const auto read = from_bundle(*bytes);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->hosts(), std::vector<std::string>{"gpu-1"});
    const Tree host = read->of_host("gpu-1");
    EXPECT_TRUE(host.complete);
    EXPECT_EQ(host.taken_s, small_tree().taken_s);
    const Tree wanted = small_tree();
    for (const auto& [path, entry] : wanted.entries()) {
        const Entry* const found = host.find(path);
        ASSERT_NE(found, nullptr) << path;
        EXPECT_EQ(found->kind, entry.kind) << path;
        EXPECT_EQ(found->content, entry.content) << path;
    }
}

TEST(Tree, SurvivesTheWayThroughJson) {
    const auto read = facts_from_json(facts_to_json(small_tree()));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->entries(), small_tree().entries());
}

TEST(Tree, OfAnotherNodeIsNotJudgedByThisOnes) {
    Tree tree;
    tree.add_text("host/a/proc/modules", "nouveau");
    EXPECT_TRUE(tree.of_host("b").paths("/proc/*").empty());
    EXPECT_TRUE(tree.of_host("").has("/proc/modules"));
}

TEST(Tree, RefusesWhatIsNoBundle) {
    EXPECT_FALSE(from_bundle("no gzip"));
    EXPECT_FALSE(facts_from_json("{}"));
    EXPECT_FALSE(facts_from_json("{\"entries\":[{}]}"));
    EXPECT_FALSE(from_tar(std::string(512, 'x')));
}

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

TEST(Tree, KnowsThatABundleWasCutShort) {
    Tree tree;
    tree.complete = true;
    std::string text;
    for (unsigned i = 0; i < 5000; ++i) text += std::to_string(i * 2654435761U) + "\n";
    tree.add_text("/proc/modules", text);
    const auto bytes = to_bundle(tree, "gpu-1");
    ASSERT_TRUE(bytes) << bytes.error().message;
    const auto whole = from_bundle(*bytes);
    ASSERT_TRUE(whole) << whole.error().message;
    EXPECT_TRUE(whole->complete && !whole->cut);
    const auto half = from_bundle(bytes->substr(0, bytes->size() / 2));
    ASSERT_TRUE(half) << half.error().message;
    EXPECT_TRUE(half->cut && !half->complete) << "what was cut off is not absent";
}

TEST(Tree, RefusesFactsThatHoldNothingOrAreOfAnotherSchema) {
    EXPECT_FALSE(facts_from_json(R"({"schemaVersion":"1","entries":[]})"));
    EXPECT_FALSE(facts_from_json(R"({"schemaVersion":"9","entries":[{"path":"/a"}]})"));
    EXPECT_FALSE(facts_from_json(R"({"entries":[{"path":1}]})"));
}

TEST(Tree, AHostWithoutANameMayBeAnyNode) {
    Tree tree;
    tree.add_text("host/this-host/proc/modules", "nouveau 1 1 - Live 0x0\n");
    EXPECT_TRUE(tree.of_host("gpu-1").has("/proc/modules"));
    tree.add_text("host/gpu-2/proc/modules", "");
    EXPECT_FALSE(tree.of_host("gpu-1").has("/proc/modules"));
}

TEST(Toml, ReadsWhatContainerRuntimesWrite) {
    const Toml toml = parse_toml(
        "version = 2\nimports = [\n  \"a\", # why\n  'b',\n]\n"
        "[plugins.\"io.containerd.grpc.v1.cri\".containerd]\n  default_runtime_name = \"nvidia\"\n"
        "[[x]]\na.b = {c = 1}\n{{ template \"base\" . }}\nbroken\nlast = true\n");
    EXPECT_EQ(text_at(toml.root, {"version"}), "2");
    EXPECT_EQ(items_at(toml.root, {"imports"}).size(), 2U);
    const Node* const name = dig(
        toml.root, {"plugins", "io.containerd.grpc.v1.cri", "containerd", "default_runtime_name"});
    ASSERT_NE(name, nullptr);
    EXPECT_EQ(name->scalar, "nvidia");
    EXPECT_EQ(name->mark.line, 7U);
    ASSERT_EQ(items_at(toml.root, {"x"}).size(), 1U);
    EXPECT_EQ(text_at(items_at(toml.root, {"x"})[0], {"a", "b", "c"}), "1");
    EXPECT_EQ(text_at(items_at(toml.root, {"x"})[0], {"last"}), "true");
    EXPECT_EQ(toml.problems.size(), 2U);
}

TEST(Toml, StopsAtATableThatNobodyWrote) {
    std::string text;
    for (int i = 0; i < 3'000; ++i) text += "[t" + std::to_string(i) + "]\nk = 1\n";
    const Toml toml = parse_toml(text);
    EXPECT_EQ(toml.root.entries.size(), 2'000U);
    ASSERT_EQ(toml.problems.size(), 1U);
    EXPECT_TRUE(toml.problems[0].message.contains("keys in one table"));
}

TEST(Json, KeepsLinesAndRefusesWhatIsNone) {
    const auto read = parse_json("{\n \"a\": [1, \"\\u00e4\\ud83d\\ude00\",\n null]}");
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(items_at(*read, {"a"})[1].scalar, "\xc3\xa4\xf0\x9f\x98\x80");
    EXPECT_EQ(items_at(*read, {"a"})[2].mark.line, 3U);
    for (const char* const bad : {"", "{", "[1 2]", "{\"a\" 1}", "tru", "\"a", "{\"a\":1}x"}) {
        EXPECT_FALSE(parse_json(bad)) << bad;
    }
    EXPECT_FALSE(parse_json(std::string(1000, '[')));
    EXPECT_EQ(json_quoted("a\"\n\xff"), "\"a\\\"\\n\xef\xbf\xbd\"");
}

TEST(Checks, HaveAnEntryInTheCatalogueAndACaseEach) {
    std::set<std::string> ids;
    for (const Check& check : all_checks()) {
        const std::string id(check.id);
        EXPECT_TRUE(ids.insert(id).second) << id << " stands twice";
        const auto* const rule = findings::find_rule(id);
        EXPECT_TRUE(rule != nullptr && rule->tool == "doctor")
            << id << " is not in api/findings.yaml";
        EXPECT_TRUE(std::filesystem::exists(ALIQUOT_SOURCE_DIR "/src/doctor/cases/" + id + ".case"))
            << id << " has no case";
    }
    for (const findings::Rule& rule : findings::rules()) {
        if (rule.tool != "doctor") continue;
        EXPECT_TRUE(ids.contains(std::string(rule.id))) << rule.id;
    }
}

TEST(Mends, WriteOnlyWhatIsSafeAndShowIt) {
    Tree tree = small_tree();
    tree.add_text("/sys/bus/pci/devices/0000:01:00.0/vendor", "0x10de\n");
    tree.add_text("/sys/bus/pci/devices/0000:01:00.0/class", "0x030200\n");
    const Facts facts = facts_of(tree, {});
    const Report report = judge(facts);
    EXPECT_EQ(report.root_causes, std::vector<std::string>{"DRV003"});
    const auto fixes = safe_fixes(report, facts);
    ASSERT_EQ(fixes.size(), 1U);
    EXPECT_EQ(fixes[0].path, "/etc/modprobe.d/aliquot-nouveau.conf");
    EXPECT_TRUE(show(fixes[0]).contains("+blacklist nouveau\n")) << show(fixes[0]);
}

TEST(Mends, LeaveAFileAloneThatChangedMeanwhile) {
    const auto done = apply({.id = "X", .path = "/etc/hostname", .before = "something else"},
                            os::Root("/nowhere"));
    EXPECT_FALSE(done);
}

}  // namespace
}  // namespace aliquot::doctor
