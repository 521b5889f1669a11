// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <set>

#include "lint/families.h"
#include "lint/words.h"

/// What a runbook as a whole gets wrong: letters that were read in another encoding, lists of causes that miss
/// the usual one, checks that do not show what they are for, code that picks GPUs by parts of words.
namespace aliquot::lint {
namespace {

template <std::size_t N>
bool has_any(std::string_view text, const std::array<std::string_view, N>& parts) {
    return std::any_of(parts.begin(), parts.end(),
                       [text](std::string_view part) { return contains(text, part); });
}

/// UTF-8 that was read as Mac Roman or Windows-1252 and written as UTF-8 again.
void check_encoding(const File& file, Report& report) {
    constexpr std::array<std::string_view, 8> kTraces{
        "\xe2\x80\x9a\xc3\x84",  // Mac Roman: the first two of a quote or dash
        "\xe2\x80\x9a\xc3\xba",  // of a check mark
        "\xe2\x80\x9a\xc3\xb9",  // of a cross
        "\xe2\x88\x9a\xc2\xa9",  // of an e with an accent
        "\xc3\xa2\xe2\x82\xac",  // Windows-1252: of a quote or dash
        "\xc3\xa2\xc5\x93",      // of a check mark
        "\xc3\x83\xc2\xa9",      // of an e with an accent
        "\xc3\xb0\xc5\xb8",      // of an emoji
    };
    unsigned first = 0;
    Mark mark;
    unsigned lines = 0;
    for (unsigned line = 1; line <= file.line_starts.size(); ++line) {
        const std::string_view text = file.line(line);
        std::size_t at = std::string_view::npos;
        for (const std::string_view trace : kTraces) at = std::min(at, text.find(trace));
        if (at == std::string_view::npos) continue;
        ++lines;
        if (first != 0) continue;
        first = line;
        mark = {line, static_cast<unsigned>(at) + 1};
    }
    constexpr unsigned kFewest = 2;
    if (lines < kFewest) return;
    report.add("DOC020", mark,
               "letters that were read in a wrong encoding, here and on " +
                   std::to_string(lines - 1) + " more lines");
}

/// The statements of the section that `heading` begins.
std::string section_text(const File& file, int heading) {
    std::string text;
    for (const Statement& one : file.statements) {
        if (one.heading == heading) text += one.text + '\n';
    }
    return text;
}

bool has_causes(const File& file, int heading) {
    return std::any_of(
        file.statements.begin(), file.statements.end(), [heading](const Statement& one) {
            return one.heading == heading && one.kind != Statement::Kind::kComment &&
                   (contains_word(one.text, "causes") || contains_word(one.text, "cause"));
        });
}

void check_sections(const File& file, Report& report) {
    constexpr std::array<std::string_view, 7> kPendingCauses{
        "taint", "tolerat", "unhealthy", "allocatable", "quota", "affinity", "selector"};
    constexpr std::array<std::string_view, 7> kRuntimeCauses{
        "runtime", "toolkit", "cdi", "containerd", "driver", "path", "image"};
    constexpr std::size_t kMostSections = 200;  // of these two kinds
    std::size_t sections = 0;
    for (std::size_t i = 0; i < file.headings.size() && sections < kMostSections; ++i) {
        const int heading = static_cast<int>(i);
        const Heading& one = file.headings[i];
        const bool pending = contains(one.text, "insufficient nvidia.com/gpu") ||
                             (contains(one.text, "pending") && contains(one.text, "gpu"));
        if (pending) ++sections;
        if (pending && has_causes(file, heading)) {
            const std::string text = section_text(file, heading);
            const auto causes = std::find_if(
                file.statements.begin(), file.statements.end(), [heading](const Statement& s) {
                    return s.heading == heading && contains_word(s.text, "causes");
                });
            if (causes != file.statements.end() && !has_any(text, kPendingCauses)) {
                report.add("DOC022", causes->mark,
                           "causes of a pending GPU pod without taints, unhealthy GPUs and quotas");
            }
        }
    }
    std::set<int> told;
    for (const Statement& s : file.statements) {
        if (s.heading < 0 || !contains(s.text, "nvidia-smi: command not found")) continue;
        if (told.size() >= kMostSections || !told.insert(s.heading).second) continue;
        if (!has_any(section_text(file, s.heading), kRuntimeCauses)) {
            report.add("DOC023", s.mark,
                       "'nvidia-smi: command not found' in a container, and nothing about the "
                       "container runtime");
        }
    }
}

/// `any(keyword in text ...)` finds "cv" in "recv"; `"billion" in text` gives four GPUs to a sentence.
void check_detectors(const File& file, Report& report) {
    for (const Block& block : file.blocks) {
        if (block.language != Language::kPython || !block.exact) continue;
        const bool substring = block.text.find("any(") != std::string::npos &&
                               contains(block.text, " in ") && contains(block.text, "keyword") &&
                               contains(block.text, ".lower()");
        const bool gpu = contains(block.text, "gpu");
        if (!substring || !gpu) continue;
        std::string_view previous;
        std::size_t begin = 0;
        bool told = false;
        for (const std::string_view line : split(block.text, '\n')) {
            const std::size_t any = line.find("any(");
            if (any != std::string_view::npos && contains(line, " in ") && !told) {
                report.add(
                    "DOC021", block.place(begin + any),
                    "keywords are looked for as parts of words: a short one stands in many others");
                told = true;
            }
            const std::size_t count = line.find("gpu_count");
            const bool many = count != std::string_view::npos && contains(line, "return") &&
                              line.find_first_of("23456789", count) < line.find(',', count);
            if (many && contains(previous, "\" in ")) {
                report.add("DOC021", block.place(begin + count),
                           "the number of GPUs follows from a word of the text, not from the "
                           "memory that the model needs");
            }
            if (!trim(line).empty()) previous = line;
            begin += line.size() + 1;
        }
    }
}

void check_smi(const File& file, Report& report) {
    const bool shared = file.mentions("time-slic") || file.mentions("timeslic") ||
                        file.mentions("mig-") || contains_word(file.text, "mps");
    if (!shared) return;
    for (const Command& command : file.commands) {
        const auto inside = command.behind_dashes();
        const bool exec = command.is("kubectl", "exec") && !inside.empty() &&
                          inside.front()->text == "nvidia-smi" && inside.size() == 1;
        const bool utilisation = command.is("nvidia-smi") && command.words.size() == 1 &&
                                 command.block >= 0 && contains(command.comment, "utilization");
        if (exec) {
            report.add("SH020", command.mark,
                       "nvidia-smi in a pod shows the whole GPU, not what the pod uses of it");
        } else if (utilisation) {
            report.add("SH020", command.mark,
                       "nvidia-smi on the node shows processes and the whole GPU, but no pods");
        }
    }
}

void check_host_commands(const File& file, Report& report) {
    constexpr std::array<std::string_view, 6> kHeaders{
        "kernel-devel", "kernel-headers", "linux-headers", "dkms", "akmod", "nouveau"};
    const bool headers = has_any(file.folded, kHeaders);
    for (std::size_t i = 0; i < file.commands.size(); ++i) {
        const Command& command = file.commands[i];
        const bool installs = (command.is("dnf") || command.is("yum")) &&
                              command.words.size() > 2 && !command.inside_dockerfile;
        const bool driver =
            installs &&
            std::any_of(command.words.begin(), command.words.end(), [](const Word& word) {
                return word.text == "nvidia-driver" || word.text.starts_with("nvidia-driver:");
            });
        if (driver && !headers && file.is_prose()) {
            report.add("SH021", command.mark,
                       "the driver is installed without the kernel's headers, nouveau and Secure "
                       "Boot being looked at");
        }
        const bool stops =
            command.is("microk8s") && command.words.size() == 2 && command.words[1].text == "stop";
        const bool starts = i + 1 < file.commands.size() && file.commands[i + 1].is("microk8s") &&
                            file.commands[i + 1].words.size() == 2 &&
                            file.commands[i + 1].words[1].text == "start";
        if (stops && starts) {
            report.add("SH022", command.mark,
                       "the whole of MicroK8s is restarted for a change of containerd");
        }
        const auto words = command.positionals();
        const bool observability = command.is("microk8s", "enable") && words.size() > 1 &&
                                   words[1]->text == "observability";
        if (observability && file.mentions("dcgm") && !file.mentions("servicemonitor") &&
            !file.mentions("scrape_config")) {
            report.add("PROM020", command.mark,
                       "the observability addon does not scrape dcgm-exporter, and no "
                       "ServiceMonitor is made here");
        }
    }
}

}  // namespace

void check_runbooks(const File& file, const Set& /*set*/, const Facts* /*facts*/, Report& report) {
    if (file.is_prose()) {
        check_encoding(file, report);
        check_sections(file, report);
        check_smi(file, report);
    }
    check_detectors(file, report);
    check_host_commands(file, report);
}

}  // namespace aliquot::lint
