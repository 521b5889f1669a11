// SPDX-License-Identifier: Apache-2.0
#include "jobs/check.h"

#include <gtest/gtest.h>

#include <array>

#include "jobs/read.h"

namespace aliquot::jobs {
namespace {

Request good() { return {.task_id = "t", .image = "i"}; }

/// "field" of each that is wrong, "field?" of a warning.
std::vector<std::string> fields(const Request& request, Place place = Place::kCluster) {
    std::vector<std::string> found;
    for (const Problem& one : check(request, place)) {
        found.push_back(one.field + (one.is_warning ? "?" : ""));
    }
    return found;
}

using Fields = std::vector<std::string>;

// R5.
TEST(JobRequest, TakesOneTwoFourOrEightGpus) {
    for (std::uint32_t count = 0; count <= 20; ++count) {
        Request request = good();
        request.gpu_count = count;
        const bool usual = count == 1 || count == 2 || count == 4 || count == 8;
        EXPECT_EQ(fields(request).empty(), usual) << count;
        request.any_gpu_count = true;
        EXPECT_EQ(fields(request).empty(), count >= 1 && count <= 16) << count;
    }
    EXPECT_FALSE(read(R"({"gpu_count": 0.5})"));
    EXPECT_FALSE(read(R"({"gpu_count": -1})"));
    EXPECT_FALSE(read(R"({"gpu_count": 4294967297})"));
}

// R10, R27.
TEST(JobRequest, NamesTheFieldThatIsWrong) {
    const auto with = [](auto change) {
        Request request = good();
        change(request);
        return fields(request);
    };
    EXPECT_EQ(fields({}), (Fields{"task_id", "image"}));
    EXPECT_EQ(with([](Request& r) { r.image = " "; }), Fields{"image"});
    EXPECT_EQ(with([](Request& r) { r.gpu_type = "a1000"; }), Fields{"gpu_type"});
    EXPECT_EQ(with([](Request& r) { r.gpu_prefer = {"a100", "b"}; }), Fields{"gpu_prefer[1]"});
    EXPECT_EQ(with([](Request& r) { r.memory = "16GiB"; }), Fields{"memory"});
    EXPECT_EQ(with([](Request& r) { r.memory = "0"; }), Fields{"memory"});
    EXPECT_EQ(with([](Request& r) { r.cpu = "-1"; }), Fields{"cpu"});
    EXPECT_EQ(with([](Request& r) { r.shm = "9Gi"; }), Fields{"shm"});
    EXPECT_EQ(with([](Request& r) { r.name = "A_b"; }), Fields{"name"});
    EXPECT_EQ(with([](Request& r) { r.restart_policy = "Always"; }), Fields{"restart_policy"});
    EXPECT_EQ(with([](Request& r) { r.deadline_seconds = 0; }), Fields{"deadline_seconds"});
    EXPECT_EQ(with([](Request& r) { r.deadline_seconds = INT64_MAX; }), Fields{"deadline_seconds"});
    EXPECT_EQ(with([](Request& r) { r.ttl_seconds = -1; }), Fields{"ttl_seconds"});
    EXPECT_EQ(with([](Request& r) { r.spot = "cheap"; }), Fields{"spot"});
    EXPECT_EQ(with([](Request& r) { r.env = {{"A=B", "1"}}; }), Fields{"env.A=B"});
    EXPECT_EQ(with([](Request& r) {
                  r.env = {{"WORKER_TYPE", "cpu"}};
              }),
              Fields{"env.WORKER_TYPE"});
    EXPECT_EQ(with([](Request& r) { r.env = {{"A", "1"}, {"A", "2"}}; }), Fields{"env.A?"});
    EXPECT_EQ(with([](Request& r) { r.command.assign(5'000, "x"); }), Fields{"command"});
    EXPECT_EQ(with([](Request& r) { r.command = {std::string(1 << 20, 'x')}; }), Fields{"command"});
    EXPECT_EQ(with([](Request& r) { r.gpu_memory = "8Gi"; }), Fields{});
    EXPECT_EQ(with([](Request& r) {
                  r.gpu_memory = "8Gi";
                  r.gpu_resource = "nvidia.com/gpu.shared";
              }),
              Fields{"gpu_resource"});
    EXPECT_EQ(with([](Request& r) { r.priority = 5; }), Fields{"priority"});
    EXPECT_EQ(with([](Request& r) { r.cpu_after_seconds = 60; }), Fields{"cpu_after_seconds"});
    EXPECT_EQ(with([](Request& r) { r.idle_after_seconds = 600; }), Fields{"idle_after_seconds"});
    EXPECT_EQ(with([](Request& r) { r.after = {"No Name"}; }), Fields{"after[0]"});
    EXPECT_EQ(with([](Request& r) { r.after = {"prepare"}; }), Fields{});
    EXPECT_EQ(with([](Request& r) { r.gang = 65; }), Fields{"gang"});
    EXPECT_EQ(with([](Request& r) { r.gang = r.array = 2; }), Fields{"gang"});
    EXPECT_EQ(with([](Request& r) { r.priority_class = "High!"; }), Fields{"priority_class"});
    EXPECT_EQ(with([](Request& r) { r.array = 0; }), Fields{"array"});
}

// R7.
TEST(JobRequest, ChecksTheDevicesThatAPersonMakesVisible) {
    const auto with = [](const char* devices, std::uint32_t count, const char* resource) {
        Request request = good();
        request.gpu_count = count;
        request.gpu_resource = resource;
        request.env = {{"CUDA_VISIBLE_DEVICES", devices}};
        return fields(request);
    };
    const Fields wrong{"env.CUDA_VISIBLE_DEVICES"};
    const Fields remark{"env.CUDA_VISIBLE_DEVICES?"};
    EXPECT_EQ(with("0,1", 2, "nvidia.com/gpu"), Fields{});
    EXPECT_EQ(with("0", 2, "nvidia.com/gpu"), wrong);
    EXPECT_EQ(with("", 1, "nvidia.com/gpu"), wrong);
    EXPECT_EQ(with("2,3", 2, "nvidia.com/gpu"), remark);
    EXPECT_EQ(with("0", 1, "nvidia.com/mig-1g.5gb"), Fields{});
    EXPECT_EQ(with("MIG-4f6e3c7b-7a20-5c0b-8b1e-9d3f3a1c2b11", 1, "nvidia.com/mig-1g.5gb"),
              Fields{});
    EXPECT_EQ(with("1", 1, "nvidia.com/mig-1g.5gb"), wrong);
}

TEST(JobRequest, OfAMachineNeedsAProgramAndTakesAShare) {
    Request request{.task_id = "t", .command = {"true"}};
    EXPECT_EQ(fields(request, Place::kMachine), Fields{});
    request.gpu_memory = "8Gi";
    request.gpu_compute = 50;
    EXPECT_EQ(fields(request, Place::kMachine), Fields{});
    request.idle_after_seconds = 1'800;
    EXPECT_EQ(fields(request, Place::kMachine), Fields{});
    for (const std::int64_t wrong : {-1L, 59L, 31L * 86'400}) {
        request.idle_after_seconds = wrong;
        EXPECT_EQ(fields(request, Place::kMachine), Fields{"idle_after_seconds"}) << wrong;
    }
    request.idle_after_seconds = 0;
    request.gpu_count = 2;
    EXPECT_EQ(fields(request, Place::kMachine), Fields{"gpu_count"});
    EXPECT_EQ(fields({.task_id = "t"}, Place::kMachine), Fields{"command"});
    EXPECT_EQ(fields({.task_id = "t", .image = "i"}, Place::kMachine), Fields{});
    EXPECT_EQ(fields({.task_id = "t", .image = "--privileged"}, Place::kMachine), Fields{"image"});
    EXPECT_EQ(fields({.task_id = "t", .image = "i", .gpu_memory = "8Gi"}, Place::kMachine),
              Fields{"image"});
    EXPECT_EQ(fields({.task_id = "t", .command = {"true"}, .env = {{"CUDA_VISIBLE_DEVICES", "0"}}},
                     Place::kMachine),
              Fields{"env.CUDA_VISIBLE_DEVICES"});
}

TEST(JobRequest, IsReadWithThePathOfWhatIsWrong) {
    const auto said = [](const char* text) {
        const auto request = read(text);
        return request ? std::string("fine") : request.error().message;
    };
    EXPECT_EQ(said("{}"), "fine");
    EXPECT_EQ(said(R"({"gpu_cont": 1})"), "gpu_cont: no field of a job, did you mean 'gpu_count'?");
    EXPECT_TRUE(said(R"({"command": "ls"})").starts_with("command: "));
    EXPECT_TRUE(said(R"({"command": ["a", {}]})").starts_with("command[1]: "));
    EXPECT_TRUE(said(R"({"env": {"A": [1]}})").starts_with("env.A: "));
    EXPECT_TRUE(said(R"({"any_gpu_count": "maybe"})").starts_with("any_gpu_count: "));
    EXPECT_NE(said("[]"), "fine");
    EXPECT_NE(said("{"), "fine");
    EXPECT_NE(said(""), "fine");
}

TEST(JobRequest, IsTheSameWhenItIsWrittenAndReadAgain) {
    Request request = good();
    request.gpu_prefer = {"a100", "t4"};
    request.command = {"sh", "-c", "echo \"a b\"\n"};
    request.env = {{"A", "1"}, {"B", ""}};
    request.priority = -3;
    request.any_gpu_count = true;
    request.gpu_count = 3;
    const auto again = read(to_document(request, Secrets::kTell));
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(*again, request);
    EXPECT_TRUE(differences(request, *again).empty());
    Request other = request;
    other.gpu_count = 2;
    other.env[0].second = "secret";
    EXPECT_EQ(differences(request, other),
              (Fields{"env: other variables than before", "gpu_count: 3 before, 2 now"}));
}

}  // namespace
}  // namespace aliquot::jobs
