// SPDX-License-Identifier: Apache-2.0
#include "mig/drawing.h"

#include <algorithm>
#include <map>

#include "base/sentence.h"
#include "picture/svg.h"

namespace aliquot::mig {
namespace {

using picture::Anchor;
using picture::Ink;
using picture::Svg;

constexpr double kWidth = 760;
constexpr double kMargin = 20;
constexpr double kBar = 100;  // where bars begin
constexpr double kBarHeight = 46;
constexpr double kRow = kBarHeight + 12;

unsigned slices_of(const DrawnChange& gpu) {
    unsigned most = std::max(1U, gpu.slices);
    for (const auto* const layout : {&gpu.now, &gpu.after}) {
        for (const Instance& one : *layout) most = std::max(most, one.start + one.size);
    }
    return most;
}

bool is_step(const DrawnChange& gpu, Step::Action action, const Instance& instance) {
    return gpu.refusal.empty() && std::ranges::any_of(gpu.steps, [&](const Step& step) {
               return step.action == action && step.instance.profile == instance.profile &&
                      step.instance.start == instance.start;
           });
}

class Drawing {
public:
    explicit Drawing(const std::vector<DrawnChange>& gpus)
        : svg_(kWidth, "How GPUs are cut by MIG, now and after", description_of(gpus)) {
        for (const DrawnChange& gpu : gpus) draw(gpu);
    }

    std::string done() { return svg_.done(y_ + kMargin / 2); }

private:
    static std::string description_of(const std::vector<DrawnChange>& gpus) {
        constexpr std::size_t kMost = 8;
        std::string text;
        for (std::size_t i = 0; i < std::min(kMost, gpus.size()); ++i) {
            const DrawnChange& gpu = gpus[i];
            text += gpu.name + ": ";
            text += gpu.refusal.empty() ? counted(gpu.steps.size(), "step") : gpu.refusal;
            text += ". ";
        }
        return text;
    }

    void draw(const DrawnChange& gpu) {
        y_ += 14;
        svg_.text({kMargin, y_}, gpu.name,
                  {.size = 15, .bold = true, .most = kWidth - 2 * kMargin});
        y_ += 12;
        row(gpu, "now", gpu.now, Step::Action::kDestroy);
        row(gpu, gpu.refusal.empty() ? "after" : "nearest", gpu.after, Step::Action::kCreate);
        numbers(slices_of(gpu));
        y_ += 6;
        const auto words = [&](std::string_view text, Ink ink) {
            y_ = svg_.paragraph({kBar, y_ + 12}, text, kWidth - kBar - kMargin, {.ink = ink}) - 6;
        };
        if (!gpu.refusal.empty()) words("cannot: " + gpu.refusal, Ink::kBad);
        if (gpu.refusal.empty()) words(steps_of(gpu), Ink::kSoft);
        if (!gpu.remark.empty()) words(gpu.remark, Ink::kSoft);
        y_ += 22;
    }

    static std::string steps_of(const DrawnChange& gpu) {
        if (gpu.steps.empty()) return "nothing to do";
        return counted(gpu.steps.size(), "step") + ": " + listed(gpu.steps, [](const Step& step) {
                   const bool away = step.action == Step::Action::kDestroy;
                   return std::string(away ? "destroy " : "create ") + step.instance.profile + '@' +
                          std::to_string(step.instance.start);
               });
    }

    void row(const DrawnChange& gpu, std::string_view name, const std::vector<Instance>& layout,
             Step::Action changed) {
        svg_.text({kMargin, y_ + kBarHeight / 2 + 5}, name, {.ink = Ink::kSoft});
        const double wide = kWidth - kBar - kMargin;
        const double slice = wide / slices_of(gpu);
        svg_.box({kBar, y_, wide, kBarHeight},
                 {.fill = Ink::kPanel, .stroke = Ink::kLine, .round = 4});
        for (unsigned i = 1; i < slices_of(gpu); ++i) {
            const double x = kBar + slice * i;
            svg_.line({x, y_}, {x, y_ + kBarHeight}, {.stroke = Ink::kLine, .dash = "2 3"});
        }
        for (const Instance& one : layout) {
            instance(one,
                     {kBar + slice * one.start + 2, y_ + 2, slice * one.size - 4, kBarHeight - 4},
                     is_step(gpu, changed, one), changed);
        }
        y_ += kRow;
    }

    void instance(const Instance& one, const picture::Box& box, bool changed, Step::Action how) {
        const auto known = inks_.emplace(one.profile, picture::hue(inks_.size())).first;
        const bool away = changed && how == Step::Action::kDestroy;
        svg_.box(box, {.fill = known->second,
                       .stroke = away ? Ink::kBad : known->second,
                       .width = changed ? 2.5 : 1.0,
                       .dash = away ? "6 4" : "",
                       .opacity = away ? 0.12 : 0.3,
                       .round = 4});
        std::string state = one.busy ? "in use" : "";
        if (changed) state = away ? "goes" : "new";
        const double middle = box.x + box.width / 2;
        const double room = box.width - 6;
        svg_.text({middle, box.y + (state.empty() ? 26 : 19)}, one.profile,
                  {.anchor = Anchor::kMiddle, .bold = true, .most = room});
        svg_.text({middle, box.y + 34}, state,
                  {.anchor = Anchor::kMiddle,
                   .ink = away ? Ink::kBad : Ink::kSoft,
                   .size = 11,
                   .most = room});
    }

    /// The numbers of the memory slices, below the bars.
    void numbers(unsigned slices) {
        const double slice = (kWidth - kBar - kMargin) / slices;
        for (unsigned i = 0; i < slices; ++i) {
            svg_.text({kBar + slice * (i + 0.5), y_ + 2}, std::to_string(i),
                      {.anchor = Anchor::kMiddle, .ink = Ink::kSoft, .size = 11});
        }
        svg_.text({kMargin, y_ + 2}, "slice", {.ink = Ink::kSoft, .size = 11});
        y_ += 8;
    }

    Svg svg_;
    double y_ = kMargin;
    std::map<std::string, Ink> inks_;  // by profile
};

}  // namespace

std::string drawing(const std::vector<DrawnChange>& gpus) { return Drawing(gpus).done(); }

}  // namespace aliquot::mig
