// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>

#include "base/text.h"
#include "bundle/redact.h"
#include "bundle/redact_line.h"

namespace aliquot::bundle {
namespace {

constexpr std::string_view kTextMark = "***";

std::size_t indentation(std::string_view line) {
    return std::min(line.find_first_not_of(" \t"), line.size());
}

/// Goes over a text and remembers what is open: a key in PEM, a secret whose value is beneath it.
class Redactor {
public:
    std::string line(std::string_view line) {
        constexpr unsigned kMostLines = 200;  // what has no end does not hide the rest
        if (const auto begin = private_key(line); begin != std::string_view::npos) {
            return begin_key(line, begin);
        }
        if (in_key_ && ++lines_ < kMostLines) {
            const auto end = line.find("-----END");
            if (end == std::string_view::npos) return {};
            in_key_ = false;
            return std::string(kTextMark) + "\n";
        }
        in_key_ = false;
        if (below_ && ++lines_ < kMostLines) {
            if (trim(line).empty()) return std::string(line) + "\n";
            const std::size_t in = indentation(line);
            const bool item = in == *below_ && line.substr(in).starts_with("- ");
            if (in > *below_ || item)
                return std::string(line.substr(0, in)) + std::string(kTextMark) + "\n";
        }
        below_.reset();
        RedactedLine one = redacted_line(line);
        if (one.open) {
            below_ = indentation(line);
            if (line.substr(*below_).starts_with("- ")) *below_ += 1;
            lines_ = 0;
        }
        return one.text + "\n";
    }

private:
    static std::size_t private_key(std::string_view line) {
        const auto begin = line.find("-----BEGIN");
        const bool is =
            begin != std::string_view::npos && line.substr(begin, 60).contains("PRIVATE KEY");
        return is ? begin : std::string_view::npos;
    }
    /// All of it may be in one line, with "\n" for its breaks.
    std::string begin_key(std::string_view line, std::size_t begin) {
        in_key_ = false;
        const std::string front = Redactor().line(line.substr(0, begin));
        const std::string before = front.substr(0, front.size() - 1);
        const auto end = line.find("-----END", begin);
        if (end == std::string_view::npos) {
            in_key_ = true;
            lines_ = 0;
            return trim(before).empty() ? "" : before + "\n";
        }
        const auto rest = line.find("-----", end + 8);
        return before + std::string(kTextMark) +
               (rest == std::string_view::npos ? "\n" : Redactor().line(line.substr(rest + 5)));
    }

    bool in_key_ = false;
    std::optional<std::size_t> below_;
    unsigned lines_ = 0;
};

}  // namespace

std::string redacted_text(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    Redactor redactor;
    for_each_line(text,
                  [&](std::string_view line, unsigned /*number*/) { out += redactor.line(line); });
    if (!text.ends_with('\n') && out.ends_with('\n')) out.pop_back();
    return out;
}

}  // namespace aliquot::bundle
