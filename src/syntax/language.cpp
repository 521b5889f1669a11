// SPDX-License-Identifier: Apache-2.0
#include "syntax/language.h"

#include <algorithm>
#include <array>

#include "syntax/prose_line.h"
#include "syntax/shell_line.h"
#include "syntax/unit_file.h"
#include "syntax/words.h"
#include "syntax/yaml_text.h"

namespace aliquot::syntax {
namespace {

struct Named {
    std::string_view word;
    Language language;
};

constexpr std::array<Named, 46> kNames{{{"yaml", Language::kYaml},
                                        {"yml", Language::kYaml},
                                        {"json", Language::kJson},
                                        {"jsonc", Language::kJson},
                                        {"json5", Language::kJson},
                                        {"bash", Language::kShell},
                                        {"sh", Language::kShell},
                                        {"shell", Language::kShell},
                                        {"zsh", Language::kShell},
                                        {"console", Language::kShell},
                                        {"shell-session", Language::kShell},
                                        {"shellsession", Language::kShell},
                                        {"sh-session", Language::kShell},
                                        {"terminal", Language::kShell},
                                        {"powershell", Language::kShell},
                                        {"cmd", Language::kShell},
                                        {"commandline", Language::kShell},
                                        {"shellscript", Language::kShell},
                                        {"command", Language::kShell},
                                        {"output", Language::kOutput},
                                        {"log", Language::kOutput},
                                        {"dockerfile", Language::kDockerfile},
                                        {"docker", Language::kDockerfile},
                                        {"containerfile", Language::kDockerfile},
                                        {"promql", Language::kPromql},
                                        {"prometheus", Language::kPromql},
                                        {"metricsql", Language::kPromql},
                                        {"python", Language::kPython},
                                        {"py", Language::kPython},
                                        {"python3", Language::kPython},
                                        {"hcl", Language::kHcl},
                                        {"terraform", Language::kHcl},
                                        {"tf", Language::kHcl},
                                        {"toml", Language::kToml},
                                        {"ini", Language::kText},
                                        {"go", Language::kText},
                                        {"golang", Language::kText},
                                        {"c", Language::kText},
                                        {"cpp", Language::kText},
                                        {"c++", Language::kText},
                                        {"java", Language::kText},
                                        {"javascript", Language::kText},
                                        {"typescript", Language::kText},
                                        {"diff", Language::kText},
                                        {"mermaid", Language::kText},
                                        {"rust", Language::kText}}};

/// The first line that is neither blank nor a comment.
std::string_view first_line(std::string_view text) {
    while (!text.empty()) {
        const auto newline = std::min(text.find('\n'), text.size());
        const std::string_view line = trim(text.substr(0, newline));
        text.remove_prefix(std::min(newline + 1, text.size()));
        if (!line.empty() && line.front() != '#' && !line.starts_with("//")) return line;
    }
    return {};
}

/// VERSION="580.65", distribution=$(...)
bool is_setting(std::string_view line) {
    const auto equals = line.find('=');
    if (equals == std::string_view::npos || equals == 0 || equals + 1 == line.size()) return false;
    const std::string_view name = line.substr(0, equals);
    if (line.substr(equals + 1, 2) == "$(" &&
        name.find_first_of(" \t:\"'") == std::string_view::npos) {
        return true;
    }
    const bool named = std::all_of(name.begin(), name.end(), [](char c) {
        return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    });
    const char next = line[equals + 1];
    return named && (name.front() < '0' || name.front() > '9') && next != ' ' && next != '=';
}

/// The first line that is no setting of a variable, where `text` begins with such.
std::string_view first_after_settings(std::string_view text) {
    for (;;) {
        const std::string_view line = first_line(text);
        if (line.empty() || !is_setting(line)) return line;
        text.remove_prefix(static_cast<std::size_t>(line.data() - text.data()) + line.size());
    }
}

bool looks_like_dockerfile(std::string_view text) {
    const std::string_view first = first_line(text);
    const std::string keyword = lower(first.substr(0, first.find_first_of(" \t")));
    if (keyword == "from") return first.size() > 5 && !contains(first, " import ");
    return keyword == "arg" && contains(text, "\nfrom ");
}

/// A whole Dockerfile, whatever its name: instructions follow, and no fence is around them.
bool is_whole_dockerfile(std::string_view text) {
    if (!looks_like_dockerfile(text) || text.find("```") != std::string_view::npos) return false;
    for (const std::string_view instruction : {"\nRUN ", "\nCOPY ", "\nCMD ", "\nENTRYPOINT "}) {
        if (text.find(instruction) != std::string_view::npos) return true;
    }
    return false;
}

bool looks_like_promql(std::string_view text) {
    const std::string_view line = first_line(text);
    constexpr std::array<std::string_view, 12> kBegins{"DCGM_",
                                                       "nvidia_gpu_",
                                                       "nvidia_smi_",
                                                       "sum(",
                                                       "sum by",
                                                       "avg(",
                                                       "avg by",
                                                       "rate(",
                                                       "max(",
                                                       "max by",
                                                       "histogram_quantile(",
                                                       "avg_over_time("};
    return std::any_of(kBegins.begin(), kBegins.end(),
                       [line](std::string_view begin) { return line.starts_with(begin); });
}

bool looks_like_python(std::string_view line) {
    return line.starts_with("import ") || line.starts_with("def ") || line.starts_with("class ") ||
           (line.starts_with("from ") && line.find(" import ") != std::string_view::npos);
}

bool looks_like_json(std::string_view line) {
    if (line == "{" || line == "[") return true;
    return line.starts_with("{\"") || line.starts_with("{ \"") || line.starts_with("[{");
}

/// Output of kubectl, nvidia-smi, dmesg.
bool looks_like_output(std::string_view text) {
    const std::string_view line = first_line(text);
    return line.starts_with("+--") || line.starts_with("|==") || line.starts_with("NAME ") ||
           line.starts_with("NAMESPACE ") || line.starts_with("Name: ") ||
           line.starts_with("Events:");
}

/// A program that is not known stands in the first line; commands that nothing else looks like
/// follow: "zypper ar ...", then "sudo docker run ...".
bool holds_commands(std::string_view text) {
    constexpr std::size_t kMostLines = 60;
    const std::string_view begin = first_line(text);
    if (begin.front() == '{' || begin.front() == '[' || begin.front() == '<' ||
        begin.front() == '|' || begin.front() == '-' ||
        begin.find(" {") != std::string_view::npos) {
        return false;
    }
    std::size_t number = 0;
    for (const std::string_view line : split(text, '\n')) {
        if (++number > kMostLines) return false;
        std::string_view words = trim(line);
        for (const std::string_view joint : {"&& ", "| "}) {
            if (words.starts_with(joint)) words = trim(words.substr(joint.size()));
        }
        if (words.empty() || words.back() == '.') continue;
        if (words.starts_with("sudo ") && words.find(' ', 5) != std::string_view::npos &&
            looks_like_command(words.substr(5))) {
            return true;
        }
        if (is_surely_command(words)) return true;
    }
    return false;
}

bool begins_object(std::string_view line) {
    return line.starts_with("apiVersion:") || line.starts_with("kind:") || line == "---" ||
           line == "resources:" || line == "spec:" || line == "env:" || line == "sharing:" ||
           line == "nodeSelector:" || line == "tolerations:" || line == "version: v1";
}

}  // namespace

DeclaredLanguage language_of_word(std::string_view word) {
    for (const Named& one : kNames) {
        if (one.word == word) return {true, one.language};
    }
    return {};
}

Language sniff(std::string_view text) {
    if (text.starts_with("#!")) {
        return text.substr(0, text.find('\n')).find("python") == std::string_view::npos
                   ? Language::kShell
                   : Language::kPython;
    }
    const std::string_view first = first_line(text);
    if (first.empty()) return Language::kText;
    if (has_prompts(text)) return Language::kShell;
    if (looks_like_dockerfile(text)) return Language::kDockerfile;
    if (looks_like_promql(text)) return Language::kPromql;
    if (looks_like_python(first)) return Language::kPython;
    if (looks_like_json(first)) return Language::kJson;
    if (looks_like_output(text)) return Language::kOutput;
    if (looks_like_command(first_after_settings(text))) return Language::kShell;
    if (looks_like_yaml(text)) return Language::kYaml;
    return holds_commands(text) ? Language::kShell : Language::kText;
}

Language language_of(std::string_view word, std::string_view text) {
    const DeclaredLanguage declared = language_of_word(word);
    if (!declared.known) return sniff(text);
    const std::string_view first = first_line(text);
    if (declared.language == Language::kYaml) {
        const bool commands = looks_like_command(first) || has_prompts(first);
        return commands && !contains(first, ": ") ? Language::kShell : Language::kYaml;
    }
    if (declared.language == Language::kShell) {
        if (begins_object(first) && looks_like_yaml(text)) return Language::kYaml;
        if (looks_like_dockerfile(text) && text.find("\nRUN ") != std::string_view::npos) {
            return Language::kDockerfile;
        }
        const bool json = looks_like_json(first) && first_line(text) == first;
        return json ? Language::kJson : Language::kShell;
    }
    if (word == "docker" && !looks_like_dockerfile(text)) return sniff(text);
    if (declared.language == Language::kPromql && looks_like_yaml(text) &&
        (first.starts_with("groups:") || first.starts_with("- ") || first.starts_with("scrape"))) {
        return Language::kYaml;
    }
    return declared.language;
}

DeclaredLanguage language_of_value(std::string_view key, std::string_view text) {
    const std::string name = lower(key);
    const auto dot = name.rfind('.');
    if (dot != std::string::npos) {
        const DeclaredLanguage declared = language_of_word(std::string_view(name).substr(dot + 1));
        if (declared.known && declared.language != Language::kText) return declared;
    }
    if (name == "dockerfile") return {true, Language::kDockerfile};
    const std::string_view first = first_line(text);
    if (looks_like_json(first)) return {true, Language::kJson};
    if (text.starts_with("#!")) return {true, sniff(text)};
    constexpr std::array<std::string_view, 8> kScripts{
        "run", "script", "command", "args", "before_script", "prestop", "entrypoint", "shell"};
    const bool script = std::find(kScripts.begin(), kScripts.end(), name) != kScripts.end();
    if (looks_like_python(first)) return {true, Language::kPython};
    if (script) return {true, Language::kShell};
    if (name == "expr" || name == "query" || name == "description" || name == "summary" ||
        name == "message" || name == "title") {
        return {};
    }
    if (name == "patch" && first.starts_with("- op:")) return {true, Language::kYaml};
    if (looks_like_yaml(text) && !first.empty()) {
        const auto colon = first.find(':');
        if (colon != std::string_view::npos && first.find(' ') > colon)
            return {true, Language::kYaml};
    }
    return {};
}

FileKind kind_of(std::string_view name, std::string_view text) {
    const std::string base = lower(name.substr(name.rfind('/') + 1));
    const auto has_end = [&base](std::string_view end) { return base.ends_with(end); };
    if (base.starts_with("dockerfile") || base.starts_with("containerfile") ||
        has_end(".dockerfile") || has_end(".containerfile")) {
        return has_end(".md") ? FileKind::kMarkdown : FileKind::kDockerfile;
    }
    struct Ending {
        std::string_view end;
        FileKind kind;
    };
    constexpr std::array<Ending, 31> kEndings{
        {{".yaml", FileKind::kYaml},         {".yml", FileKind::kYaml},
         {".tpl", FileKind::kYaml},          {".yaml.gotmpl", FileKind::kYaml},
         {".yaml.tmpl", FileKind::kYaml},    {".yaml.j2", FileKind::kYaml},
         {".yml.j2", FileKind::kYaml},       {".yaml.template", FileKind::kYaml},
         {".rules", FileKind::kYaml},        {".json", FileKind::kJson},
         {".md", FileKind::kMarkdown},       {".markdown", FileKind::kMarkdown},
         {".mdx", FileKind::kMarkdown},      {".mkd", FileKind::kMarkdown},
         {".qmd", FileKind::kMarkdown},      {".adoc", FileKind::kAsciidoc},
         {".asciidoc", FileKind::kAsciidoc}, {".rst", FileKind::kRst},
         {".sh", FileKind::kShell},          {".bash", FileKind::kShell},
         {".sbatch", FileKind::kShell},      {".slurm", FileKind::kShell},
         {".py", FileKind::kPython},         {".tf", FileKind::kHcl},
         {".hcl", FileKind::kHcl},           {".promql", FileKind::kPromql},
         {".asc", FileKind::kAsciidoc},      {".rest", FileKind::kRst},
         {".ps1", FileKind::kShell},         {".toml", FileKind::kToml},
         {".service", FileKind::kUnit}}};
    for (const Ending& one : kEndings) {
        if (has_end(one.end)) return one.kind;
    }
    const bool plain = has_end(".txt") || has_end(".text") || base.find('.') == std::string::npos ||
                       base == "<stdin>";
    if (!plain) return FileKind::kOther;
    if (is_whole_dockerfile(text)) return FileKind::kDockerfile;
    if (is_whole_yaml(text)) return FileKind::kYaml;
    if (looks_like_unit(text)) return FileKind::kUnit;
    if (text.find("\n```") != std::string_view::npos || text.starts_with("```") ||
        text.starts_with("# ") || text.find("\n## ") != std::string_view::npos) {
        if (!text.starts_with("#!") && !begins_object(first_line(text))) return FileKind::kMarkdown;
    }
    switch (sniff(text)) {
        case Language::kYaml:
            return begins_object(first_line(text)) || base == "<stdin>" ? FileKind::kYaml
                                                                        : FileKind::kText;
        case Language::kJson:
            return FileKind::kJson;
        case Language::kDockerfile:
            return FileKind::kDockerfile;
        case Language::kPython:
            return FileKind::kPython;
        case Language::kShell:
            return text.starts_with("#!") ? FileKind::kShell : FileKind::kText;
        default:
            return FileKind::kText;
    }
}

}  // namespace aliquot::syntax
