// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <vector>

#include "base/sentence.h"
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/files/config_command.h"
#include "command_line/command.h"
#include "detect/detect.h"
#include "document/json.h"

namespace aliquot::cli {
namespace {

using document::Value;

struct DetectOptions {
    std::vector<std::string> files;
    std::string lines;
    std::string kind = "auto";
    std::string format = "text";
    bool keywords_only = false;
    bool explain = false;
};

detect::Kind kind_named(const std::string& name) {
    using enum detect::Kind;
    for (const auto kind : {kText, kRequirements, kDockerfile, kManifest, kCode, kCommand}) {
        if (detect::name_of(kind) == name) return kind;
    }
    return kUnknown;
}

std::string number(const char* form, double value) {
    std::array<char, 48> text{};
    std::snprintf(text.data(), text.size(), form, value);  // NOLINT(*format-nonliteral)
    return text.data();
}

/// "2 x a100, 80 GiB each"; empty when nothing is known.
std::string need_text(const detect::Need& need) {
    std::string text;
    if (need.count) text = std::to_string(*need.count) + " x ";
    if (need.count || !need.type.empty()) text += need.type.empty() ? "GPU" : need.type;
    if (need.memory_gib) {
        if (!text.empty()) text += ", ";
        text += number("%g GiB", *need.memory_gib);
        if (need.count.value_or(1) > 1) text += " each";
        text += " (" + need.memory_reason + ')';
    }
    return text;
}

/// One line of evidence: its bytes as one printable word.
std::string quoted(std::string_view text) { return '"' + one_line(text.substr(0, 60)) + '"'; }

void explain(std::ostream& out, const detect::Verdict& verdict, std::string_view text) {
    out << "  " << number("%+6.2f", verdict.bias) << "  everything else\n";
    for (const detect::Evidence& one : verdict.evidence) {
        out << "  " << number("%+6.2f", one.weight) << "  " << detect::name_of(one.source) << ' '
            << quoted(text.substr(one.start, one.end - one.start)) << " at " << one.start;
        if (one.scope != detect::Scope::kPlain) out << ", " << detect::name_of(one.scope);
        out << '\n';
    }
    out << "  " << number("%+6.2f", verdict.score) << "  score; above 0 means GPU\n";
}

void print_text(std::ostream& out, const std::string& name, const detect::Verdict& verdict,
                std::string_view text, bool with_arithmetic) {
    out << name << ": " << detect::name_of(verdict.label) << ", confidence "
        << number("%.2f", verdict.confidence) << ", read as " << detect::name_of(verdict.kind);
    if (const std::string need = need_text(verdict.need); !need.empty()) out << "; " << need;
    out << '\n';
    if (with_arithmetic) {
        explain(out, verdict, text);
        return;
    }
    for (std::size_t i = 0; i < std::min<std::size_t>(3, verdict.evidence.size()); ++i) {
        const detect::Evidence& one = verdict.evidence[i];
        out << "  " << quoted(text.substr(one.start, one.end - one.start)) << ' '
            << number("%+.2f", one.weight) << '\n';
    }
}

/// A judged file with its name in front: {"file":"a","label":...}.
Value document_of(const std::string& name, const detect::Verdict& verdict, std::string_view text) {
    Value judged = document::make_mapping({{"file", name}});
    const auto read = document::parse_json(detect::to_json_line(verdict, text));
    if (!read) return judged;
    for (const auto& entry : with_camel_case(*read).entries) judged.entries.push_back(entry);
    return judged;
}

void note_cut(Context& context, const std::string& name, const detect::Verdict& verdict) {
    if (verdict.cut) {
        context.err << "aliquot: " << name << ": longer than 1 MiB; judged by its first MiB\n";
    }
}

/// The head of a file: as much as is judged, and one byte to know that there was more.
Result<Input> read_head(const std::string& file) {
    Input input{.name = file == "-" ? "<stdin>" : file, .text = {}};
    std::ifstream opened;
    if (file != "-") opened.open(file, std::ios::binary);
    std::istream& in = file == "-" ? std::cin : opened;
    input.text.resize(detect::kMostBytes + 1);
    in.read(input.text.data(), static_cast<std::streamsize>(input.text.size()));
    input.text.resize(static_cast<std::size_t>(in.gcount()));
    if (file != "-" && input.text.empty()) return read_input(file);  // its words for what is wrong
    return input;
}

/// Reads lines in large pieces; keeps no more of a line than can matter (an escaped byte is two).
class LineReader {
public:
    /// at_once   bytes to read at once; 1 answers a terminal line by line
    LineReader(std::istream& in, std::size_t at_once) : in_(in), piece_(at_once, '\0') {}

    /// The next line without its end; good until the next call. Nothing at the end of the input.
    std::optional<std::string_view> next() {
        constexpr std::size_t kMost = 2 * detect::kMostBytes + 2;
        line_.clear();
        bool begun = false;
        while (!rest_.empty() || fill()) {
            const std::size_t end = rest_.find('\n');
            const std::string_view part = rest_.substr(0, end);
            const bool whole = end != std::string_view::npos;
            rest_.remove_prefix(whole ? end + 1 : part.size());
            if (whole && !begun) return part.substr(0, kMost);
            begun = true;
            line_.append(part.substr(0, kMost - std::min(kMost, line_.size())));
            if (whole) return line_;
        }
        if (!begun) return std::nullopt;
        return line_;
    }

private:
    bool fill() {
        in_.read(piece_.data(), static_cast<std::streamsize>(piece_.size()));
        rest_ = std::string_view(piece_).substr(0, static_cast<std::size_t>(in_.gcount()));
        return !rest_.empty();
    }

