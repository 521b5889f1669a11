// SPDX-License-Identifier: Apache-2.0
// Secrets are planted in every form that a generator makes of values, names and contexts; none of them
// may be in what is saved. The values are made here and open nothing.
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "bundle/redact.h"

namespace aliquot::bundle {
namespace {

std::string replaced(std::string text, const std::string& mark, const std::string& by) {
    for (auto at = text.find(mark); at != std::string::npos; at = text.find(mark, at + by.size())) {
        text.replace(at, mark.size(), by);
    }
    return text;
}

/// Names of things that are secret, as programs and people write them.
const std::vector<std::string>& names() {
    static const std::vector<std::string> kNames{"password",
                                                 "passwd",
                                                 "pass",
                                                 "pwd",
                                                 "db_pass",
                                                 "DB_PASS",
                                                 "dbPassword",
                                                 "PGPASSWORD",
                                                 "MYSQL_PWD",
                                                 "passphrase",
                                                 "secret",
                                                 "client_secret",
                                                 "clientSecret",
                                                 "SECRET_KEY",
                                                 "aws_secret_access_key",
                                                 "token",
                                                 "access_token",
                                                 "refreshToken",
                                                 "X-Auth-Token",
                                                 "api_key",
                                                 "apiKey",
                                                 "apikey",
                                                 "X-Api-Key",
                                                 "private_key",
                                                 "AccountKey",
                                                 "SharedAccessKey",
                                                 "encryption_key",
                                                 "signing-key",
                                                 "ssh-key",
                                                 "session",
                                                 "session_id",
                                                 "sessionToken",
                                                 "cookie",
                                                 "Set-Cookie",
                                                 "sig",
                                                 "signature",
                                                 "X-Amz-Signature",
                                                 "auth",
                                                 "_auth",
                                                 "authorization",
                                                 "Proxy-Authorization",
                                                 "credentials",
                                                 "cred",
                                                 "jwt",
                                                 "otp",
                                                 "webhook_secret",
                                                 "hmac",
                                                 "salt",
                                                 "dsn",
                                                 "connection_string"};
    return kNames;
}

struct Context {
    const char* name;
    const char* form;    // NAME and VALUE stand for themselves
    bool words = false;  // a value of two words goes there
};

const std::vector<Context>& contexts() {
    static const std::vector<Context> kContexts{
        {"yaml", "NAME: VALUE", true},
        {"yaml, further in", "    - NAME: VALUE", true},
        {"yaml, quoted", "  NAME: \"VALUE\"", true},
        {"yaml, in a flow", "- {user: ada, NAME: VALUE}", false},
        {"ini", "NAME = VALUE", true},
        {"toml", "NAME = \"VALUE\"", true},
        {"environment", "export NAME=VALUE", false},
        {"environment, quoted", "NAME='VALUE' ./run", true},
        {"logfmt", "level=info user=ada NAME=VALUE msg=\"it works\"", false},
        {"json", R"({"user":"ada","NAME":"VALUE","port":80})", true},
        {"json, wide", R"({ "user" : "ada", "NAME" : "VALUE" })", true},
        {"json in json", R"({"msg":"{\"NAME\":\"VALUE\",\"a\":1}"})", true},
        {"python", "{'user': 'ada', 'NAME': 'VALUE'}", true},
        {"flag", "/usr/bin/tool --NAME=VALUE --verbose", false},
        {"flag, apart", "/usr/bin/tool --NAME VALUE --verbose", false},
        {"flag, quoted", "tool --NAME \"VALUE\" -v", true},
        {"header", "> NAME: VALUE", true},
        {"header of curl", "curl -H \"NAME: VALUE\" http://host/path", true},
        {"header of curl, apostrophes", "curl -H 'NAME: VALUE' http://host/path", true},
        {"url", "GET http://host/path?limit=5&NAME=VALUE HTTP/1.1", false},
        {"url, first", "https://host/?NAME=VALUE", false},
        {"journal", "Nov 21 10:00:01 node app[12]: NAME=VALUE", false},
        {"journal, colon", "Nov 21 10:00:01 node app[12]: using NAME: VALUE", true},
        {"xml", "<NAME>VALUE</NAME>", true},
        {"properties", "spring.datasource.NAME=VALUE", false},
        {"arrow", ":NAME => \"VALUE\"", true}};
    return kContexts;
}

const std::vector<std::string>& values() {
    static const std::vector<std::string> kValues{"tigerlily", "Tiger7!x",      "tiger,lily",
                                                  "ti&ger;ly", "9f86tiger0018", "tiger/lily=="};
    return kValues;
}

/// What of the value can still be read: its parts of three letters and more.
bool leaks(const std::string& safe, const std::string& value) {
    std::string part;
    for (const char c : value + " ") {
        if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
            part += c;
            continue;
        }
        if (part.size() >= 3 && safe.contains(part)) return true;
        part.clear();
    }
    return false;
}

TEST(PlantedSecrets, AreFoundByTheirNamesInEveryContext) {
    std::size_t planted = 0;
    std::size_t leaked = 0;
    for (const Context& context : contexts()) {
        for (const std::string& name : names()) {
            auto all = values();
            if (context.words) all.emplace_back("tiger lily pond");
            for (const std::string& value : all) {
                const std::string line =
                    replaced(replaced(context.form, "NAME", name), "VALUE", value);
                ++planted;
                const std::string safe = redacted_text(line);
                if (!leaks(safe, value)) continue;
                if (++leaked <= 40) {
                    ADD_FAILURE() << context.name << ": " << line << "\n  " << safe;
                }
            }
        }
    }
    EXPECT_GE(planted, 500U);
    EXPECT_EQ(leaked, 0U) << "of " << planted;
    RecordProperty("planted", static_cast<int>(planted));
}

/// Forms that no name announces.
TEST(PlantedSecrets, AreFoundByWhatStandsAroundThem) {
    const std::vector<std::string> forms{
        "Authorization: Bearer VALUE",
        "Authorization: Token VALUE",
        "authorization: Basic VALUE",
        "Authorization: Digest username=\"ada\", response=\"VALUE\"",
        "Authorization: AWS4-HMAC-SHA256 Credential=a/b, Signature=VALUE",
        "sent bearer VALUE to the server",
        "Cookie: theme=dark; id=VALUE",
        "Set-Cookie: a=VALUE; Path=/",
        "curl -u admin:VALUE https://host",
        "curl --user admin:VALUE https://host",
        "https://ada:VALUE@host/path",
        "https://ada:pa/VALUE@host/path",
        "postgres://ada:VALUE@db:5432/x",
        "redis://:VALUE@cache:6379/0",
        "mongodb+srv://ada:VALUE@cluster/x?retry=1",
        "ada:VALUE@tcp(db:3306)/x",
        "mysql -uroot -pVALUE db",
        "sshpass -p VALUE ssh node",
        "redis-cli -a VALUE ping",
        "https://host/cb#access_token=VALUE&state=1",
        "https://account.blob.host/c?sv=2024&sig=VALUE",
        "https://host/hook?x=VALUE",
        "AccountName=a;AccountKey=VALUE;EndpointSuffix=b",
        "Server=db;User=a;Password=VALUE;Port=1",
        "passwd: VALUE and more",
        "-----BEGIN OPENSSH PRIVATE KEY-----\nVALUE\n-----END OPENSSH PRIVATE KEY-----",
        "key: -----BEGIN RSA PRIVATE KEY-----\\nVALUE\\n-----END RSA PRIVATE KEY-----",
        "password: |\n  VALUE\n  VALUE\nuser: ada",
        "token:\n  value: VALUE\nuser: ada",
        "passwords:\n- VALUE\n- VALUE\nuser: ada",
        "\"password\": [\"VALUE\", \"VALUE\"]"};
    for (const std::string& form : forms) {
        for (const std::string value : {"tigerlily", "Tiger7x9Qz", "tiger-lily-pond"}) {
            const std::string text = replaced(form, "VALUE", value);
            EXPECT_FALSE(leaks(redacted_text(text), value))
                << text << "\n  " << redacted_text(text);
        }
    }
}

/// Pseudo-random characters; the same in every run.
std::string random_of(const std::string& alphabet, std::size_t size, unsigned seed) {
    std::string made;
    std::uint64_t state = seed * 2654435761U + 12345U;
    while (made.size() < size) {
        state = state * 6364136223846793005ULL + 1442695040888963407ULL;
        made += alphabet[(state >> 33U) % alphabet.size()];
    }
    return made;
}

/// The shapes that published rules of secret scanners know services' keys by. Here is what a key looks
/// like (how it begins, of which characters and how many), each filled by chance.
struct Key {
    const char* front;
    const char* alphabet;
    std::size_t size;
};

constexpr const char* kAll = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
constexpr const char* kCapital = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
constexpr const char* kSmallHex = "0123456789abcdef";
constexpr const char* kBase64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

const std::vector<Key>& keys() {
    static const std::vector<Key> kKeys{{"AKIA", kCapital, 16},
                                        {"ASIA", kCapital, 16},
                                        {"", kBase64, 40},
                                        {"ghp_", kAll, 36},
                                        {"gho_", kAll, 36},
                                        {"ghs_", kAll, 36},
                                        {"github_pat_", kAll, 82},
                                        {"glpat-", kAll, 20},
                                        {"glrt-", kAll, 20},
                                        {"xoxb-", kAll, 40},
                                        {"xoxp-", kAll, 40},
                                        {"xapp-1-", kAll, 40},
                                        {"AIza", kAll, 35},
                                        {"ya29.", kAll, 60},
                                        {"sk_live_", kAll, 24},
                                        {"rk_live_", kAll, 24},
                                        {"sk-proj-", kAll, 48},
                                        {"sk-ant-api03-", kAll, 80},
                                        {"hf_", kAll, 34},
                                        {"nvapi-", kAll, 64},
                                        {"npm_", kAll, 36},
                                        {"pypi-AgEIcHlwaS5vcmc", kAll, 60},
                                        {"dop_v1_", kSmallHex, 64},
                                        {"shpat_", kSmallHex, 32},
                                        {"SG.", kAll, 66},
                                        {"hvs.", kAll, 90},
                                        {"dckr_pat_", kAll, 27},
                                        {"whsec_", kAll, 32},
                                        {"AGE-SECRET-KEY-1", kCapital, 58},
                                        {"LTAI", kAll, 20},
                                        {"PMAK-", kSmallHex, 24},
                                        {"eyJhbGciOiJSUzI1NiJ9.eyJ", kAll, 60},
                                        {"", kSmallHex, 40},
                                        {"", kSmallHex, 64},
                                        {"", kAll, 24},
                                        {"", kAll, 32},
                                        {"", kAll, 48},
                                        {"key-", kSmallHex, 32}};
    return kKeys;
}

TEST(PlantedSecrets, AreFoundByHowKeysOfServicesLook) {
    const std::vector<std::string> contexts{"starting with VALUE",
                                            "Nov 21 10:00:01 node app[12]: got VALUE from cache",
                                            "\"VALUE\"",
                                            "a(VALUE)",
                                            "https://hooks.host/services/VALUE",
                                            "x=VALUE y=1",
                                            "{\"x\":\"VALUE\"}",
                                            "error: 'VALUE' refused",
                                            "X_Y=VALUE",
                                            "--thing=VALUE"};
    std::size_t planted = 0;
    std::size_t leaked = 0;
    unsigned seed = 1;
    for (const Key& key : keys()) {
        for (const std::string& context : contexts) {
            const std::string value = key.front + random_of(key.alphabet, key.size, seed++);
            const std::string text = replaced(context, "VALUE", value);
            const std::string safe = redacted_text(text);
            ++planted;
            // A few letters between two slashes of a base64 may stay; no eight in a row do.
            bool leaks = false;
            for (std::size_t i = 0; i + 8 <= value.size(); ++i) {
                leaks = leaks || safe.contains(value.substr(i, 8));
            }
            if (leaks && ++leaked <= 40) ADD_FAILURE() << text << "\n  " << safe;
        }
    }
    EXPECT_GE(planted, 300U);
    // Of what is made by chance a little looks like a word by chance.
    EXPECT_EQ(leaked, 0U) << "of " << planted;
}

TEST(PlantedSecrets, AreFoundInObjectsWhateverTheyAreCalled) {
    const std::vector<std::string> objects{
        R"({"env":[{"name":"CUDA_TOKEN","value":"tiger"}]})",
        R"({"env":[{"name":"DEVICE_PASSWORD","value":"tiger"}]})",
        R"({"env":[{"name":"NVIDIA_API_KEY","value":"tiger"}]})",
        R"({"env":[{"name":"ALIQUOT_TOKEN","value":"tiger"}]})",
        R"({"env":[{"name":"NVIDIA_DRIVER_CAPABILITIES","value":"tiger7Pond2"}]})",
        R"({"env":[{"name":"COLOUR","value":"tiger"}]})",
        R"({"env":[{"name":"HOST","value":"tiger"}]})",
        R"({"livenessProbe":{"httpGet":{"httpHeaders":[{"name":"X-Api-Key","value":"tiger"}]}}})",
        R"({"livenessProbe":{"httpGet":{"httpHeaders":[{"name":"X-Anything","value":"tiger"}]}}})",
        R"({"httpHeaders":[{"name":"Authorization","value":"tiger"}]})",
        R"({"metadata":{"annotations":{"example.com/note":"tiger"}}})",
        R"({"metadata":{"annotations":{"token":"tiger"}}})",
        R"({"metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"tiger"}}})",
        R"({"kind":"ConfigMap","metadata":{"name":"gpu-x"},"data":{"a":"db_pass: tiger\nb: 1\n"}})",
        R"({"kind":"ConfigMap","metadata":{"name":"gpu-x"},"data":{"db_pass":"tiger"}})",
        R"({"kind":"ConfigMap","metadata":{"name":"web"},"data":{"colour":"tiger"}})",
        R"({"kind":"Secret","stringData":{"colour":"tiger"}})",
        R"({"command":["mysql","-u","root","--db-pass","tiger"]})",
        R"({"command":["curl","-u","admin:tiger","http://host"]})",
        R"({"command":["sh","-c","curl -H 'X-Api-Key: tiger' http://host"]})",
        R"({"args":["--password=tiger,lily&tiger"]})",
        R"({"args":["--token","tiger"]})",
        R"({"credentials":{"user":"ada","value":"tiger"}})",
        R"({"spec":{"parameters":[{"name":"clientSecret","value":"tiger"}]}})",
        R"({"message":"pull of https://ada:tiger@host failed"})"};
    for (const std::string& object : objects) {
        Tree tree;
        tree.add_text("k8s/pods.json", R"({"items":[)" + object + "]}");
        const std::string safe = *redacted(tree).text("k8s/pods.json");
        EXPECT_FALSE(safe.contains("tiger")) << object << "\n  " << safe;
    }
}

