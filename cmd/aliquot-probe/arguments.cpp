// SPDX-License-Identifier: Apache-2.0
#include "cmd/aliquot-probe/arguments.h"

#include <array>
#include <string_view>

#include "base/number.h"
#include "grant/mechanism.h"
#include "k8s/memory_amount.h"

namespace aliquot::probe {
namespace {

constexpr unsigned kMostGpus = 256;
constexpr unsigned kMostHoldSeconds = 3600;
constexpr std::uint64_t kLeastMemory = 16ULL << 20U;

constexpr unsigned kMostWorkSeconds = 60;
constexpr std::array<std::string_view, 6> kWithValue{
    "--expect-gpus", "--expect-memory", "--shared-by", "--hold", "--work", "--seconds"};

Error wrong(std::string_view option, std::string_view text, std::string_view expected) {
    return {ErrorCode::kInvalidInput, std::string(option) + ": '" + std::string(text) +
                                          "' is wrong; expected " + std::string(expected)};
}

std::optional<unsigned> number(std::string_view text, unsigned most) {
    const auto value = parse_number<unsigned>(text);
    return value && *value <= most ? value : std::nullopt;
}

Result<Done> take(Arguments& arguments, std::string_view option, std::string_view text) {
    if (option == "--expect-gpus") {
        arguments.expect_gpus = number(text, kMostGpus);
        if (!arguments.expect_gpus) return wrong(option, text, "a number, at most 256");
        return Done{};
    }
    if (option == "--hold") {
        const auto seconds = number(text, kMostHoldSeconds);
        if (!seconds) return wrong(option, text, "seconds, at most 3600");
        arguments.hold_seconds = *seconds;
        return Done{};
    }
    if (option == "--shared-by") {
        const grant::Mechanism mechanism = grant::parse_node_text(text);
        if (mechanism == grant::Mechanism::kUnknown) {
            return wrong(option, text, "none, time-slicing, memory, mps or mig");
        }
        arguments.time_slices = mechanism == grant::Mechanism::kTimeSlicing;
        return Done{};
    }
    if (option == "--work") {
        if (text != "cpu" && text != "cuda") return wrong(option, text, "cpu or cuda");
        arguments.work = text == "cpu" ? Arguments::Work::kCpu : Arguments::Work::kGpu;
        return Done{};
    }
    if (option == "--seconds") {
        const auto seconds = number(text, kMostWorkSeconds);
        if (seconds.value_or(0) == 0) return wrong(option, text, "seconds, 1 to 60");
        arguments.work_seconds = *seconds;
        return Done{};
    }
    const auto bytes = k8s::parse_bytes(text);
    if (!bytes || *bytes < kLeastMemory) return wrong(option, text, "memory, 16Mi or more");
    arguments.expect_memory_bytes = *bytes;
    return Done{};
}

}  // namespace

const char* const kHelp =
    "aliquot-probe: says from inside a container which GPUs it sees, whether they compute right\n"
    "and whether its share of memory holds\n\n"
    "  --expect-gpus N        so many must be visible, no more and no fewer\n"
    "  --expect-memory SIZE   the share of one GPU, as 3839Mi: more must be refused\n"
    "  --shared-by MECHANISM  none, time-slicing, memory, mps or mig; time slices limit no memory\n"
    "  --hold SECONDS         stay on the GPU so long after the answer, or until SIGTERM\n"
    "  --work cpu|cuda        compute for a while instead, and print how long 1000 rounds take:\n"
    "                         what aliquot bench runs\n"
    "  --seconds N            of --work (2)\n"
    "  --version              print the version\n\n"
    "Prints one JSON object: driver, gpus, visible, arithmetic, share, problem.\n"
    "Exit code 0: all well; 1: something is not; 2: wrong usage; 3: there is no GPU or no driver "
    "to\n"
    "ask.\n\n"
    "Example: aliquot-probe --expect-gpus 1 --expect-memory 3839Mi\n";

Result<Arguments> read_arguments(std::span<const char* const> words) {
    Arguments arguments;
    for (std::size_t i = 0; i < words.size(); ++i) {
        std::string_view option = words[i];
        if (option == "-h" || option == "--help") {
            arguments.help = true;
            continue;
        }
        if (option == "--version") {
            arguments.version = true;
            continue;
        }
        std::optional<std::string_view> value;
        if (const auto sign = option.find('='); sign != std::string_view::npos) {
            value = option.substr(sign + 1);
            option = option.substr(0, sign);
        }
        bool known = false;
        for (const std::string_view one : kWithValue) known = known || one == option;
        if (!known) {
            return Error{ErrorCode::kInvalidInput,
                         "there is no option '" + std::string(option) +
                             "'; expected --expect-gpus, --expect-memory, --shared-by, "
                             "--hold, --work or --seconds"};
        }
        if (!value && i + 1 == words.size()) {
            return Error{ErrorCode::kInvalidInput, std::string(option) + " needs a value"};
        }
        if (!value) value = words[++i];
        if (auto taken = take(arguments, option, *value); !taken) return taken.error();
    }
    return arguments;
}

}  // namespace aliquot::probe
