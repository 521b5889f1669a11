// SPDX-License-Identifier: Apache-2.0
// With n busy sharers each gets 1/n of the time: speedup_n = s / n x (1 - overhead); alone it stays s.
#include "plan/comparison.h"

#include <algorithm>
#include <cmath>

#include "base/number.h"
#include "base/units.h"

namespace aliquot::plan {
namespace {

constexpr double kClearly = 1.1;         // less is not worth another way to run it
constexpr double kMuchOverhead = 0.25;   // of the GPU's work, lost by sharing
constexpr double kLittleOverhead = 0.1;  // less is what turns cost
constexpr double kNearlyWhole = 0.9;     // of a whole GPU's speed

/// A ratio of two times, and how far it may be off.
struct Ratio {
    double value = 0;
    double least = 0;
    double most = 0;
    [[nodiscard]] bool straddles(double limit) const { return least < limit && limit < most; }
};

Ratio ratio_of(const TimeSummary& slow, const TimeSummary& fast) {
    return {slow.median / fast.median, slow.least / fast.most, slow.most / fast.least};
}

std::string times(double value) { return decimal_text(value, value < 10 ? 2 : 1) + " times"; }

std::string percent(double part) { return decimal_text(part * kPercent, 0) + " %"; }

std::string against_known(double speedup, const KnownWork& known) {
    const double least = known.cpu_from / known.gpu_to;
    const double most = known.cpu_to / known.gpu_from;
    const std::string text = "expected of " + std::string(known.work) + " on an A2: about " +
                             decimal_text(kKnownSpeedup) + " times (" + decimal_text(least) +
                             " to " + decimal_text(most) + "); measured " + decimal_text(speedup);
    if (speedup < least)
        return text + ": less; is the model loaded in each run, is the GPU slower?";
    if (speedup > most) return text + ": more; a faster GPU, or a slower CPU";
    return text + ": as expected";
}

std::string shared_reason(const Comparison& made, unsigned sharers) {
    const std::string n = std::to_string(sharers);
    std::string text = n + " at work at once: each has " + percent(made.part_shared) +
                       " of the GPU's speed, " + percent(1.0 / sharers) + " is expected; ";
    if (made.overhead > kMuchOverhead) {
        text += percent(made.overhead) + " of the GPU's work is lost by sharing";
    } else if (made.overhead > kLittleOverhead) {
        text += "overhead " + percent(made.overhead);
    } else if (made.overhead >= -kLittleOverhead) {
        text += "as expected";
    } else {
        text += "together they do " + times(1 - made.overhead) +
                " the work of one: it does not fill the GPU alone";
    }
    return text;
}

std::string alone_reason(const Comparison& made) {
    const std::string text = "a share while the others are idle: " + percent(made.part_alone) +
                             " of the GPU's speed, 100 % is expected";
    return text + (made.part_alone < kNearlyWhole ? ": the limits of the share cost the rest"
                                                  : ": as expected");
}

void judge(Comparison& made, unsigned sharers) {
    const std::string n = std::to_string(sharers);
    if (!made.cpu) {
        const bool pays = made.overhead <= kMuchOverhead;
        made.verdict = pays ? Verdict::kShare : Verdict::kOwnGpu;
        made.sentence = pays ? "share the GPU: " + n + " at once do " + times(1 - made.overhead) +
                                   " the work of one"
                             : "give it a GPU of its own: " + n + " at once lose " +
                                   percent(made.overhead) + " of the GPU's work";
        const Ratio work = ratio_of(made.gpu, made.shared);
        if (Ratio{0, work.least * sharers, work.most * sharers}.straddles(1 - kMuchOverhead)) {
            made.verdict = Verdict::kNotSure;
        }
        return;
    }
    const Ratio alone = ratio_of(*made.cpu, made.gpu);
    const Ratio shared = ratio_of(*made.cpu, made.shared);
    if (alone.value < kClearly) {
        made.verdict = alone.straddles(kClearly) ? Verdict::kNotSure : Verdict::kCpu;
        made.sentence = "keep it on the CPU: a whole GPU is " + times(alone.value) + " as fast";
    } else if (shared.value < kClearly) {
        made.verdict = shared.straddles(kClearly) ? Verdict::kNotSure : Verdict::kOwnGpu;
        made.sentence = "not " + n + " at once: alone it is " + times(alone.value) +
                        " as fast as the CPU, with all " + n + " at work " + times(shared.value);
    } else {
        made.verdict = alone.straddles(kClearly) || shared.straddles(kClearly) ? Verdict::kNotSure
                                                                               : Verdict::kShare;
        made.sentence = "share the GPU: with all " + n + " at work each is " + times(shared.value) +
                        " as fast as the CPU, alone " + times(alone.value);
    }
}

}  // namespace

std::string_view to_text(Verdict verdict) {
    switch (verdict) {
        case Verdict::kShare:
            return "share";
        case Verdict::kOwnGpu:
            return "own-gpu";
        case Verdict::kCpu:
            return "cpu";
        case Verdict::kNotSure:
            return "not-sure";
        case Verdict::kUnused:
            return "gpu-unused";
    }
    return "not-sure";
}

TimeSummary summary_of(std::vector<double> seconds) {
    std::ranges::sort(seconds);
    const std::size_t middle = seconds.size() / 2;
    const double median =
        seconds.size() % 2 == 1 ? seconds[middle] : (seconds[middle - 1] + seconds[middle]) / 2;
    return {.median = median, .least = seconds.front(), .most = seconds.back()};
}

Comparison compare(const Measured& measured, const KnownWork* known) {
    Comparison made;
    made.gpu = summary_of(measured.gpu);
    made.share_alone = summary_of(measured.share_alone);
    made.shared = summary_of(measured.shared);
    made.part_alone = made.gpu.median / made.share_alone.median;
    made.part_shared = made.gpu.median / made.shared.median;
    made.overhead = 1 - measured.sharers * made.part_shared;
    if (!measured.cpu.empty()) {
        made.cpu = summary_of(measured.cpu);
        made.speedup_gpu = made.cpu->median / made.gpu.median;
        made.speedup_share_alone = made.cpu->median / made.share_alone.median;
        made.speedup_shared = made.cpu->median / made.shared.median;
        made.expected_shared = *made.speedup_gpu / measured.sharers;
    }
    if (!measured.used_gpu) {
        made.verdict = Verdict::kUnused;
        made.sentence =
            "nothing to compare: the program did no work on the GPU; does it get the device it "
            "shall use ({device} in its words)?";
        return made;
    }
    judge(made, measured.sharers);
    if (made.verdict == Verdict::kNotSure) {
        made.sentence =
            "the runs differ too much to tell; more of them (--runs) or a quiet machine "
            "help. By the medians: " +
            made.sentence;
    }
    if (made.speedup_gpu && known != nullptr) {
        made.reasons.push_back(against_known(*made.speedup_gpu, *known));
    }
    made.reasons.push_back(alone_reason(made));
    made.reasons.push_back(shared_reason(made, measured.sharers));
    if (made.speedup_shared) {
        made.reasons.push_back(
            "times the CPU with all at work: s / n = " + decimal_text(*made.speedup_gpu) + " / " +
            std::to_string(measured.sharers) + " = " + decimal_text(*made.expected_shared) +
            " without overhead, measured " + decimal_text(*made.speedup_shared));
    }
    return made;
}

}  // namespace aliquot::plan