    std::istream& in_;
    std::string piece_;
    std::string_view rest_;  // of the piece
    std::string line_;       // that began in a piece before
};

void judge_files(Context& context, const DetectOptions& words) {
    Value all = document::make_sequence();
    for (const std::string& file : words.files) {
        const auto input = read_head(file);
        if (!input) {
            fail(context, kUsage, input.error().message);
            continue;
        }
        const std::string& text = input->text;
        detect::Kind kind = kind_named(words.kind);
        if (kind == detect::Kind::kUnknown) kind = detect::sniff_kind(input->name, text);
        const auto verdict =
            words.keywords_only ? detect::detect_keywords(text) : detect::detect(text, kind);
        note_cut(context, input->name, verdict);
        if (words.format == "text") {
            print_text(context.out, input->name, verdict, text, words.explain);
        } else {
            all.items.push_back(document_of(input->name, verdict, text));
        }
    }
    if (words.format != "text") {
        print_answer(context.out, "DetectionList", std::move(all), words.format);
    }
}

/// One JSON object.
std::string judge_line(Context& context, const DetectOptions& words, std::string_view line,
                       detect::Kind kind, std::size_t number_of_line) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    std::string unescaped;
    if (line.find('\\') != std::string_view::npos) {
        unescaped = detect::unescape_line(line);
        line = unescaped;
    }
    const auto verdict =
        words.keywords_only ? detect::detect_keywords(line) : detect::detect(line, kind);
    if (verdict.cut) note_cut(context, "line " + std::to_string(number_of_line), verdict);
    return detect::to_json_line(verdict, line);
}

void judge_lines(Context& context, const DetectOptions& words) {
    std::ifstream file;
    if (words.lines != "-") {
        std::error_code problem;
        if (std::filesystem::is_directory(words.lines, problem)) {
            return fail(context, kUsage,
                        words.lines + ": is a directory; a file of one text per line was expected");
        }
        file.open(words.lines, std::ios::binary);
        if (!file) {
            return fail(context, kUsage,
                        words.lines + ": cannot read it; a file of one text per line was expected");
        }
    }
    constexpr std::size_t kPiece = std::size_t{1} << 16U;
    const bool typed = words.lines == "-" && ::isatty(STDIN_FILENO) != 0;
    LineReader reader(words.lines == "-" ? std::cin : file, typed ? 1 : kPiece);
    const detect::Kind kind = kind_named(words.kind);
    std::size_t number_of_line = 0;
    std::string out;
    std::string of_nothing;  // an empty line is judged once
    while (const auto line = reader.next()) {
        ++number_of_line;
        if (line->empty() && !of_nothing.empty()) {
            out += of_nothing;
        } else {
            out += judge_line(context, words, *line, kind, number_of_line);
            out += '\n';
            if (line->empty()) of_nothing = out.substr(out.rfind('{'));
        }
        if (typed || out.size() >= kPiece) {
            context.out << out;
            out.clear();
        }
    }
    context.out << out;
}

void detect_all(Context& context, const DetectOptions& words) {
    if (words.lines.empty() == words.files.empty()) {
        return fail(context, kUsage, "detect: give FILE... or --lines FILE, one of the two");
    }
    words.lines.empty() ? judge_files(context, words) : judge_lines(context, words);
}

}  // namespace

void add_detect_command(command_line::Command& program, Context& context) {
    command_line::Command* command = program.add_subcommand(
        "detect",
        "Detect whether a text or file asks for a GPU, and on what evidence\n\n"
        "Reads free text, requirements, Dockerfiles, manifests, code and "
        "shell commands. The label\n"
        "is gpu, cpu or optional; with the count, type and memory that the "
        "text names. Exit code 0,\n"
        "or 2 for an input that cannot be read.");
    command->footer(
        "aliquot detect requirements.txt Dockerfile\n"
        "echo 'Fine-tune a 7B model on two A100 80GB' | aliquot detect --explain -\n"
        "aliquot detect --lines tickets.txt > labels.jsonl   # one text per line");
    auto words = std::make_shared<DetectOptions>();
    command->add_option("FILE", words->files, "Files to classify; - is standard input", "...");
    command->add_option(
        "--lines", words->lines,
        "Classify every line of FILE (\\t, \\n, \\\\ escaped); one JSON object each", "FILE");
    command
        ->add_option("--kind", words->kind, "Kind of input, if the name does not tell",
                     "KIND (auto, text, requirements, dockerfile, manifest, code, command)")
        ->one_of({"auto", "text", "requirements", "dockerfile", "manifest", "code", "command"});
    add_output(*command, words->format, {"text"});
    command->add_flag("--explain", words->explain, "Show all evidence and how the score adds up");
    command->add_flag("--keywords-only", words->keywords_only,
                      "Classify by fourteen keywords alone, for comparison; it always names a GPU");
    command->add_flag("--legacy", words->keywords_only)->hidden();  // its name up to 0.1
    command->callback([words, &context] { detect_all(context, *words); });
}

}  // namespace aliquot::cli
