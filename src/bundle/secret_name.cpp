// SPDX-License-Identifier: Apache-2.0
#include "bundle/secret_name.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/text.h"

namespace aliquot::bundle {
namespace {

template <std::size_t N>
bool is_one_of(const std::array<std::string_view, N>& list, std::string_view word) {
    return std::find(list.begin(), list.end(), word) != list.end();
}

bool is_capital(char c) { return c >= 'A' && c <= 'Z'; }
bool is_small(char c) { return c >= 'a' && c <= 'z'; }
bool is_numeral(char c) { return c >= '0' && c <= '9'; }

/// "dbPass", "DB_PASS" and "db-pass" are "db" and "pass".
std::vector<std::string> words_in(std::string_view name) {
    std::vector<std::string> words;
    std::string word;
    const auto end = [&] {
        if (!word.empty()) words.push_back(std::move(word));
        word.clear();
    };
    for (std::size_t i = 0; i < name.size(); ++i) {
        const char c = name[i];
        if (!is_capital(c) && !is_small(c) && !is_numeral(c)) {
            end();
            continue;
        }
        const bool begins =
            is_capital(c) && i > 0 &&
            (is_small(name[i - 1]) || is_numeral(name[i - 1]) ||
             (is_capital(name[i - 1]) && i + 1 < name.size() && is_small(name[i + 1])));
        if (begins) end();
        word += is_capital(c) ? static_cast<char>(c - 'A' + 'a') : c;
    }
    end();
    return words;
}

bool is_secret_word(std::string_view word) {
    constexpr std::array<std::string_view, 32> kWords{
        "pass",  "passwd",    "pwd",    "psw",       "pw",     "passcode", "pin",     "secret",
        "token", "auth",      "creds",  "cred",      "cookie", "cookies",  "session", "sid",
        "sig",   "signature", "sas",    "jwt",       "otp",    "salt",     "dsn",     "bearer",
        "hmac",  "pat",       "apikey", "accesskey", "totp",   "nonce",    "seed",    "license"};
    constexpr std::array<std::string_view, 16> kParts{
        "password",      "passwd",     "passphrase",    "secret",          "apikey",    "accesskey",
        "privatekey",    "encryption", "authorization", "credential",      "signature", "sessionid",
        "identitytoken", "authtoken",  "accesstoken",   "connectionstring"};
    if (is_one_of(kWords, word)) return true;
    if (word.starts_with("token") && word != "tokens" && !word.starts_with("tokeni")) return true;
    constexpr std::array<std::string_view, 6> kEnds{"pwd",   "passwd", "token",
                                                    "_auth", "pass",   "auth"};
    constexpr std::array<std::string_view, 5> kOthers{"bypass", "compass", "overpass", "trespass",
                                                      "underpass"};
    if (!is_one_of(kOthers, word) &&
        std::any_of(kEnds.begin(), kEnds.end(),
                    [&](std::string_view end) { return word.ends_with(end); })) {
        return true;
    }
    return std::any_of(kParts.begin(), kParts.end(),
                       [&](std::string_view part) { return word.contains(part); });
}

/// Keys of other things than locks.
bool opens_nothing(std::string_view word) {
    constexpr std::array<std::string_view, 18> kWords{
        "topology", "label",   "taint",       "node",  "metric", "cache",
        "sort",     "primary", "group",       "map",   "index",  "config",
        "property", "public",  "unavailable", "event", "field",  "hot"};
    return is_one_of(kWords, word);
}

bool names_a_key(const std::vector<std::string>& words) {
    for (std::size_t i = 0; i < words.size(); ++i) {
        const std::string& word = words[i];
        const bool alone = word == "key" || word == "keys";
        if (!alone && !(word.ends_with("key") && word.size() > 5)) continue;
        if (alone && i == 0) {  // "key-data"; a plain "key" is that of a label
            constexpr std::array<std::string_view, 6> kOf{"data",     "base64",  "pem",
                                                          "material", "content", "value"};
            if (words.size() > 1 && is_one_of(kOf, words[1])) return true;
            continue;
        }
        if (alone && opens_nothing(words[i - 1])) continue;
        if (word == "monkey" || word == "hotkey" || word == "pubkey") continue;
        return true;
    }
    return false;
}

/// What a secret's word stands beside when its value is none.
bool is_about_a_secret(const std::vector<std::string>& words) {
    constexpr std::array<std::string_view, 34> kLast{
        "file",  "path",       "dir",     "directory", "mode",    "ttl",    "seconds",
        "name",  "enabled",    "enable",  "ref",       "policy",  "count",  "size",
        "limit", "timeout",    "webhook", "go",        "service", "socket", "sock",
        "conf",  "yaml",       "json",    "toml",      "so",      "ko",     "manager",
        "specs", "expiration", "days",    "required",  "status",  "state"};
    constexpr std::array<std::string_view, 3> kFirst{"max", "min", "num"};
    if (words.size() < 2) return false;
    return is_one_of(kLast, words.back()) || is_one_of(kFirst, words.front());
}

}  // namespace

bool is_secret_name(std::string_view name) {
    const auto words = words_in(name);
    if (words.empty() || is_about_a_secret(words)) return false;
    if (lower(name).contains("certificate-authority-data") || lower(name) == "certificate-data" ||
        lower(name) == "client-certificate-data") {
        return true;
    }
    if (names_a_key(words)) return true;
    if (std::any_of(words.begin(), words.end(), is_secret_word)) return true;
    // "connection_string", "access_token" are found by their words; "api key" is not.
    std::string all;
    for (const std::string& word : words) all += word;
    return all.contains("connectionstring") || all.contains("connstr") || all.contains("apikey");
}

bool tells_of_gpus(std::string_view variable) {
    constexpr std::array<std::string_view, 14> kPrefixes{
        "NVIDIA_", "CUDA_",   "DP_",         "MIG_",    "NCCL_", "TORCH_CUDA", "PASS_DEVICE",
        "DEVICE_", "FAIL_ON", "CONFIG_FILE", "OMP_NUM", "MPS_",  "DCGM_",      "ALIQUOT_"};
    return variable == "LD_LIBRARY_PATH" || variable == "NODE_NAME" || variable == "PATH" ||
           std::any_of(kPrefixes.begin(), kPrefixes.end(),
                       [&](std::string_view prefix) { return variable.starts_with(prefix); });
}

bool is_harmless_header(std::string_view name) {
    constexpr std::array<std::string_view, 9> kNames{
        "accept",     "accept-encoding", "content-type",  "content-length", "host",
        "user-agent", "connection",      "cache-control", "accept-language"};
    return is_one_of(kNames, lower(name));
}

bool is_harmless_parameter(std::string_view name) {
    constexpr std::array<std::string_view, 20> kNames{"timeout",
                                                      "timeoutseconds",
                                                      "limit",
                                                      "watch",
                                                      "resourceversion",
                                                      "resourceversionmatch",
                                                      "labelselector",
                                                      "fieldselector",
                                                      "allowwatchbookmarks",
                                                      "sendinitialevents",
                                                      "pretty",
                                                      "fieldmanager",
                                                      "dryrun",
                                                      "force",
                                                      "follow",
                                                      "taillines",
                                                      "verbose",
                                                      "format",
                                                      "container",
                                                      "version"};
    return is_one_of(kNames, lower(name));
}

}  // namespace aliquot::bundle
