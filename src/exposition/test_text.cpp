// SPDX-License-Identifier: Apache-2.0
#include "exposition/test_text.h"

#include <algorithm>
#include <set>

namespace aliquot::exposition {
namespace {

std::string take_word(std::string_view& text, std::string_view ends) {
    const auto end = std::min(text.find_first_of(ends), text.size());
    std::string word(text.substr(0, end));
    text.remove_prefix(end);
    return word;
}

bool skip(std::string_view& text, char wanted) {
    if (text.empty() || text.front() != wanted) return false;
    text.remove_prefix(1);
    return true;
}

/// A value in quotes; false: it is none.
bool take_value(std::string_view& text, std::string& value) {
    if (!skip(text, '"')) return false;
    while (!text.empty() && text.front() != '"') {
        char c = text.front();
        text.remove_prefix(1);
        if (c == '\\') {
            if (text.empty()) return false;
            c = text.front() == 'n' ? '\n' : text.front();
            if (c != '\n' && c != '\\' && c != '"') return false;
            text.remove_prefix(1);
        }
        value += c;
    }
    return skip(text, '"');
}

bool is_value(std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789.e+-") == std::string_view::npos;
}

bool read_sample(std::string_view line, Sample& sample) {
    sample.name = take_word(line, "{ ");
    if (skip(line, '{')) {
        do {
            auto& [name, value] = sample.labels.emplace_back();
            name = take_word(line, "=");
            if (name.empty() || !skip(line, '=') || !take_value(line, value)) return false;
        } while (skip(line, ','));
        if (!skip(line, '}')) return false;
    }
    if (!skip(line, ' ') || !is_value(line)) return false;
    sample.value = line;
    return true;
}

/// Whether a sample of this name belongs to the family.
bool belongs(const ReadFamily& family, std::string_view name, bool open_metrics) {
    std::string expected = family.name;
    if (open_metrics && family.type == "counter") expected += "_total";
    if (open_metrics && family.type == "info") expected += "_info";
    return name == expected;
}

class Reader {
public:
    explicit Reader(bool open_metrics) : open_metrics_(open_metrics) {}

    void line(std::string_view line) {
        if (ended_) return problem("behind # EOF", line);
        if (line == "# EOF" && open_metrics_) {
            ended_ = true;
        } else if (line.starts_with("# ")) {
            head(line);
        } else {
            sample(line);
        }
    }

    ReadText finish() && {
        if (open_metrics_ && !ended_) problem("no # EOF", "");
        return std::move(read_);
    }

private:
    void problem(std::string_view what, std::string_view line) {
        read_.problems.push_back(std::string(what) + ": " + std::string(line));
    }

    void head(std::string_view line) {
        std::string_view rest = line.substr(2);
        const std::string keyword = take_word(rest, " ");
        skip(rest, ' ');
        const std::string name = take_word(rest, " ");
        skip(rest, ' ');
        if (read_.families.empty() || read_.families.back().name != name) {
            if (!names_.insert(name).second) problem("a family in two places", line);
            read_.families.push_back({name, "", "", "", {}});
        }
        ReadFamily& family = read_.families.back();
        std::string& field = keyword == "HELP"   ? family.help
                             : keyword == "TYPE" ? family.type
                                                 : family.unit;
        if (!field.empty() || !family.samples.empty()) problem("a head in the midst", line);
        field = rest;
    }

    void sample(std::string_view line) {
        Sample made;
        if (!read_sample(line, made)) return problem("no sample", line);
        if (read_.families.empty() || !belongs(read_.families.back(), made.name, open_metrics_)) {
            return problem("a sample outside of its family", line);
        }
        if (!rows_.insert(line.substr(0, line.rfind(' '))).second) problem("twice", line);
        read_.families.back().samples.push_back(std::move(made));
    }

    bool open_metrics_;
    bool ended_ = false;
    std::set<std::string> names_;
    std::set<std::string_view> rows_;
    ReadText read_;
};

}  // namespace

std::string_view Sample::label(std::string_view wanted) const {
    for (const auto& label : labels) {
        if (label.first == wanted) return label.second;
    }
    return {};
}

bool Sample::has(std::string_view wanted) const {
    return std::any_of(labels.begin(), labels.end(),
                       [wanted](const auto& label) { return label.first == wanted; });
}

std::int64_t Sample::exact(unsigned digits) const {
    std::int64_t scaled = 0;
    bool point = false;
    for (const char c : value) {
        if (c == '.') {
            point = true;
        } else if (!point) {
            scaled = scaled * 10 + (c - '0');
        } else if (digits > 0) {
            scaled = scaled * 10 + (c - '0');
            --digits;
        } else if (c != '0') {
            return -1;
        }
    }
    for (; digits > 0; --digits) scaled *= 10;
    return scaled;
}

const ReadFamily* ReadText::find(std::string_view name) const {
    for (const ReadFamily& family : families) {
        if (family.name == name) return &family;
    }
    return nullptr;
}

std::vector<Sample> ReadText::samples(std::string_view name) const {
    const ReadFamily* family = find(name);
    return family == nullptr ? std::vector<Sample>{} : family->samples;
}

ReadText read_text(std::string_view text, bool open_metrics) {
    Reader reader(open_metrics);
    while (!text.empty()) {
        const auto end = std::min(text.find('\n'), text.size());
        reader.line(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return std::move(reader).finish();
}

}  // namespace aliquot::exposition
