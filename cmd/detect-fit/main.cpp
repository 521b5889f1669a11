// SPDX-License-Identifier: Apache-2.0
//
// Fits data/detect_weights.tsv to the labelled texts of src/detect/cases. A source is a file; how good
// the method is on texts that it has never seen is told by fitting to all files but one, in turn, or to
// those of all authors but one.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "detect/detect.h"
#include "detect/features.h"
#include "regression.h"

namespace aliquot::fit {
namespace {

constexpr const char* kUsage =
    "usage: detect-fit [--weights OUT.tsv] [--authors FILE.tsv] [--cost N] [--wrong] CASES.tsv...\n"
    "  --weights   write the weights fitted to all files\n"
    "  --authors   file name and author, a file a line: leave out authors, not files\n"
    "  --cost      of an error against a unit of squared weight (default 120)\n"
    "  --wrong     list the texts that are judged wrongly when their file was not fitted to\n"
    "CASES.tsv: a head line, then id, label (gpu, cpu, either), kind and text, parted by tabs.\n";

constexpr std::size_t kLeastTexts = 2;    // in which a feature must be
constexpr std::size_t kLeastSources = 2;  // what only one author writes says nothing of others
/// Of traits and of parts of words: there are few of them, in many texts, and words know more.
constexpr double kPenaltyOfCoarse = 3;
constexpr double kLeastWeight = 0.02;  // smaller ones are not written

struct Text {
    std::size_t source = 0;
    std::size_t author = 0;
    std::string label;
    std::string text;
    std::vector<std::string> names;
};

struct Options {
    std::string weights;
    std::string authors;
    double cost = 120;
    bool wrong = false;
    std::vector<std::string> files;
};

bool read_cases(const std::string& file, std::size_t source, std::vector<Text>& texts) {
    std::ifstream in(file, std::ios::binary);
    std::string line;
    if (!std::getline(in, line)) return false;  // the head
    while (std::getline(in, line)) {
        const std::size_t first = line.find('\t');
        const std::size_t second = line.find('\t', first + 1);
        const std::size_t third = line.find('\t', second + 1);
        if (third == std::string::npos) return false;
        const std::string label = line.substr(first + 1, second - first - 1);
        if (label != "gpu" && label != "cpu" && label != "either") return false;
        texts.push_back({source, source, label, detect::unescape_line(line.substr(third + 1)), {}});
    }
    return true;
}

/// "class hardware", "p trai": a trait, or a part of a word.
bool is_coarse(const std::string& name) {
    return name[1] != ' ' || name[0] == 'p' || name[0] == 's';
}

/// Numbers the features that are in enough texts of enough sources; the numbers go by name.
Samples number_features(const std::vector<Text>& texts, std::vector<std::string>& names) {
    struct Seen {
        std::size_t texts = 0;
        std::size_t sources = 0;
        std::size_t last = SIZE_MAX;  // source; the texts of one stand together
    };
    std::map<std::string, Seen> counts;
    for (const Text& text : texts) {
        for (const std::string& name : text.names) {
            Seen& seen = counts[name];
            ++seen.texts;
            if (seen.last != text.source) ++seen.sources;
            seen.last = text.source;
        }
    }
    Samples samples;
    std::map<std::string, std::uint32_t> numbers;
    for (const auto& [name, seen] : counts) {
        if (seen.texts < kLeastTexts || seen.sources < kLeastSources) continue;
        numbers.emplace(name, static_cast<std::uint32_t>(names.size()));
        names.push_back(name);
        samples.whole.push_back(detect::is_whole(name));
        samples.penalties.push_back(is_coarse(name) ? kPenaltyOfCoarse : 1);
    }
    samples.features = names.size();
    for (const Text& text : texts) {
        auto& row = samples.rows.emplace_back();
        for (const std::string& name : text.names) {
            const auto known = numbers.find(name);
            if (known != numbers.end()) row.push_back(known->second);
        }
    }
    return samples;
}

/// What is asked of each text, and which texts are asked.
struct Question {
    std::vector<bool> wanted;
    std::vector<bool> asked;
};

Question ask(const std::vector<Text>& texts, const std::string& yes, bool skip_either) {
    Question question;
    for (const Text& text : texts) {
        question.wanted.push_back(text.label == yes);
        question.asked.push_back(!skip_either || text.label != "either");
    }
    return question;
}

std::string base_name(const std::string& file) { return file.substr(file.rfind('/') + 1); }

/// By file: the number of its author; without a list, and for files that it lacks, each has its own.
///
/// authors   how many there are, set
std::vector<std::size_t> authors_of(const Options& options, std::size_t& authors) {
    std::map<std::string, std::string> names;
    std::ifstream in(options.authors);
    for (std::string line; std::getline(in, line);) {
        const std::size_t tab = line.find('\t');
        if (tab != std::string::npos) names[line.substr(0, tab)] = line.substr(tab + 1);
    }
    std::map<std::string, std::size_t> numbers;
    std::vector<std::size_t> author;
    for (const std::string& file : options.files) {
        const auto known = names.find(base_name(file));
        const std::string& name = known == names.end() ? file : known->second;
        author.push_back(numbers.emplace(name, numbers.size()).first->second);
    }
    authors = numbers.size();
    return author;
}

/// The score of every text by weights that were fitted without its author.
std::vector<double> held_out(const Samples& samples, const std::vector<Text>& texts,
                             const Question& question, std::size_t authors, double cost) {
    std::vector<double> scores(texts.size());
    const std::size_t threads = std::max(1U, std::thread::hardware_concurrency());
    std::vector<std::thread> running;
    for (std::size_t t = 0; t < threads; ++t) {
        running.emplace_back([&, t] {
            for (std::size_t author = t; author < authors; author += threads) {
                std::vector<bool> used = question.asked;
                for (std::size_t i = 0; i < texts.size(); ++i) {
                    if (texts[i].author == author) used[i] = false;
                }
                const Weights weights = fit(samples, question.wanted, used, cost);
                for (std::size_t i = 0; i < texts.size(); ++i) {
                    if (texts[i].author == author)
                        scores[i] = score(samples, weights, samples.rows[i]);
                }
            }
        });
    }
    for (std::thread& one : running) one.join();
    return scores;
}

struct Tally {
    unsigned hits = 0;
    unsigned false_alarms = 0;
    unsigned misses = 0;
    unsigned texts = 0;

