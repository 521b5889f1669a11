// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "base/number.h"
#include "sim/smi/arguments.h"
#include "sim/smi/request.h"

namespace aliquot::sim::smi {
namespace {

using Action = MigRequest::Action;

struct Word {
    const char* short_name;
    const char* long_name;
    Action action;
};

constexpr std::array<Word, 9> kActions = {{
    {"-lgip", "--list-gpu-instance-profiles", Action::kListProfiles},
    {"-lgipp", "--list-gpu-instance-possible-placements", Action::kListPlacements},
    {"-lgi", "--list-gpu-instances", Action::kListGpuInstances},
    {"-lcip", "--list-compute-instance-profiles", Action::kListComputeProfiles},
    {"-lci", "--list-compute-instances", Action::kListComputeInstances},
    {"-cgi", "--create-gpu-instance", Action::kCreateGpuInstances},
    {"-cci", "--create-compute-instance", Action::kCreateComputeInstances},
    {"-dgi", "--destroy-gpu-instance", Action::kDestroyGpuInstances},
    {"-dci", "--destroy-compute-instance", Action::kDestroyComputeInstances},
}};

Result<Done> read_ids(const std::optional<std::string>& text, const std::string& option,
                      std::vector<unsigned>& ids) {
    if (!text) return invalid("Option '" + option + "' needs a value.");
    for (const std::string& part : list_in(*text)) {
        const auto id = parse_number<unsigned>(part);
        if (!id) return invalid("Instance ID '" + part + "' is not a number.");
        ids.push_back(*id);
    }
    return Done{};
}

Result<Done> read_action(Reader& reader, const Word& word, MigRequest& request) {
    if (request.action != Action::kNone) {
        return invalid("mig: only one of -lgip, -lgi, -cgi, -dgi and the like at a time.");
    }
    request.action = word.action;
    const bool gpu = word.action == Action::kCreateGpuInstances;
    if (!gpu && word.action != Action::kCreateComputeInstances) return Done{};
    request.profiles = list_in(reader.value().value_or(""));
    if (gpu && request.profiles.empty()) {
        return invalid("Option '-cgi' needs profiles: IDs or names, with commas.");
    }
    return Done{};
}

}  // namespace

Result<Request> parse_mig_request(std::span<const std::string> arguments) {
    Request request;
    request.kind = Request::Kind::kMig;
    Reader reader(arguments);
    while (reader.next()) {
        const std::string option = reader.option();
        const Word* action = nullptr;
        for (const Word& word : kActions) {
            if (reader.is(word.short_name, word.long_name)) action = &word;
        }
        Result<Done> read = Done{};
        if (action != nullptr) {
            read = read_action(reader, *action, request.mig);
        } else if (reader.is("-C", "--default-compute-instance")) {
            request.mig.fill = true;
        } else if (reader.is("-i", "--id")) {
            request.gpus = list_in(reader.value().value_or(""));
            if (request.gpus.empty()) read = invalid("Option '-i' needs a value.");
        } else if (reader.is("-gi", "--gpu-instance-id")) {
            read = read_ids(reader.value(), option, request.mig.gpu_instances);
        } else if (reader.is("-ci", "--compute-instance-id")) {
            read = read_ids(reader.value(), option, request.mig.compute_instances);
        } else {
            read = invalid("Option '" + option + "' of mig is not known.");
        }
        if (!read) return std::move(read).error();
    }
    if (request.mig.action == Action::kNone) {
        return invalid("mig: say what to do, as -lgip, -lgi, -cgi 19 -C or -dci.");
    }
    return request;
}

}  // namespace aliquot::sim::smi
