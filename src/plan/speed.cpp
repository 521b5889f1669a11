// SPDX-License-Identifier: Apache-2.0
// Expected speed. With n busy sharers each gets 1/n of the time: speedup_n = s / n x (1 - overhead).
#include <algorithm>

#include "base/number.h"
#include "base/units.h"
#include "plan/known_work.h"
#include "plan/mig.h"
#include "plan/steps.h"

namespace aliquot::plan {
namespace {

std::string seconds(double from, double to) {
    return decimal_text(from) + " to " + decimal_text(to) + " s";
}

/// Part of a GPU's speed that one of the sharers has when all of them work.
double part_when_busy(const Share& share, const GpuUse& use) {
    switch (share.mode) {
        case Mode::kMig:
            return share.compute_percent / kPercent;
        case Mode::kFraction:
        case Mode::kTimeSlicing:
        case Mode::kMps:
            return 1.0 / static_cast<double>(std::max<std::size_t>(1, use.shares.size()));
        case Mode::kExclusive:
        case Mode::kSerial:
        case Mode::kCpu:
            break;
    }
    return 1;
}

void add_times(Speed& speed, const Workload& w, const Share& share) {
    if (w.cpu_seconds > 0) speed.cpu = decimal_text(w.cpu_seconds) + " s";
    if (w.gpu_seconds > 0) speed.gpu = decimal_text(w.gpu_seconds) + " s";
    if (w.cpu_seconds > 0 && w.gpu_seconds > 0) speed.alone = w.cpu_seconds / w.gpu_seconds;
    const KnownWork* const known = known_work(w.name);
    if (known == nullptr || speed.alone > 0) return;
    speed.work = known->work;
    if (speed.cpu.empty()) speed.cpu = seconds(known->cpu_from, known->cpu_to);
    speed.gpu = seconds(known->gpu_from, known->gpu_to) + " (on an A2 alone)";
    if (share.mode != Mode::kCpu) speed.alone = kKnownSpeedup;
}

std::string formula_of(const Speed& speed, Mode mode) {
    if (mode == Mode::kMig) {
        return "s x slices = " + decimal_text(speed.alone) + " x " +
               decimal_text(speed.part_of_gpu) + " = " + decimal_text(speed.all_busy) +
               " at worst (work that does not fill the GPU "
               "loses less)";
    }
    return "s / n x (1 - overhead) = " + decimal_text(speed.alone) + " / " +
           std::to_string(speed.sharers) + " x (1 - 0) = " + decimal_text(speed.all_busy);
}

}  // namespace

void add_speed(Plan& plan, const Request& request) {
    for (const Workload& w : request.workloads) {
        const auto share = std::ranges::find(plan.shares, w.name, &Share::workload);
        if (share == plan.shares.end()) continue;
        Speed speed;
        speed.workload = w.name;
        add_times(speed, w, *share);
        const auto use = std::ranges::find(plan.gpus, share->gpu, &GpuUse::gpu);
        if (share->mode == Mode::kCpu || use == plan.gpus.end()) {
            speed.part_of_gpu = 0;
            speed.verdict = "stays on the CPU: fast enough";
            plan.speed.push_back(std::move(speed));
            continue;
        }
        speed.sharers = static_cast<unsigned>(use->shares.size());
        if (share->mode == Mode::kSerial) speed.sharers = 1;
        speed.part_of_gpu = part_when_busy(*share, *use);
        if (speed.alone > 0) {
            speed.all_busy = speed.alone * speed.part_of_gpu;
            speed.formula = formula_of(speed, share->mode);
            speed.verdict = "about " + decimal_text(speed.alone, 1) + " times the CPU";
            if (speed.sharers > 1)
                speed.verdict += " alone, " + decimal_text(speed.all_busy, 1) + " times when all " +
                                 std::to_string(speed.sharers) + " are busy" +
                                 (speed.all_busy > 1 ? "" : ": not faster than the CPU then");
        } else {
            speed.verdict = decimal_text(speed.part_of_gpu * kPercent, 0) +
                            " % of its speed alone when all " + std::to_string(speed.sharers) +
                            " are busy, all of it otherwise";
            if (speed.part_of_gpu == 1) speed.verdict = "the whole GPU to itself";
            if (share->mode == Mode::kMig) {
                speed.verdict = "always " + decimal_text(speed.part_of_gpu * kPercent, 0) +
                                " % of the GPU's multiprocessors";
            }
        }
        plan.speed.push_back(std::move(speed));
    }
}

}  // namespace aliquot::plan