TEST(PlantedSecrets, LinesThatHoldNoneStayAsTheyAre) {
    for (const std::string line :
         {"Nov 21 10:00:01 gpu-node-1 kernel: NVRM: Xid (PCI:0000:01:00): 79, pid=4711, "
          "name=python3",
          "I1121 10:00:01.123456    1234 server.go:165] Starting FS watcher.",
          "Loading NVML library libnvidia-ml.so.1 version 580.65.06",
          "time=\"2026-11-21T10:00:01.000000001Z\" level=info msg=\"loading plugin\" "
          "id=io.containerd.grpc.v1.cri",
          "GPU-8a6b3c1d-0000-4000-8000-000000000000 is healthy",
          "pod default/cuda-vector-add-7d9f8c6b54-x2k4q: Allocate of nvidia.com/gpu failed",
          "image nvcr.io/nvidia/k8s-device-plugin:v0.17.1@sha256:"
          "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
          "containerID: "
          "containerd://9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
          "BOOT_IMAGE=/vmlinuz-5.15.0-100-generic root=UUID=8a6b3c1d-0000-4000-8000-000000000000 "
          "ro quiet",
          "NVIDIA-A100-SXM4-80GB, 81920 MiB, 0x20B210DE", "a kernel at 0xffffffff81000000",
          "default_runtime_name = \"nvidia\"", "--mig-strategy=single --pass-device-specs=true",
          "driver version 550.54.15-0ubuntu1~22.04.1", "SystemdCgroup = true",
          "github.com/NVIDIA/k8s-device-plugin/internal/plugin.(*NvidiaDevicePlugin).Start"}) {
        EXPECT_EQ(redacted_text(line), line);
    }
}

}  // namespace
}  // namespace aliquot::bundle
