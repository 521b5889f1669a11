// SPDX-License-Identifier: Apache-2.0
#include "sim/cluster/manifest_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>

#include "document/path.h"

namespace aliquot::sim::cluster {
namespace {

namespace fs = std::filesystem;

const char* kind_name(WorkloadKind kind) {
    switch (kind) {
        case WorkloadKind::kPod:
            return "Pod";
        case WorkloadKind::kDeployment:
            return "Deployment";
        case WorkloadKind::kReplicaSet:
            return "ReplicaSet";
        case WorkloadKind::kStatefulSet:
            return "StatefulSet";
        case WorkloadKind::kDaemonSet:
            return "DaemonSet";
        case WorkloadKind::kJob:
            return "Job";
    }
    return "?";
}

const char* policy_name(RestartPolicy policy) {
    if (policy == RestartPolicy::kAlways) return "Always";
    return policy == RestartPolicy::kNever ? "Never" : "OnFailure";
}

void print(std::ostream& out, const char* role, const Container& container) {
    out << "  " << role << " " << container.name << " image=" << container.image;
    for (const std::string& word : container.command) out << " command=" << word;
    for (const std::string& word : container.args) out << " arg=" << word;
    for (const Variable& variable : container.variables) {
        using Source = Variable::Source;
        out << (variable.source == Source::kValue   ? " env="
                : variable.source == Source::kField ? " env-field="
                                                    : " env-literal=")
            << variable.name << "=" << variable.text;
    }
    for (const auto& device : container.devices) {
        out << " device=" << device.first << ":" << device.second;
    }
    for (const ContainerClaim& claim : container.claims) {
        out << " claim=" << claim.name << (claim.request.empty() ? "" : "/") << claim.request;
    }
    out << "\n";
}

std::string to_text(const Manifests& manifests) {
    std::ostringstream out;
    for (const Remark& problem : manifests.problems)
        out << "problem " << cluster::to_text(problem) << "\n";
    for (const Remark& note : manifests.notes) out << "note " << cluster::to_text(note) << "\n";
    if (!manifests.problems.empty()) return out.str();
    for (const document::Value& object : manifests.claim_objects) {
        out << "claim-object " << document::text_at(object, "kind") << " "
            << document::text_at(object, "metadata.name") << "\n";
    }
    for (const Workload& workload : manifests.workloads) {
        out << kind_name(workload.kind) << " " << workload.pod_namespace << "/" << workload.name
            << " replicas=" << workload.replicas
            << " restart=" << policy_name(workload.pod.restart_policy);
        if (workload.kind == WorkloadKind::kJob) {
            out << " parallelism=" << workload.parallelism
                << " backoffLimit=" << workload.backoff_limit;
        }
        out << "\n";
        for (const PodClaim& claim : workload.pod.claims) {
            out << "  claim " << claim.name << (claim.claim.empty() ? " template=" : " claim=")
                << claim.claim << claim.claim_template << "\n";
        }
        for (const Container& each : workload.pod.init_containers) print(out, "init", each);
        for (const Container& each : workload.pod.containers) print(out, "container", each);
    }
    return out.str();
}

std::string read(const fs::path& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

/// Every x.yaml of cases/ has an x.txt beside it: what reading it gives.
/// UPDATE_GOLDEN=1 writes them anew.
TEST(Manifest, IsReadAsTheCasesSay) {
    const fs::path folder = fs::path(ALIQUOT_SOURCE_DIR) / "sim/cluster/cases";
    unsigned cases = 0;
    for (const auto& entry : fs::directory_iterator(folder)) {
        if (entry.path().extension() != ".yaml") continue;
        ++cases;
        const ManifestText text{entry.path().filename().native(), read(entry.path())};
        const std::string got = to_text(read_manifests({&text, 1}, false));
        fs::path golden = entry.path();
        golden.replace_extension(".txt");
        if (std::getenv("UPDATE_GOLDEN") != nullptr)
            std::ofstream(golden) << got;  // NOLINT(concurrency-mt-unsafe)
        EXPECT_EQ(got, read(golden)) << entry.path();
    }
    EXPECT_GT(cases, 10U);
}

/// A folder is read by itself, as `aliquot up FOLDER` does.
TEST(Manifest, OfEveryExampleIsWithoutProblem) {
    const fs::path folder = fs::path(ALIQUOT_SOURCE_DIR) / "examples";
    std::map<fs::path, std::vector<ManifestText>> folders;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
        const fs::path& path = entry.path();
        if (path.extension() != ".yaml" || path.filename() == "config.yaml") continue;
        // Of commands that read no manifests, or find what is wrong with them.
        const fs::path inner = path.lexically_relative(folder);
        const std::string kind = *inner.begin();
        const std::string place = inner.parent_path().filename();
        if (kind == "mistakes" || kind == "plan" || place == "cluster" || place == "code") continue;
        folders[path.parent_path()].push_back({path.native(), read(path)});
    }
    std::size_t workloads = 0;
    for (const auto& [path, texts] : folders) {
        const Manifests manifests = read_manifests(texts, false);
        for (const Remark& problem : manifests.problems) ADD_FAILURE() << cluster::to_text(problem);
        workloads += manifests.workloads.size();
    }
    EXPECT_GE(workloads, 5U);
}

}  // namespace
}  // namespace aliquot::sim::cluster
