// SPDX-License-Identifier: Apache-2.0
#include "syntax/shell_line.h"

#include <algorithm>
#include <array>

#include "syntax/words.h"

namespace aliquot::syntax {
namespace {

template <std::size_t N>
bool is_one_of(std::string_view word, const std::array<std::string_view, N>& words) {
    return std::find(words.begin(), words.end(), word) != words.end();
}

constexpr std::array<std::string_view, 14> kShellKeywords{
    "if", "then", "else", "elif", "fi", "do", "done", "while", "until", "!", "{", "}", "&&", "||"};

constexpr std::array<std::string_view, 69> kPrograms{"kubectl",
                                                     "zypper",
                                                     "dpkg",
                                                     "rpm",
                                                     "add-apt-repository",
                                                     "apt-key",
                                                     "ubuntu-drivers",
                                                     "pacman",
                                                     "helm",
                                                     "docker",
                                                     "nvidia-smi",
                                                     "nvidia-ctk",
                                                     "microk8s",
                                                     "sudo",
                                                     "apt",
                                                     "apt-get",
                                                     "dnf",
                                                     "yum",
                                                     "curl",
                                                     "wget",
                                                     "systemctl",
                                                     "oc",
                                                     "k3s",
                                                     "eksctl",
                                                     "gcloud",
                                                     "aws",
                                                     "az",
                                                     "terraform",
                                                     "podman",
                                                     "ctr",
                                                     "crictl",
                                                     "nerdctl",
                                                     "export",
                                                     "cat",
                                                     "echo",
                                                     "git",
                                                     "python",
                                                     "python3",
                                                     "pip",
                                                     "pip3",
                                                     "nvcc",
                                                     "dcgmi",
                                                     "minikube",
                                                     "kind",
                                                     "k0s",
                                                     "kubeadm",
                                                     "sed",
                                                     "tee",
                                                     "mkdir",
                                                     "cd",
                                                     "watch",
                                                     "modprobe",
                                                     "lsmod",
                                                     "lspci",
                                                     "dmesg",
                                                     "journalctl",
                                                     "nvidia-cuda-mps-control",
                                                     "nvidia-container-cli",
                                                     "grep",
                                                     "chmod",
                                                     "cp",
                                                     "mv",
                                                     "kustomize",
                                                     "make",
                                                     "ssh",
                                                     "ls",
                                                     "rke2",
                                                     "snap",
                                                     "nvidia-smi.exe"};

bool is_assignment(std::string_view word) {
    const auto equals = word.find('=');
    if (equals == 0 || equals == std::string_view::npos) return false;
    return word.substr(0, equals).find_first_not_of(
               "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") ==
           std::string_view::npos;
}

std::string_view without_directory(std::string_view program) {
    return program.substr(program.rfind('/') + 1);  // npos + 1 is 0
}

std::string text_at(const std::vector<Word>& words, std::size_t index) {
    return index < words.size() ? words[index].text : std::string();
}

/// How many words from `at` on are a wrapper around the real command; 0: none.
std::size_t wrapper_length(const std::vector<Word>& words, std::size_t at) {
    const std::string program(without_directory(words[at].text));
    const std::string next = text_at(words, at + 1);
    const auto flags_from = [&words](std::size_t from, std::string_view with_value) {
        while (from < words.size() && words[from].text.starts_with("-")) {
            const std::string_view flag = words[from].text;
            ++from;
            if (flag.size() == 2 && with_value.find(flag[1]) != std::string_view::npos) ++from;
        }
        return from;
    };
    if (program == "sudo") return flags_from(at + 1, "ugpCh") - at;
    if (program == "watch") return flags_from(at + 1, "n") - at;
    if (program == "time" || program == "nohup" || program == "exec" || program == "command" ||
        program == "builtin") {
        return flags_from(at + 1, "") - at;
    }
    if (program == "timeout") return std::min(flags_from(at + 1, "sk") + 1, words.size()) - at;
    if (program == "xargs") return flags_from(at + 1, "InLPds") - at;
    if (program == "env") {
        std::size_t end = flags_from(at + 1, "u");
        while (end < words.size() && is_assignment(words[end].text)) ++end;
        return end - at;
    }
    if (program == "microk8s" || program == "k3s" || program == "k0s" || program == "rke2") {
        const bool inner = next == "kubectl" || next == "helm" || next == "helm3" || next == "ctr";
        return inner ? 1 : 0;
    }
    if (program == "minikube" && next == "kubectl") return text_at(words, at + 2) == "--" ? 2 : 1;
    return 0;
}

/// "kubectl" of "microk8s.kubectl", "k", "oc", "helm3".
std::string known_program(std::string_view word) {
    std::string program(without_directory(word));
    constexpr std::string_view kSnap = "microk8s.";
    if (program.starts_with(kSnap)) program.erase(0, kSnap.size());
    if (program == "k" || program == "oc") return "kubectl";
    if (program == "helm3") return "helm";
    return program;
}

}  // namespace

std::size_t console_prompt_length(std::string_view line) {
    const std::size_t first = line.find_first_not_of(" \t");
    if (first == std::string_view::npos) return 0;
    const std::string_view rest = line.substr(first);
    if (rest.starts_with("# ") && looks_like_command(rest.substr(2))) return first + 2;
    return prompt_length(line);
}

std::size_t prompt_length(std::string_view line) {
    const std::size_t first = line.find_first_not_of(" \t");
    if (first == std::string_view::npos) return 0;
    const std::string_view rest = line.substr(first);
    constexpr std::array<std::string_view, 4> kPrompts{"$ ", "% ", "PS> ", "\xe2\x9d\xaf "};
    for (const std::string_view prompt : kPrompts) {
        if (rest.starts_with(prompt)) return first + prompt.size();
    }
    // user@host:~$ , [root@host ~]# , root@pod:/#
    const auto at = rest.find('@');
    const auto end = std::min(rest.find("$ "), rest.find("# "));
    constexpr std::size_t kLongest = 60;
    if (at != std::string_view::npos && end != std::string_view::npos && at < end &&
        end < kLongest && rest.substr(0, at).find_first_of(" '\"=/") == std::string_view::npos) {
        return first + end + 2;
    }
    return 0;
}

bool has_prompts(std::string_view text) {
    while (!text.empty()) {
        const auto newline = std::min(text.find('\n'), text.size());
        if (prompt_length(text.substr(0, newline)) > 0) return true;
        text.remove_prefix(std::min(newline + 1, text.size()));
    }
    return false;
}

std::optional<Command> make_command(const std::vector<Word>& words) {
    std::size_t at = 0;
    Command command;
    while (at < words.size()) {
        const Word& word = words[at];
        const bool exports =
            word.text == "export" && at + 1 < words.size() && is_assignment(words[at + 1].text);
        if ((!word.quoted && is_one_of(word.text, kShellKeywords)) || exports) {
            ++at;
        } else if (is_assignment(word.text)) {
            command.assignments.push_back(word);
            ++at;
        } else if (const std::size_t length = wrapper_length(words, at);
                   length > 0 && at + length < words.size()) {
            command.wrapper = std::string(without_directory(word.text));
            at += length;
        } else {
            break;
        }
    }
    if (at >= words.size()) {
        if (command.assignments.empty()) return std::nullopt;
        command.mark = command.assignments.front().mark;
        return command;  // nothing but assignments: the program is empty
    }
    command.words.assign(words.begin() + static_cast<std::ptrdiff_t>(at), words.end());
    command.mark = command.words.front().mark;
    command.program = known_program(command.words.front().text);
    return command;
}

const std::string* command_text(const Command& command) {
    constexpr std::array<std::string_view, 5> kShells{"bash", "sh", "zsh", "ash", "dash"};
    if (!is_one_of(command.program, kShells)) return nullptr;
    for (std::size_t i = 1; i + 1 < command.words.size(); ++i) {
        const std::string& word = command.words[i].text;
        if (word.size() >= 2 && word[0] == '-' && word.back() == 'c') {
            return command.words[i + 1].quoted ? &command.words[i + 1].text : nullptr;
        }
        if (word.empty() || word[0] != '-') return nullptr;
    }
    return nullptr;
}

std::size_t command_in_container(const Command& command) {
    if (!command.is("kubectl", "exec") && !command.is("docker", "exec")) return 0;
    for (std::size_t i = 2; i < command.words.size(); ++i) {
        const Word& word = command.words[i];
        if (!word.quoted && without_directory(word.text) == "nvidia-smi") return i;
    }
    return 0;
}

std::size_t told_command(std::string_view words) {
    constexpr std::size_t kNone = std::string_view::npos;
    constexpr std::array<std::string_view, 14> kBegins{
        "kubectl top ", "kubectl set ",     "kubectl run ",  "kubectl create ", "kubectl apply ",
        "kubectl get ", "kubectl label ",   "helm install ", "helm upgrade ",   "docker run ",
        "docker pull ", "nvidia-smi mig -", "nvidia-smi -",  "helm repo add "};
    std::size_t first = kNone;
    for (const std::string_view begin : kBegins) {
        const auto at = words.substr(0, first).find(begin);
        if (at == kNone) continue;
        const char before = at == 0 ? ' ' : words[at - 1];
        const bool part = (before >= 'a' && before <= 'z') || (before >= 'A' && before <= 'Z') ||
                          (before >= '0' && before <= '9') || before == '/' || before == '-' ||
                          before == '_' || before == '.';
        if (!part) first = at;
    }
    const auto start = words.find_first_not_of(" \t");
    if (start == kNone || first == kNone || first == start) return first;
    // "sudo docker run", "A=b kubectl run": from the start of the words
    return looks_like_command(words.substr(start, first - start)) ? start : first;
}

bool prints_words(std::string_view program) {
    const std::string name = lower(program);
    constexpr std::array<std::string_view, 15> kParts{"echo", "print", "log",  "info",  "warn",
                                                      "err",  "msg",   "die",  "fail",  "note",
                                                      "step", "say",   "hint", "title", "success"};
    return std::any_of(kParts.begin(), kParts.end(), [&name](std::string_view part) {
        return name.find(part) != std::string::npos;
    });
}

std::optional<std::size_t> closing_quote(std::string_view text, std::size_t from, std::size_t end) {
    const char quote = text[from - 1];
    end = std::min(end, from + kLongestQuote);
    for (std::size_t i = from; i < end; ++i) {
        if (quote == '"' && text[i] == '\\') {
            ++i;
        } else if (text[i] == quote) {
            return i;
        }
    }
    return std::nullopt;
}

std::optional<std::size_t> end_of_placeholder(std::string_view text, std::size_t at,
                                              std::size_t end) {
    constexpr std::size_t kLongest = 100;
    const std::size_t first = at + 1;
    const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
    if (first >= end || !is_letter(text[first])) return std::nullopt;
    const std::size_t limit = std::min(end, first + kLongest);
    for (std::size_t i = first; i < limit; ++i) {
        if (text[i] == '>') return i + 1;
        if (text[i] == '\n' || text[i] == '|' || text[i] == '<' || text[i] == '$') break;
    }
    return std::nullopt;
}

std::string joined_lines(std::string_view text) {
    std::string result;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        const bool continued = c == '\\' && text.find_first_not_of(" \t\r", i + 1) < text.size() &&
                               text[text.find_first_not_of(" \t\r", i + 1)] == '\n';
        if (continued || c == '\n' || c == '\t' || c == '\r' || c == ' ') {
            if (!result.empty() && result.back() != ' ') result += ' ';
        } else {
            result += c;
        }
    }
    while (!result.empty() && (result.back() == ' ' || result.back() == '|' ||
                               result.back() == '&' || result.back() == ';')) {
        result.pop_back();
    }
    return result;
}

