// SPDX-License-Identifier: Apache-2.0
// Programs that are started for more GPUs than they get (RUN006), and flags with a value out of its
// range (RUN007).
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>

#include "base/number.h"
#include "base/text.h"
#include "document/path.h"
#include "findings/finding.h"
#include "lint/families.h"
#include "lint/kept.h"
#include "lint/words.h"

namespace aliquot::lint {
namespace {

struct Piece {
    std::string text;
    Mark mark;
};

/// Flags whose product is the number of GPUs that one program takes on one node.
bool counts_gpus(std::string_view flag) {
    constexpr std::array<std::string_view, 18> kFlags{"--nproc_per_node",
                                                      "--nproc-per-node",
                                                      "--tensor-parallel-size",
                                                      "-tp",
                                                      "--tensor_parallel_size",
                                                      "--pipeline-parallel-size",
                                                      "-pp",
                                                      "--tp-size",
                                                      "--tp",
                                                      "--num-shard",
                                                      "--num_gpus",
                                                      "--pipeline_parallel_size",
                                                      "--num-gpus",
                                                      "--tensor-parallel",
                                                      "--num-shards",
                                                      "--ngpus",
                                                      "--world-size-per-node",
                                                      "--pp-size"};
    return std::find(kFlags.begin(), kFlags.end(), flag) != kFlags.end();
}

/// Programs whose flags are those above; what others mean by --tp or --num-gpus we do not know.
bool is_launcher(std::string_view word) {
    constexpr std::array<std::string_view, 12> kNames{"torchrun",
                                                      "vllm",
                                                      "sglang",
                                                      "text-generation-launcher",
                                                      "deepspeed",
                                                      "torch.distributed.run",
                                                      "torch.distributed.launch",
                                                      "vllm.entrypoints",
                                                      "sglang.launch_server",
                                                      "sglang_router",
                                                      "text-generation-inference",
                                                      "vllm-openai"};
    return std::any_of(kNames.begin(), kNames.end(), [word](std::string_view name) {
        return word == name || word.starts_with(std::string(name) + '.') ||
               word.ends_with('/' + std::string(name)) || contains(word, std::string(name) + ':');
    });
}

/// Flags that take a part of one GPU's memory: above 0, at most 1.
bool is_fraction(std::string_view flag) {
    return flag == "--gpu-memory-utilization" || flag == "--gpu_memory_utilization" ||
           flag == "--mem-fraction-static" || flag == "--cuda-memory-fraction";
}

/// The value of a flag: behind '=', or the next word.
std::string_view value_of(const std::vector<Piece>& pieces, std::size_t at) {
    const std::string& text = pieces[at].text;
    const auto equals = text.find('=');
    if (equals != std::string::npos) return std::string_view(text).substr(equals + 1);
    return at + 1 < pieces.size() ? std::string_view(pieces[at + 1].text) : std::string_view();
}

/// Holds the words of one program against the GPUs that it gets; 0: not known.
void check_words(const std::vector<Piece>& pieces, double gpus, bool launcher, Report& report) {
    double wanted = 1;
    const Piece* largest = nullptr;
    double most = 1;
    bool together = false;  // several machines: all but the processes of each count theirs, too
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        const std::string& text = pieces[i].text;
        launcher = launcher || is_launcher(text);
        if (contains(text, "--nnodes") || text == "ray") together = true;
        if (!text.starts_with("-")) continue;
        const std::string_view flag = std::string_view(text).substr(0, text.find('='));
        const std::string_view value = trim(value_of(pieces, i), "\"'");
        if (value.empty() || is_placeholder(value) || contains(value, "$")) continue;
        if (is_fraction(flag)) {
            const auto number = parse_number<double>(value);
            if (!number || (*number > 0 && *number <= 1)) continue;
            report
                .add("RUN007", pieces[i].mark,
                     std::string(flag) + " is " + std::string(value) + ", not a part of one GPU")
                .expected(*number > 1 && *number <= 100 ? std::to_string(*number / 100).substr(0, 4)
                                                        : "above 0, at most 1");
        } else if (counts_gpus(flag)) {
            const auto number = parse_number<unsigned>(value);
            if (!number || *number == 0) continue;
            wanted *= *number;
            if (*number < most) continue;
            most = *number;
            largest = &pieces[i];
        }
    }
    const bool each = largest != nullptr && contains(largest->text, "nproc");
    if (!launcher || largest == nullptr || gpus <= 0 || wanted <= gpus || (together && !each))
        return;
    const auto flag = largest->text.substr(0, largest->text.find('='));
    report
        .add("RUN006", largest->mark,
             flag + " starts the program for " + std::to_string(static_cast<long>(wanted)) +
                 " GPUs, and it gets " + std::to_string(static_cast<long>(gpus)))
        .expected("as many as it gets: " + std::to_string(static_cast<long>(gpus)));
}

void add_pieces(std::string_view text, Mark mark, std::vector<Piece>& pieces) {
    for (const std::string_view line : split(text, '\n')) {
        for (const std::string_view word : split(line, ' ')) {
            const std::string_view bare = trim(word, "\"'\\");
            if (!bare.empty()) pieces.push_back({std::string(bare), mark});
        }
    }
}

void add_list(const Value* node, std::vector<Piece>& pieces) {
    if (node == nullptr) return;
    if (!node->scalar.empty()) add_pieces(node->scalar, node->mark, pieces);
    for (const Value& item : node->items) add_pieces(item.scalar, item.mark, pieces);
}

/// Several pods make one group: their programs count the GPUs of all of them.
bool is_group(const Object& object) {
    constexpr std::array<std::string_view, 5> kKinds{"LeaderWorkerSet", "RayCluster", "RayService",
                                                     "RayJob", "LLMInferenceService"};
    return std::find(kKinds.begin(), kKinds.end(), object.kind) != kKinds.end();
}

void check_container(const Object& object, const Container& container, Report& report) {
    if (container.node == nullptr) return;
    const ResourceValue* gpu = container.find_limit("nvidia.com/gpu");
    const double gpus =
        gpu != nullptr && gpu->amount && !is_group(object) ? std::floor(*gpu->amount) : 0;
    std::vector<Piece> pieces;
    add_list(container.node->find("command"), pieces);
    add_list(container.node->find("args"), pieces);
    const bool tgi = contains(container.image, "text-generation-inference");
    check_words(pieces, gpus,
                tgi || is_launcher(container.image) || contains(container.image, "/vllm-openai"),
                report);
    const EnvVar* shards = container.find_env("NUM_SHARD");
    if (!tgi || shards == nullptr || gpus <= 0) return;
    const auto number = parse_number<unsigned>(shards->value);
    if (!number || *number <= gpus) return;
    report
        .add("RUN006", shards->node->mark,
             "NUM_SHARD is " + shards->value + ", and the container gets " +
                 std::to_string(static_cast<long>(gpus)) + " GPUs")
        .expected("as many as it gets: " + std::to_string(static_cast<long>(gpus)));
}

/// `rayStartParams: {num-gpus: "2"}` beside a container with one.
void check_ray(const PodSpec& pod, const Object& object, Report& report) {
    const Value* groups = document::at_path(*object.node, "spec.workerGroupSpecs");
    if (groups == nullptr || pod.containers.empty()) return;
    for (const Value& group : groups->items) {
        if (document::at_path(group, "template.spec") != pod.node) continue;
        const Value* told = document::at_path(group, {"rayStartParams", "num-gpus"});
        const ResourceValue* gpu = pod.containers.front().find_limit("nvidia.com/gpu");
        const auto number =
            told == nullptr ? std::optional<double>() : parse_number<double>(told->scalar);
        if (!number || gpu == nullptr || !gpu->amount || *number <= *gpu->amount) continue;
        report
            .add("RUN006", told->mark,
                 "ray is told of " + told->scalar + " GPUs, and the container gets " + gpu->text)
            .expected('"' + gpu->text + '"');
    }
}

// --- compose ---

double gpus_of_service(const Value& service) {
    const Value* devices = document::at_path(service, "deploy.resources.reservations.devices");
    if (devices == nullptr || devices->items.size() != 1) return 0;
    const Value& device = devices->items.front();
    if (const Value* ids = device.find("device_ids"); ids != nullptr)
        return static_cast<double>(ids->items.size());
    return parse_number<double>(text_at(device, {"count"})).value_or(0);
}

void check_compose_launch(const Object& object, Report& report) {
    const Value* services = object.node->find("services");
    if (services == nullptr) return;
    for (const Value::Entry& service : services->entries) {
        std::vector<Piece> pieces;
        add_list(service.second.find("entrypoint"), pieces);
        add_list(service.second.find("command"), pieces);
        check_words(pieces, gpus_of_service(service.second),
                    contains(text_at(service.second, {"image"}), "/vllm-openai"), report);
    }
}

// --- shell ---

/// "0,1" of CUDA_VISIBLE_DEVICES; 0: computed, or none.
double visible_devices(std::string_view text) {
    const auto equals = text.find('=');
    if (equals == std::string_view::npos || text.substr(0, equals) != "CUDA_VISIBLE_DEVICES")
        return 0;
    const std::string_view value = trim(text.substr(equals + 1), "\"'");
    if (value.empty() || contains(value, "$") || contains(value, "-")) return 0;
    return static_cast<double>(split(value, ',').size());
}

/// `#SBATCH --gres=gpu:a100:4`, `--gpus-per-node=4`, `--gpus-per-task`; 0: not said.
double slurm_gpus(std::string_view line) {
    if (!line.starts_with("#SBATCH")) return 0;
    for (const std::string_view flag : {"--gres=gpu", "--gpus-per-node"}) {
        const auto at = line.find(flag);
        if (at == std::string_view::npos) continue;
        std::string_view rest = line.substr(at + flag.size());
        rest = rest.substr(0, rest.find_first_of(" #\t,", 1));
        return parse_number<double>(rest.substr(rest.find_last_of(":= ") + 1)).value_or(0);
    }
    return 0;
}

/// `--gres=gpus:2`: Slurm's generic resource is called gpu.
void check_gres(const File& file, const Block& block, Report& report) {
    constexpr std::string_view kFlag = "--gres=";
    for (std::size_t at = block.text.find(kFlag); at != std::string::npos;
         at = block.text.find(kFlag, at + 1)) {
        const std::size_t begin = at + kFlag.size();
        const std::string name =
            block.text.substr(begin, block.text.find_first_of(": \t\n,", begin) - begin);
        if (name != "gpus" && name != "GPU" && name != "nvidia" && name != "cuda" &&
            name != "gres/gpu")
            continue;
        const bool slurm =
            file.mentions("#SBATCH") || file.mentions("srun") || file.mentions("sbatch");
        if (!slurm) continue;
        report.add("RUN007", block.place(begin), "Slurm has no generic resource '" + name + '\'')
            .expected("--gres=gpu:N or --gpus=N");
    }
}

/// `#SBATCH --gpus-per-nodes=4`: sbatch refuses a script with an option that it does not know.
void check_sbatch(const Block& block, Report& report) {
    constexpr std::string_view kHead = "#SBATCH --";
    const std::vector<std::string_view> known{
        "gpus",          "gpus-per-node", "gpus-per-task",  "gpus-per-socket",
        "gpu-bind",      "gpu-freq",      "gres",           "gres-flags",
        "cpus-per-gpu",  "mem-per-gpu",   "ntasks-per-gpu", "ntasks-per-node",
        "cpus-per-task", "partition",     "nodes",          "ntasks",
        "time",          "account",       "job-name",       "output",
        "error",         "array",         "constraint",     "exclusive",
        "nodelist",      "mem",           "mem-per-cpu"};
    for (std::size_t at = block.text.find(kHead); at != std::string::npos;
         at = block.text.find(kHead, at + 1)) {
        const std::size_t begin = at + kHead.size();
        const std::string name =
            block.text.substr(begin, block.text.find_first_of("= \t\r\n", begin) - begin);
        if (!contains(name, "gpu") || std::find(known.begin(), known.end(), name) != known.end())
            continue;
        const std::string_view meant = nearest(name, known);
        if (meant.empty()) continue;
        report.add("RUN005", block.place(begin), "sbatch has no option --" + name)
            .expected("--" + std::string(meant));
    }
}

void check_commands(const File& file, Report& report) {
    std::map<int, double> by_block;  // what an export of the block says
    for (std::size_t i = 0; i < file.blocks.size(); ++i) {
        if (file.blocks[i].language != Language::kShell) continue;
        check_gres(file, file.blocks[i], report);
        check_sbatch(file.blocks[i], report);
        for (const std::string_view line : split(file.blocks[i].text, '\n')) {
            if (const double gpus = slurm_gpus(line); gpus > 0)
                by_block[static_cast<int>(i)] = gpus;
        }
    }
    for (const Command& command : file.commands) {
        double gpus = 0;
        if (const auto at = by_block.find(command.block); at != by_block.end()) gpus = at->second;
        for (const Word& word : command.assignments) {
            if (const double own = visible_devices(word.text); own > 0) gpus = own;
        }
        if (command.shown || command.is("echo")) continue;
        std::vector<Piece> pieces;
        for (const Word& word : command.words) {
            if (word.quoted && contains(word.text, " ")) continue;
            pieces.push_back({word.text, word.mark});
        }
        const bool kubernetes = command.is("helm") || command.is("kubectl");
        if (!kubernetes) check_words(pieces, gpus, false, report);
    }
}

}  // namespace

void check_launches(const File& file, const Set&, const Facts*, Report& report) {
    if (is_kept(file)) return;
    for (const PodSpec& pod : file.pods) {
        const Object* object = file.object(pod);
        if (object == nullptr || object->broken) continue;
        if (object->kind == "RayCluster") check_ray(pod, *object, report);
        for (const Container& container : pod.containers)
            check_container(*object, container, report);
    }
    for (const Object& object : file.objects) {
        if (object.role == Role::kCompose && !object.broken) check_compose_launch(object, report);
    }
    check_commands(file, report);
}

}  // namespace aliquot::lint
