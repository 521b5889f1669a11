// SPDX-License-Identifier: Apache-2.0
#include "plan/drawing.h"

#include <algorithm>
#include <map>

#include "base/number.h"
#include "base/sentence.h"
#include "base/units.h"
#include "picture/svg.h"
#include "plan/pool.h"

namespace aliquot::plan {
namespace {

using picture::Anchor;
using picture::Ink;
using picture::Svg;

constexpr double kWidth = 760;
constexpr double kMargin = 20;
constexpr double kInside = kWidth - 2 * kMargin;
constexpr double kBarHeight = 44;
constexpr std::size_t kMostDrawn = 32;  // GPUs

std::string gib(double mib) { return decimal_text(mib / kMibPerGib, 1) + " GiB"; }

class PlanDrawing {
public:
    explicit PlanDrawing(const Plan& plan)
        : plan_(plan), svg_(kWidth, "GPUs and who gets how much of them", plan.recommendation) {
        y_ = svg_.paragraph({kMargin, y_}, plan.recommendation, kInside,
                            {.size = 15, .bold = true}) +
             4;
        for (const GpuUse& gpu : plan.gpus) most_mib_ = std::max(most_mib_, gpu.memory_mib);
        for (std::size_t i = 0; i < std::min(kMostDrawn, plan.gpus.size()); ++i) draw(plan.gpus[i]);
        if (plan.gpus.size() > kMostDrawn) {
            line("and " + counted(plan.gpus.size() - kMostDrawn, "GPU") + " more", Ink::kSoft);
        }
        without_gpu();
        if (!plan.gpus.empty()) legend();
    }

    std::string done() { return svg_.done(y_ + 4); }

private:
    void line(const std::string& words, Ink ink) {
        y_ = svg_.paragraph({kMargin, y_}, words, kInside, {.ink = ink}) + 4;
    }

    void draw(const GpuUse& gpu) {
        std::string what = std::string(to_text(gpu.mode));
        if (gpu.replicas > 1) what += ", " + counted(gpu.replicas, "share");
        std::string name = "GPU " + std::to_string(gpu.gpu) + "  " + gpu.model;
        if (!gpu.pool.empty()) name += "  " + gpu.pool;
        svg_.text({kMargin, y_}, name, {.bold = true, .most = kInside / 2});
        svg_.text({kWidth - kMargin, y_}, gib(gpu.memory_mib) + ", " + what,
                  {.anchor = Anchor::kEnd, .ink = Ink::kSoft, .most = kInside / 2});
        y_ += 8;
        const double scale = kInside / std::max(1.0, most_mib_);
        const double end = kMargin + gpu.memory_mib * scale;
        svg_.box({kMargin, y_, end - kMargin, kBarHeight},
                 {.fill = Ink::kPanel, .stroke = Ink::kLine, .round = 4});
        double x = kMargin;
        for (const std::size_t index : gpu.shares) {
            const Share& share = plan_.shares.at(index);
            const double wide = std::min(share.memory_mib * scale, end - x);
            if (wide > 0) piece(share, {x, y_, wide, kBarHeight});
            x += std::max(0.0, wide);
        }
        const double reserve = std::min(gpu.reserve_mib * scale, end - x);
        if (reserve > 1) {
            svg_.box({end - reserve, y_, reserve, kBarHeight},
                     {.stroke = Ink::kSoft, .dash = "2 3", .round = 4});
        }
        y_ += kBarHeight + 26;
    }

    void piece(const Share& share, const picture::Box& whole) {
        const Ink ink = inks_.emplace(share.workload, picture::hue(inks_.size())).first->second;
        const picture::Box box{whole.x + 1, whole.y + 2, whole.width - 2, whole.height - 4};
        svg_.box(box, {.fill = ink, .stroke = ink, .opacity = 0.25, .round = 3});
        if (share.need_mib > 0 && share.memory_mib > 0) {
            const double part = std::min(1.0, share.need_mib / share.memory_mib);
            svg_.box({box.x, box.y + box.height - 7, box.width * part, 7},
                     {.fill = ink, .round = 2});
        }
        const double middle = box.x + box.width / 2;
        const double room = box.width - 4;
        svg_.text({middle, box.y + 14}, share.workload + "-" + std::to_string(share.replica),
                  {.anchor = Anchor::kMiddle, .size = 12, .bold = true, .most = room});
        const std::string amount = share.profile.empty() ? gib(share.memory_mib) : share.profile;
        svg_.text({middle, box.y + 28}, amount,
                  {.anchor = Anchor::kMiddle, .ink = Ink::kSoft, .size = 11, .most = room});
    }

    void without_gpu() {
        std::vector<std::string> on_cpu;
        for (const Share& share : plan_.shares) {
            if (share.mode == Mode::kCpu)
                on_cpu.push_back(share.workload + "-" + std::to_string(share.replica));
        }
        const auto names = [](const std::vector<std::string>& all) {
            const std::vector<std::string> first(
                all.begin(),
                all.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(16, all.size())));
            return listed(first, [](const std::string& one) { return one; }) +
                   (all.size() > first.size()
                        ? " and " + std::to_string(all.size() - first.size()) + " more"
                        : "");
        };
        if (!on_cpu.empty()) line("on the CPU: " + names(on_cpu), Ink::kText);
        if (!plan_.unplaced.empty()) line("no place for " + names(plan_.unplaced), Ink::kBad);
    }

    void legend() {
        double x = kMargin;
        const auto entry = [&](const picture::Look& look, double height, std::string_view words) {
            svg_.box({x, y_ - height, 22, height}, look);
            svg_.text({x + 28, y_}, words, {.ink = Ink::kSoft, .size = 11});
            x += 28 + picture::width_of_words(words, 11) + 22;
        };
        entry({.fill = Ink::kHue0, .stroke = Ink::kHue0, .opacity = 0.25, .round = 3}, 11,
              "may use");
        entry({.fill = Ink::kHue0, .round = 2}, 7, "needs");
        entry({.stroke = Ink::kSoft, .dash = "2 3", .round = 3}, 11, "kept for the driver");
        entry({.fill = Ink::kPanel, .stroke = Ink::kLine, .round = 3}, 11, "free");
        y_ += 12;
    }

    const Plan& plan_;
    Svg svg_;
    double y_ = 32;
    double most_mib_ = 0;
    std::map<std::string, Ink> inks_;  // by workload
};

}  // namespace

std::string drawing(const Plan& plan) { return PlanDrawing(plan).done(); }

}  // namespace aliquot::plan