bool looks_like_command(std::string_view line) {
    line = trim(line);
    if (line.starts_with("sudo ")) return true;
    const auto end = line.find_first_of(" \t");
    const std::string_view first = line.substr(0, end);
    if (first == "k" && end != std::string_view::npos) {  // a usual alias
        constexpr std::array<std::string_view, 8> kVerbs{"get",    "apply", "describe", "label",
                                                         "delete", "logs",  "create",   "exec"};
        const std::string_view rest = trim(line.substr(end));
        return is_one_of(rest.substr(0, rest.find(' ')), kVerbs);
    }
    if (!is_one_of(without_directory(first), kPrograms)) return false;
    if (end == std::string_view::npos) return first == "nvidia-smi" || first == "nvcc";
    // "make sure that ..." and "watch for ..." are sentences.
    constexpr std::array<std::string_view, 9> kAlsoEnglish{
        "make", "watch", "find", "kind", "cat", "export", "echo", "helm", "docker"};
    if (!is_one_of(first, kAlsoEnglish)) return true;
    const std::string_view rest = trim(line.substr(end));
    if (rest.empty() || (rest.back() == '.' && rest.find('/') == std::string_view::npos))
        return false;
    if (first == "helm") {
        constexpr std::array<std::string_view, 10> kVerbs{
            "install", "upgrade",   "repo", "template", "list",
            "pull",    "uninstall", "show", "get",      "status"};
        return is_one_of(rest.substr(0, rest.find(' ')), kVerbs);
    }
    if (first == "docker") {
        constexpr std::array<std::string_view, 9> kVerbs{"run", "build", "pull", "push",   "exec",
                                                         "tag", "login", "ps",   "compose"};
        return is_one_of(rest.substr(0, rest.find(' ')), kVerbs);
    }
    return rest.find_first_of("-/=$|<>\"'") != std::string_view::npos;
}

}  // namespace aliquot::syntax
