// SPDX-License-Identifier: Apache-2.0
// aliquot pool spot: does a spot node pay for a job?
#include "cli/cluster/pool_spot.h"

#include <memory>
#include <ostream>

#include "base/number.h"
#include "base/sentence.h"
#include "base/time_text.h"
#include "base/units.h"
#include "catalog/gpu_instances.h"
#include "cli/answer.h"
#include "command_line/command.h"
#include "document/build.h"
#include "pools/spot.h"

namespace aliquot::cli {
namespace {

struct SpotWords {
    std::string type;
    double hours = 0;
    std::string checkpoint;
    std::string save = "30s";
    std::string restart = "6m";
    std::string deadline;
    std::optional<double> price;
    std::optional<double> spot_price;
    double notices = 0.05;
    std::string format = "text";
};

/// Hours; empty: it was said what is wrong.
std::optional<double> hours_of(Context& context, const char* flag, const std::string& text) {
    if (text.empty()) return 0.0;
    const auto duration = parse_duration(text);
    if (!duration) {
        fail(context, kUsage,
             std::string(flag) + ": '" + one_line(text, 40) +
                 "' is not a duration, expected one as 30s, 20m or 8h");
        return std::nullopt;
    }
    return std::chrono::duration<double, std::ratio<3600>>(*duration).count();
}

std::optional<pools::SpotJob> job_of(Context& context, const SpotWords& words) {
    pools::SpotJob job{.hours = words.hours};
    const auto checkpoint = hours_of(context, "--checkpoint", words.checkpoint);
    const auto save = hours_of(context, "--save", words.save);
    const auto restart = hours_of(context, "--restart", words.restart);
    const auto deadline = hours_of(context, "--deadline", words.deadline);
    if (!checkpoint || !save || !restart || !deadline) return std::nullopt;
    job.checkpoint_hours = *checkpoint;
    job.save_hours = *save;
    job.restart_hours = *restart;
    if (!words.deadline.empty()) job.deadline_hours = *deadline;
    return job;
}

std::optional<pools::SpotMarket> market_of(Context& context, const SpotWords& words) {
    const auto* const known = catalog::find_gpu_instance(words.type);
    if (known == nullptr && !words.price) {
        fail(context, kUsage,
             "'" + one_line(words.type, 60) + "' is not in the table of machines" +
                 did_you_mean(catalog::nearest_gpu_instance(words.type)) +
                 "; or give its price on demand: --price");
        return std::nullopt;
    }
    pools::SpotMarket market{
        .on_demand = words.price.value_or(known ? known->usd_per_hour : 0),
        .spot = words.spot_price.value_or(known ? known->spot_usd_per_hour : 0),
        .notices_per_hour = words.notices};
    if (market.spot <= 0) {
        fail(context, kUsage,
             "no spot price of " + one_line(words.type, 60) +
                 " is known; expected --spot-price USD, as the cloud tells it for your zone now");
        return std::nullopt;
    }
    return market;
}

void advise_spot(Context& context, const SpotWords& words) {
    const auto job = job_of(context, words);
    if (!job) return;
    const auto market = market_of(context, words);
    if (!market) return;
    const auto advice = pools::advise(*job, *market);
    if (!advice.pays) context.exit_code = kFindings;
    const double off =
        market->on_demand > 0 ? kPercent * (1 - market->spot / market->on_demand) : 0;
    if (words.format != "text") {
        return print_answer(
            context.out, "SpotAdvice",
            versioned(document::make_mapping({{"instance", words.type},
                                              {"pays", advice.pays},
                                              {"onDemandUsd", advice.on_demand_cost},
                                              {"onDemandHours", job->hours},
                                              {"spotUsd", advice.spot_cost},
                                              {"spotHours", advice.spot_hours},
                                              {"bestCheckpointHours", advice.best_checkpoint_hours},
                                              {"words", advice.words}})),
            words.format);
    }
    context.out << words.type << ": " << advice.words << '\n'
                << "  price: $" << fixed_text(market->spot, 3) << " an hour on spot, $"
                << fixed_text(market->on_demand, 3) << " on demand: " << fixed_text(off, 0)
                << " % less. Other zones and hours differ: 0 to 81 % less were seen, 60 to 90 % "
                   "are often promised\n"
                << "  taken back: " << fixed_text(market->notices_per_hour, 2)
                << " times an hour (--notices)\n";
    if (advice.best_checkpoint_hours > 0) {
        context.out << "  best distance of checkpoints: "
                    << fixed_text(60 * advice.best_checkpoint_hours, 0) << " min\n";
    }
}

}  // namespace

void add_pool_spot(command_line::Command& pool, Context& context) {
    command_line::Command* command =
        pool.add_subcommand("spot",
                            "Estimate whether a spot node pays off for a job: expected cost and "
                            "end, including repeated work\n\nExit code 1: it does not pay.");
    command->footer(
        "aliquot pool spot p5.48xlarge --hours 20 --checkpoint 30m --spot-price 17.63\n"
        "aliquot pool spot g5.xlarge --hours 8 --spot-price 0.42 --deadline 10h -o json");
    const auto words = std::make_shared<SpotWords>();
    command->add_option("INSTANCE", words->type, "Type of the machine", " ")
        ->required()
        ->complete_by("machine-types");
    command->add_option("--hours", words->hours, "How long the job takes", "HOURS")
        ->range(0.01, 100'000.0)
        ->required();
    command
        ->add_option("--spot-price", words->spot_price, "USD per hour; default: from the table",
                     "USD")
        ->range(0.0, 10'000.0);
    command
        ->add_option("--price", words->price, "USD per hour on demand; default: from the table",
                     "USD")
        ->range(0.0, 10'000.0);
    command->add_option("--checkpoint", words->checkpoint,
                        "Time between checkpoints; default: none are saved", "DURATION");
    command->add_option("--save", words->save, "How long saving a checkpoint takes",
                        "DURATION (30s)");
    command->add_option("--restart", words->restart, "How long until it continues elsewhere",
                        "DURATION (6m)");
    command->add_option("--deadline", words->deadline, "Latest end of the job", "DURATION");
    command
        ->add_option("--notices", words->notices, "How many times per hour a node is reclaimed",
                     "N (0.05)")
        ->range(0.0, 60.0);
    add_output(*command, words->format, {"text"});
    command->callback([words, &context] { advise_spot(context, *words); });
}

}  // namespace aliquot::cli
