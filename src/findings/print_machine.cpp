// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>

#include "base/json_value.h"
#include "findings/finding.h"
#include "findings/rule.h"
#include "findings/xml.h"

namespace aliquot::findings {
namespace {

using Json = nlohmann::ordered_json;

/// A path as a URI reference: SARIF wants one.
std::string uri_of(std::string_view file) {
    constexpr std::string_view kPlain =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/";
    constexpr std::string_view kHex = "0123456789ABCDEF";
    while (file.substr(0, 2) == "./") file.remove_prefix(2);
    std::string uri;
    for (const char c : file) {
        if (kPlain.find(c) != std::string_view::npos) {
            uri += c;
            continue;
        }
        const auto byte = static_cast<unsigned char>(c);
        uri += '%';
        uri += kHex[byte >> 4U];
        uri += kHex[byte & 15U];
    }
    return uri;
}

std::string_view level_of(Severity severity) {
    return severity == Severity::kInfo ? "note" : to_text(severity);
}

Json rule_json(std::string_view id) {
    Json json{{"id", id}};
    const Rule* rule = find_rule(id);
    if (rule == nullptr) return json;
    json["shortDescription"] = {{"text", rule->what}};
    json["fullDescription"] = {{"text", rule->why}};
    json["help"] = {{"text", std::string(rule->why) + ' ' + std::string(rule->fix)}};
    json["helpUri"] = std::string(ALIQUOT_DOCS_URL) + std::string(rule->doc);
    json["defaultConfiguration"] = {{"level", level_of(rule->severity)}};
    return json;
}

/// Replacements as SARIF takes them: byte ranges of the file.
Json fix_json(const Finding& finding) {
    Json replacements = Json::array();
    for (const Edit& edit : finding.edits) {
        Json one{{"deletedRegion", {{"byteOffset", edit.offset}, {"byteLength", edit.length}}}};
        if (!edit.replacement.empty()) one["insertedContent"] = {{"text", edit.replacement}};
        replacements.push_back(std::move(one));
    }
    return Json{
        {"description", {{"text", finding.fix}}},
        {"artifactChanges", Json::array({Json{{"artifactLocation", {{"uri", uri_of(finding.file)}}},
                                              {"replacements", std::move(replacements)}}})}};
}

/// Of a command of GitHub Actions: the message, and its properties.
std::string github_escaped(std::string_view text, bool property) {
    std::string result;
    for (const char c : text) {
        if (c == '%') {
            result += "%25";
        } else if (c == '\r') {
            result += "%0D";
        } else if (c == '\n') {
            result += "%0A";
        } else if (property && c == ':') {
            result += "%3A";
        } else if (property && c == ',') {
            result += "%2C";
        } else {
            result += c;
        }
    }
    return result;
}

std::string hexadecimal(std::uint64_t number) {
    constexpr std::string_view kHex = "0123456789abcdef";
    std::string result(16, '0');
    for (std::size_t i = result.size(); i-- > 0; number >>= 4U) result[i] = kHex[number & 15U];
    return result;
}

Json result_json(const Finding& finding, const std::string& print, std::size_t rule) {
    Json region = Json::object();
    if (finding.line != 0) {
        region = {{"startLine", finding.line}, {"startColumn", std::max(finding.column, 1U)}};
    }
    Json physical{{"artifactLocation", {{"uri", uri_of(finding.file)}}}};
    if (!region.empty()) physical["region"] = std::move(region);
    std::string text = finding.message;
    if (!finding.fix.empty()) text += "\n" + finding.fix;
    Json json{{"ruleId", finding.rule},
              {"ruleIndex", rule},
              {"level", level_of(finding.severity)},
              {"message", {{"text", std::move(text)}}},
              {"locations", Json::array({Json{{"physicalLocation", std::move(physical)}}})},
              {"partialFingerprints", {{"aliquot/v1", print}}}};
    if (!finding.edits.empty()) json["fixes"] = Json::array({fix_json(finding)});
    return json;
}

}  // namespace

/// FNV-1a over file, rule, message and the line's words: it outlives a shift of lines.
std::string fingerprint(const Finding& finding, std::string_view source_line) {
    std::uint64_t hash = 14'695'981'039'346'656'037U;
    const auto add = [&hash](std::string_view text) {
        for (const char c : text) {
            if (c == ' ' || c == '\t' || c == '\r') continue;
            hash = (hash ^ static_cast<unsigned char>(c)) * 1'099'511'628'211U;
        }
        hash = (hash ^ 0xffU) * 1'099'511'628'211U;
    };
    add(finding.file);
    add(finding.rule);
    add(source_line.empty() ? std::string_view(finding.message) : source_line);
    return hexadecimal(hash);
}

void print_sarif(std::ostream& out, std::span<const Finding> findings, const SourceLine& source) {
    std::map<std::string, std::size_t> indices;
    Json rules = Json::array();
    Json results = Json::array();
    std::map<std::string, unsigned> seen;
    for (const Finding& finding : findings) {
        const auto [rule, is_new] = indices.emplace(finding.rule, rules.size());
        if (is_new) rules.push_back(rule_json(finding.rule));
        std::string print =
            fingerprint(finding, source ? source(finding.file, finding.line) : std::string_view());
        // Equal lines of one file: told apart by their order.
        print += ':' + std::to_string(++seen[print]);
        results.push_back(result_json(finding, print, rule->second));
    }
    const Json driver{{"name", "aliquot"},
                      {"version", ALIQUOT_VERSION},
                      {"informationUri", ALIQUOT_DOCS_URL},
                      {"rules", std::move(rules)}};
    const Json run{{"tool", {{"driver", driver}}}, {"results", std::move(results)}};
    const Json log{{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
                   {"version", "2.1.0"},
                   {"runs", Json::array({run})}};
    out << dumped(log) << '\n';
}

void print_github(std::ostream& out, std::span<const Finding> findings) {
    for (const Finding& finding : findings) {
        const std::string_view command =
            finding.severity == Severity::kInfo ? "notice" : to_text(finding.severity);
        out << "::" << command << " file=" << github_escaped(finding.file, true);
        if (finding.line != 0) {
            out << ",line=" << finding.line << ",col=" << std::max(finding.column, 1U);
        }
        out << ",title=" << github_escaped(finding.rule, true) << "::";
        out << github_escaped(finding.message, false);
        if (!finding.fix.empty()) out << github_escaped("\n" + finding.fix, false);
        out << '\n';
    }
}

void print_junit(std::ostream& out, std::span<const Finding> findings,
                 std::span<const std::string> files) {
    std::map<std::string, std::vector<const Finding*>> by_file;
    for (const std::string& file : files) by_file[file];
    for (const Finding& finding : findings) by_file[finding.file].push_back(&finding);
    const auto failed = std::count_if(by_file.begin(), by_file.end(), [](const auto& one) {
        return std::any_of(one.second.begin(), one.second.end(), [](const Finding* finding) {
            return finding->severity != Severity::kInfo;
        });
    });
    out << R"(<?xml version="1.0" encoding="UTF-8"?>)"
        << "\n<testsuites>\n";
    out << "  <testsuite name=\"aliquot lint\" tests=\"" << by_file.size() << "\" failures=\""
        << failed << "\">\n";
    for (const auto& [file, found] : by_file) {
        out << "    <testcase classname=\"aliquot.lint\" name=\"" << xml_escaped(file) << '"';
        std::string failure;
        std::string_view type;
        for (const Finding* finding : found) {
            if (finding->severity == Severity::kInfo) continue;
            if (type.empty() || finding->severity == Severity::kError) {
                type = to_text(finding->severity);
            }
            failure += "line " + std::to_string(finding->line) + ": " +
                       std::string(to_text(finding->severity)) + ' ' + finding->rule + ' ' +
                       finding->message + '\n';
        }
        if (failure.empty()) {
            out << "/>\n";
            continue;
        }
        const std::string first = failure.substr(0, failure.find('\n'));
        out << ">\n      <failure type=\"" << type << "\" message=\"" << xml_escaped(first) << "\">"
            << xml_escaped(failure) << "</failure>\n    </testcase>\n";
    }
    out << "  </testsuite>\n</testsuites>\n";
}

Json to_json(const Rule& rule) {
    return {{"id", rule.id},     {"tool", rule.tool}, {"severity", to_text(rule.severity)},
            {"what", rule.what}, {"why", rule.why},   {"fix", rule.fix},
            {"doc", rule.doc}};
}

Json rules_json(std::string_view tool) {
    Json list = Json::array();
    for (const Rule& rule : rules()) {
        if (tool.empty() || rule.tool == tool) list.push_back(to_json(rule));
    }
    return {{"schemaVersion", 1}, {"rules", std::move(list)}};
}

void print_rules_table(std::ostream& out, std::string_view tool) {
    constexpr std::size_t kId = 9;
    constexpr std::size_t kSeverity = 9;
    out << "ID       SEVERITY WHAT\n";
    for (const Rule& rule : rules()) {
        if (!tool.empty() && rule.tool != tool) continue;
        const std::string_view severity = to_text(rule.severity);
        out << rule.id << std::string(kId - std::min(kId, rule.id.size()), ' ') << severity
            << std::string(kSeverity - severity.size(), ' ') << rule.what << '\n';
    }
}

}  // namespace aliquot::findings
