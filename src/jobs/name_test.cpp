// SPDX-License-Identifier: Apache-2.0
#include "jobs/name.h"

#include <gtest/gtest.h>

#include "k8s/names.h"

namespace aliquot::jobs {
namespace {

// R24.
TEST(JobName, IsMadeOfTheTaskAndOfAllFields) {
    const Request request{.task_id = "ml_task_123", .image = "agent_bus:latest"};
    const std::string name = job_name(request);
    EXPECT_EQ(name.size(), std::string("gpu-ml-task-123-").size() + 8) << name;
    EXPECT_TRUE(name.starts_with("gpu-ml-task-123-")) << name;
    EXPECT_EQ(job_name(request), name);
    Request other = request;
    other.env = {{"A", "1"}};
    EXPECT_NE(job_name(other), name);
}

TEST(JobName, IsANameForKubernetesWhateverTheTaskIsCalled) {
    for (const std::string& task :
         {std::string(300, 'x'), std::string("-"), std::string("..."), std::string("Ü n/ï"),
          std::string("A_B.C"), std::string(58, '-') + "z", std::string("\x01\xff", 2)}) {
        const std::string name = job_name({.task_id = task});
        EXPECT_EQ(k8s::check_dns_label(name), "") << name;
        EXPECT_LE(name.size(), 63U);
        EXPECT_EQ(k8s::check_dns_label(dns_label(task)), "") << dns_label(task);
        EXPECT_EQ(k8s::check_label_value(label_value(task)), "") << label_value(task);
    }
    EXPECT_EQ(job_name({.task_id = "t", .name = "mine"}), "mine");
}

}  // namespace
}  // namespace aliquot::jobs
