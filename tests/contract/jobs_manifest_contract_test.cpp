// SPDX-License-Identifier: Apache-2.0
//
// The Jobs that requests become, as an API server judges them.
#include "document/build.h"
#include "document/json.h"
#include "document/path.h"
#include "document/yaml.h"
#include "kube_client/query.h"
#include "tests/case_files.h"
#include "tests/contract/kube_world.h"

namespace aliquot::contract {
namespace {

class JobManifestContract : public KubeContract {};

/// The Job of a file, in the namespace `space`.
document::Value job_in(const std::filesystem::path& file, const std::string& space) {
    auto read = document::parse_yaml(cases::read(file));
    EXPECT_EQ(read.documents.size(), 1U) << file;
    document::Value job = read.documents.empty() ? document::Value{} : read.documents[0];
    for (auto& [name, part] : job.entries) {
        if (name.scalar != "metadata") continue;
        std::erase_if(part.entries,
                      [](const auto& one) { return one.first.scalar == "namespace"; });
        document::append(part, "namespace", space);
    }
    return job;
}

// R20.
TEST_P(JobManifestContract, EveryJobIsAcceptedWithStrictValidation) {
    for (const auto& file : cases::files({"src/jobs/cases"}, ".yaml")) {
        const document::Value job = job_in(file, space_);
        const kube_client::ObjectKey key{space_, document::text_at(job, {"metadata", "name"})};
        const auto answer = api().exchange(
            {.method = "PATCH",
             .path = kube_client::path_of(kube_client::resources::jobs(), key) +
                     "?fieldManager=aliquot&dryRun=All&fieldValidation=Strict&force=true",
             .body = document::to_json_line(job),
             .content_type = "application/apply-patch+yaml",
             .what = "apply"});
        ASSERT_TRUE(answer) << file << ": " << answer.failure().message;
        EXPECT_EQ(answer->status, 201) << file << ": " << answer->body;
    }
}

INSTANTIATE_TEST_SUITE_P(Api, JobManifestContract,
                         testing::Values(KubeParam{"real", &real_kube_world},
                                         KubeParam{"simulated", &simulated_kube_world}),
                         [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace aliquot::contract
