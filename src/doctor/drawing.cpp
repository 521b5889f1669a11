// SPDX-License-Identifier: Apache-2.0
#include "doctor/drawing.h"

#include <algorithm>

#include "base/sentence.h"
#include "doctor/tally.h"
#include "doctor/text.h"
#include "picture/svg.h"

namespace aliquot::doctor {
namespace {

using picture::Anchor;
using picture::Ink;
using picture::Svg;

constexpr double kDrawnWidth = 760;
constexpr double kMargin = 20;
constexpr double kChain = 34;  // x of the marks
constexpr double kTextFrom = 64;
constexpr double kNameRoom = 150;  // how wide the names of levels are
constexpr double kRoom = kDrawnWidth - kTextFrom - kNameRoom - kMargin;
constexpr double kLinkLength = 26;
constexpr std::size_t kMostDrawn = 600;

struct Sign {
    std::string_view mark;
    std::string_view word;
    Ink ink = Ink::kSoft;
};

Sign sign_of(const Tally& all) {
    if (all.failed > 0) return {"×", "broken", Ink::kBad};
    if (all.bad > 0) return {"!", "warning", Ink::kWarning};
    if (all.ok > 0) return {"✓", "ok", Ink::kGood};
    if (all.blocked > 0) return {"–", "not judged", Ink::kSoft};
    return {"?", "unknown", Ink::kSoft};
}

std::string first_fix(const Verdict& verdict) {
    if (verdict.fixes.empty()) return {};
    const Fix& fix = verdict.fixes.front();
    return std::string(fix.kind == Fix::Kind::kCommand ? "Fix: " : "To do: ") +
           clip(fix.text, kMostDrawn);
}

class Chain {
public:
    explicit Chain(const Report& report)
        : report_(report), svg_(kDrawnWidth, title_of(report), description_of(report)) {
        y_ = svg_.paragraph({kMargin, y_}, title_of(report), kDrawnWidth - 2 * kMargin,
                            {.size = 15, .bold = true});
        y_ = svg_.paragraph({kMargin, y_}, clip(report.title), kDrawnWidth - 2 * kMargin,
                            {.ink = Ink::kSoft}) +
             12;
        bool first = true;
        for (unsigned number = 0; number < kLevels; ++number) {
            const auto level = static_cast<Level>(number);
            const Tally all = tally(report, level);
            if (all.judged() + all.blocked == 0) continue;
            draw(level, all, first);
            first = false;
        }
    }

    std::string done() { return svg_.done(y_ - 4); }

private:
    static std::string title_of(const Report& report) {
        const std::string what(to_text(report.target.kind));
        const std::string name =
            report.target.name.empty() ? what : what + " " + clip(report.target.name);
        if (!report.success()) return name + ": which layer is broken";
        return name + (report.of_speed ? ": what holds it back" : ": every layer holds");
    }

    static std::string description_of(const Report& report) {
        std::string text;
        for (unsigned number = 0; number < kLevels; ++number) {
            const auto level = static_cast<Level>(number);
            const Tally all = tally(report, level);
            if (all.judged() + all.blocked == 0) continue;
            if (!text.empty()) text += ", ";
            text += std::string(to_text(level)) + ' ' + std::string(sign_of(all).word);
        }
        return text;
    }

    void draw(Level level, const Tally& all, bool first) {
        const Sign sign = sign_of(all);
        if (!first) link(all.blocked > 0 && all.judged() == 0);
        const double top = y_;
        svg_.text({kTextFrom, y_ + 5}, to_text(level), {.bold = true, .most = kNameRoom - 8});
        const double x = kTextFrom + kNameRoom;
        if (all.bad > 0) {
            svg_.text({x, y_ + 5}, sign.word, {.ink = sign.ink, .bold = true});
            y_ += 24;
            for (const Judged& one : report_.checks) {
                if (one.level == level && is_bad(one)) reason(one);
            }
            y_ -= 14;
        } else {
            svg_.text({x, y_ + 5}, word_of(sign, all), {.ink = sign.ink, .most = kRoom});
        }
        svg_.circle({kChain, top}, 11, {.fill = Ink::kPaper, .stroke = sign.ink, .width = 2});
        svg_.text({kChain, top + 5}, sign.mark,
                  {.anchor = Anchor::kMiddle, .ink = sign.ink, .bold = true});
        bottom_ = top + 11;
        y_ = std::max(y_, top) + kLinkLength + 10;
    }

    static std::string word_of(const Sign& sign, const Tally& all) {
        if (all.ok > 0) return std::string(sign.word) + ", " + counted(all.ok, "check");
        if (all.blocked > 0) return std::string(sign.word) + ": " + all.blocker + " comes first";
        return std::string(sign.word);
    }

    void reason(const Judged& one) {
        const double x = kTextFrom + kNameRoom;
        const Ink ink = one.verdict.outcome == Outcome::kFailed ? Ink::kBad : Ink::kWarning;
        const double from = y_ - 12;
        y_ = svg_.paragraph({x + 12, y_}, one.id + " " + clip(one.verdict.message, kMostDrawn),
                            kRoom - 12);
        const std::string fix = first_fix(one.verdict);
        const bool cause =
            std::ranges::find(report_.root_causes, one.id) != report_.root_causes.end();
        if (!fix.empty() && (cause || report_.root_causes.empty())) {
            y_ = svg_.paragraph({x + 12, y_}, fix, kRoom - 12, {.ink = Ink::kSoft});
        }
        svg_.line({x + 2, from}, {x + 2, y_ - 13}, {.stroke = ink, .width = 3});
        y_ += 6;
    }

    /// From the mark above to the one that comes.
    void link(bool cut) {
        svg_.line({kChain, bottom_ + 2}, {kChain, y_ - 13},
                  {.stroke = cut ? Ink::kBad : Ink::kLine, .width = 2, .dash = cut ? "2 3" : ""});
    }

    const Report& report_;
    Svg svg_;
    double y_ = 32;
    double bottom_ = 0;  // of the last mark
};

}  // namespace

std::string drawing(const Report& report) { return Chain(report).done(); }

}  // namespace aliquot::doctor
