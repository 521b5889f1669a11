// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "syntax/block.h"

namespace aliquot::syntax {

/// A word of a command, quotes taken off.
struct Word {
    std::string text;
    Mark mark;            // of its first byte in the file, the quote included
    bool quoted = false;  // some part of it stood in quotes
};

/// One simple command of a shell block, a `console` block, an unmarked block that looks like
/// commands, a RUN of a Dockerfile, or inline code of prose (`kubectl get nodes`). Continued lines
/// are joined; `|`, `&&`, `||`, `;`, `&` end it; prompts ($, #, >>>, user@host:~$), comments and
/// `sudo`, `time`, `watch -n 1`, `env A=b`, `microk8s`, `k3s`, `minikube ... --` before the program
/// are off; a text in $(...) is a command of its own, and stays as it is in the outer word. So are
/// those in quoted words: `CMD="helm install ..."`, `ssh host 'kubectl ...'`, `echo "Now: kubectl run"`.
struct Command {
    int block = -1;  // -1: inline code of prose
    int heading = -1;
    Mark mark;                // of the program word
    std::string program;      // without directories: "kubectl", "helm", "docker", "nvidia-smi"
    std::string wrapper;      // what stood before it: "sudo", "microk8s", "watch"; the last one
    std::vector<Word> words;  // from the program on (words[0]), redirections left out
    std::vector<Word> assignments;  // A=b before it
    std::vector<Word> redirects;    // "> file" as the word "file"
    std::string separator;          // what stands behind it: "|", "&&", "||", ";", "&", ""
    int piped_from = -1;            // index into File::commands of the one whose output it reads
    int piped_to = -1;
    int document = -1;    // index into File::blocks of its heredoc
    std::string comment;  // `# ...` at the end of its line, or the comment line just above
    std::string text;     // as written, lines joined by one blank, without the comment
    bool inside_dockerfile = false;
    bool shown = false;  // in words that a script prints, not one that it runs

    [[nodiscard]] bool is(std::string_view some_program) const { return program == some_program; }
    /// program and the first words that are no flags: is("kubectl", "run"), is("helm", "install").
    /// Flags before the verb (kubectl -n x get) are passed over.
    [[nodiscard]] bool is(std::string_view some_program, std::string_view verb) const;
    /// The words that are no flags and no values of flags written apart, from words[1] on, up to
    /// `--`. Knows which flags of kubectl, helm, docker take a value.
    [[nodiscard]] std::vector<const Word*> positionals() const;
    /// nullptr: not given. "--image", "-n". Stops at `--`.
    [[nodiscard]] const Word* flag(std::string_view name) const;
    /// The value: "--image=x" and "--image x"; empty string for a flag without one.
    [[nodiscard]] std::optional<std::string> value(std::string_view name) const;
    /// All values of a flag that may come several times: {"--set", "driver.enabled=true"}.
    [[nodiscard]] std::vector<Word> values(std::string_view name) const;
    /// The words behind ` -- `.
    [[nodiscard]] std::vector<const Word*> behind_dashes() const;
};

}  // namespace aliquot::syntax