    void add(bool wanted, bool found) {
        ++texts;
        if (wanted && found) ++hits;
        if (wanted && !found) ++misses;
        if (!wanted && found) ++false_alarms;
    }
    void print(const char* name) const {
        std::printf("%-28s %5u texts   precision %.3f   recall %.3f\n", name, texts,
                    double(hits) / std::max(1U, hits + false_alarms),
                    double(hits) / std::max(1U, hits + misses));
    }
};

void report(const Options& options, const std::vector<Text>& texts, const Question& question,
            const std::vector<double>& scores) {
    std::vector<Tally> by_source(options.files.size());
    Tally all;
    for (std::size_t i = 0; i < texts.size(); ++i) {
        if (!question.asked[i]) continue;
        by_source[texts[i].source].add(question.wanted[i], scores[i] > 0);
        all.add(question.wanted[i], scores[i] > 0);
    }
    for (std::size_t i = 0; i < by_source.size(); ++i) {
        by_source[i].print(base_name(options.files[i]).c_str());
    }
    all.print(options.authors.empty() ? "each file by all others" : "each author by all others");
    if (!options.wrong) return;
    for (std::size_t i = 0; i < texts.size(); ++i) {
        if (!question.asked[i] || question.wanted[i] == (scores[i] > 0)) continue;
        std::printf("%s %+.2f %s: %s\n", texts[i].label.c_str(), scores[i],
                    base_name(options.files[texts[i].source]).c_str(),
                    texts[i].text.substr(0, 160).c_str());
    }
}

bool write_weights(const Options& options, const std::vector<std::string>& names,
                   const Weights& gpu, const Weights& optional, double slope,
                   double optional_slope) {
    std::ofstream out(options.weights, std::ios::binary);
    out << "# source: fitted to src/detect/cases by cmd/detect-fit; see docs/guide/detect.md\n"
           "# what: feature, its weight for \"asks for a GPU\", its weight for \"leaves the "
           "choice\" "
           "(log-odds)\n";
    char line[64];
    const auto write = [&](const std::string& name, double one, double other) {
        std::snprintf(line, sizeof line, "\t%.3f\t%.3f\n", one, other);
        out << name << line;
    };
    write("bias", gpu.bias, optional.bias);
    write("slope", slope, optional_slope);
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (std::abs(gpu.of[i]) < kLeastWeight && std::abs(optional.of[i]) < kLeastWeight) continue;
        write(names[i], gpu.of[i], optional.of[i]);
    }
    out.flush();
    return out.good();
}

int fail(const std::string& message) {
    std::cerr << "detect-fit: " << message << '\n';
    return 3;
}

int run(const Options& options) {
    std::vector<Text> texts;
    for (std::size_t i = 0; i < options.files.size(); ++i) {
        if (!read_cases(options.files[i], i, texts)) {
            return fail(options.files[i] + ": cannot be read as labelled texts");
        }
    }
    if (!options.authors.empty() && !std::ifstream(options.authors).is_open())
        return fail(options.authors + ": cannot be read as a list of authors");
    std::size_t authors = 0;
    const std::vector<std::size_t> author_of = authors_of(options, authors);
    for (Text& text : texts) {
        text.author = author_of[text.source];
        text.names = detect::feature_names(text.text);
    }
    std::vector<std::string> names;
    const Samples samples = number_features(texts, names);
    const Question gpu = ask(texts, "gpu", true);
    const Question optional = ask(texts, "either", false);
    const auto scores = held_out(samples, texts, gpu, authors, options.cost);
    report(options, texts, gpu, scores);
    std::vector<double> asked;
    std::vector<bool> wanted;
    for (std::size_t i = 0; i < texts.size(); ++i) {
        if (!gpu.asked[i]) continue;
        asked.push_back(scores[i]);
        wanted.push_back(gpu.wanted[i]);
    }
    const double slope = slope_of(asked, wanted);
    const auto choices = held_out(samples, texts, optional, authors, options.cost);
    const double optional_slope = slope_of(choices, optional.wanted);
    Tally tally;
    for (std::size_t i = 0; i < texts.size(); ++i) tally.add(optional.wanted[i], choices[i] > 0);
    tally.print("optional, each by all others");
    std::printf("%zu features, slope %.2f\n", names.size(), slope);
    if (options.weights.empty()) return 0;
    const Weights one = fit(samples, gpu.wanted, gpu.asked, options.cost);
    const Weights other = fit(samples, optional.wanted, optional.asked, options.cost);
    if (!write_weights(options, names, one, other, slope, optional_slope)) {
        return fail(options.weights + ": cannot be written");
    }
    return 0;
}

}  // namespace
}  // namespace aliquot::fit

int main(int argc, char** argv) {
    aliquot::fit::Options options;
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        if (word == "--weights" && i + 1 < argc) {
            options.weights = argv[++i];
        } else if (word == "--authors" && i + 1 < argc) {
            options.authors = argv[++i];
        } else if (word == "--cost" && i + 1 < argc) {
            options.cost = std::atof(argv[++i]);
        } else if (word == "--wrong") {
            options.wrong = true;
        } else if (word.starts_with("--") || word == "-h") {
            std::cerr << aliquot::fit::kUsage;
            return 2;
        } else {
            options.files.push_back(word);
        }
    }
    if (options.files.size() < 2 || !(options.cost > 0)) {
        std::cerr << aliquot::fit::kUsage;
        return 2;
    }
    return aliquot::fit::run(options);
}
