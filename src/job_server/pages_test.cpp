// SPDX-License-Identifier: Apache-2.0
#include "job_server/pages.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <set>
#include <thread>

#include "document/json.h"
#include "document/path.h"
#include "document/yaml.h"
#include "jobs/read.h"
#include "os/temporary_directory.h"
#include "tests/case_files.h"

namespace aliquot::job_server {
namespace {

using document::Value;

Value api() {
    auto stream = document::parse_yaml(cases::read(ALIQUOT_SOURCE_DIR "/api/jobs.yaml"));
    EXPECT_TRUE(stream.errors.empty()) << (stream.errors.empty() ? "" : stream.errors[0].message);
    return stream.documents.at(0);
}

class JobPages : public testing::Test {
protected:
    void SetUp() override {
        Options options;
        options.state = directory_.path() / "state";
        options.devices = *simulated_devices("a2:2", 0);
        options.runner = {"/bin/false"};
        options.most_jobs = 3;
        options.most_of_user = 2;
        options.most_bytes = 1 << 20;
        auto started = Keeper::start(std::move(options));
        ASSERT_TRUE(started) << started.error().message;
        keeper_ = *std::move(started);
    }
    http::Response ask(const std::string& method, const std::string& target,
                       const std::string& body = "", std::uint32_t uid = ::geteuid()) {
        http::Request request;
        request.method = method;
        http::read_target(target, request);
        request.body = body;
        request.local_user = http::LocalUser{.uid = uid, .gid = uid};
        return pages_of(*keeper_)(request);
    }
    /// And waits until it has ended: one whose runner is there already is asked to end first.
    void cancel(int id) {
        const std::string path = "/v1/jobs/" + std::to_string(id);
        EXPECT_EQ(ask("POST", path + "/cancel").status, 202);
        for (int round = 0; round < 500; ++round) {
            if (ask("GET", path).body.contains("\"state\":\"Cancelled\"")) return;
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
        ADD_FAILURE() << ask("GET", path).body;
    }
    os::TemporaryDirectory directory_;
    std::unique_ptr<Keeper> keeper_;
};

TEST_F(JobPages, AreThoseOfTheApiDescription) {
    std::set<std::string> served;
    for (const Operation& one : operations()) {
        served.insert(std::string(one.method) + " " + std::string(one.path));
    }
    std::set<std::string> described;
    const Value description = api();
    for (const auto& path : document::entries_at(description, {"paths"})) {
        for (const auto& method : path.second.entries) {
            std::string word = method.first.scalar;
            if (word == "parameters") continue;
            for (char& c : word) c = static_cast<char>(c - 32);
            described.insert(word + " " + path.first.scalar);
        }
    }
    EXPECT_EQ(served, described);
}

// R22.
TEST_F(JobPages, TakeTheFieldsOfTheApiDescription) {
    const Value description = api();
    const auto& fields =
        document::entries_at(description, {"components", "schemas", "Request", "properties"});
    EXPECT_GT(fields.size(), 30U);
    for (const auto& field : fields) {
        const auto read = jobs::read("{\"" + field.first.scalar + "\": {\"x\": []}}");
        ASSERT_FALSE(read) << field.first.scalar;
        EXPECT_EQ(read.error().message.find("no field of a job"), std::string::npos)
            << field.first.scalar;
    }
}

TEST_F(JobPages, RefuseWhatIsNoRequestOfTheirs) {
    EXPECT_EQ(ask("GET", "/v2/jobs").status, 404);
    EXPECT_EQ(ask("GET", "/v1/jobs/").status, 404);
    EXPECT_EQ(ask("GET", "/v1/jobs/0").status, 404);
    EXPECT_EQ(ask("GET", "/v1/jobs/-1").status, 404);
    EXPECT_EQ(ask("GET", "/v1/jobs/99999999999999999999").status, 404);
    EXPECT_EQ(ask("GET", "/v1/jobs/7").status, 404);
    EXPECT_EQ(ask("DELETE", "/v1/jobs").status, 405);
    EXPECT_EQ(ask("GET", "/v1/jobs?limit=0").status, 422);
    EXPECT_EQ(ask("GET", "/v1/jobs?which=some").status, 422);
    for (const char* body : {"", "x", "[]", "{\"gpu_count\":\"x\"}", "{\"command\":[]}", "{}"}) {
        EXPECT_EQ(ask("POST", "/v1/jobs", body).status, 422) << body;
    }
    http::Request from_far;
    from_far.method = "GET";
    from_far.path = "/v1/jobs";
    EXPECT_EQ(pages_of(*keeper_)(from_far).status, 403);
}

TEST_F(JobPages, HaveRoomForSoManyJobs) {
    const std::string body = R"({"name":"j","command":["true"],"after":[]})";
    EXPECT_EQ(ask("POST", "/v1/jobs", R"({"name":"j","command":["true"],"array":4})").status, 503);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(ask("POST", "/v1/jobs", body).status, 201);
    const auto full = ask("POST", "/v1/jobs", body);
    EXPECT_EQ(full.status, 503);
    EXPECT_NE(full.body.find("the queue is full"), std::string::npos) << full.body;
    EXPECT_EQ(ask("POST", "/v1/jobs/1/cancel").status, 202);
    EXPECT_EQ(ask("POST", "/v1/jobs", body).status, 201);
    EXPECT_EQ(ask("DELETE", "/v1/jobs/2").status, 409);
    EXPECT_EQ(ask("GET", "/v1/jobs/4/logs?from=18446744073709551615").status, 200);
    EXPECT_EQ(keeper_->self_check(), "");
}

TEST_F(JobPages, LetNoUserTakeAllRoomOrPassOverOthers) {
    if (::geteuid() != 0) GTEST_SKIP() << "only a server of root has jobs of several users";
    constexpr std::uint32_t kMia = 64'001;
    const std::string body = R"({"name":"j","command":["true"]})";
    for (int i = 0; i < 2; ++i) EXPECT_EQ(ask("POST", "/v1/jobs", body, kMia).status, 201);
    const auto third = ask("POST", "/v1/jobs", body, kMia);
    EXPECT_EQ(third.status, 503);
    EXPECT_NE(third.body.find("user 64001 has 2 jobs of at most 2"), std::string::npos)
        << third.body;
    const auto urgent =
        ask("POST", "/v1/jobs", R"({"name":"j","command":["true"],"priority":1})", 64'002);
    EXPECT_EQ(urgent.status, 403);
    EXPECT_NE(urgent.body.find("priority: 1 "), std::string::npos) << urgent.body;
    EXPECT_EQ(
        ask("POST", "/v1/jobs", R"({"name":"j","command":["true"],"priority":-1})", 64'002).status,
        201);
}

TEST_F(JobPages, HaveRoomForSoManyBytes) {
    const std::string word(120'000, 'x');
    const std::string body = R"({"name":"j","command":["true",")" + word + R"("],"array":)";
    EXPECT_EQ(ask("POST", "/v1/jobs", body + "3}").status, 201);
    for (int id = 1; id <= 3; ++id) cancel(id);
    // Those that have ended are still there.
    EXPECT_EQ(ask("POST", "/v1/jobs", body + "3}").status, 201);
    for (int id = 4; id <= 6; ++id) cancel(id);
    const auto full = ask("POST", "/v1/jobs", body + "3}");
    EXPECT_EQ(full.status, 503);
    EXPECT_NE(full.body.find("programs and variables"), std::string::npos) << full.body;
    EXPECT_EQ(ask("DELETE", "/v1/jobs/1").status, 204);
    EXPECT_EQ(ask("DELETE", "/v1/jobs/2").status, 204);
    EXPECT_EQ(ask("POST", "/v1/jobs", body + "3}").status, 201);
}

TEST_F(JobPages, ShowOthersNeitherProgramNorVariablesAndLetThemDoNothing) {
    ASSERT_EQ(ask("POST", "/v1/jobs",
                  R"({"name":"j","command":["echo","private"],"env":{"TOKEN":"s3cret"}})")
                  .status,
              201);
    constexpr std::uint32_t kOther = 64'000;
    const auto own = ask("GET", "/v1/jobs/1");
    EXPECT_NE(own.body.find("private"), std::string::npos);
    EXPECT_EQ(own.body.find("s3cret"), std::string::npos);
    for (const char* target : {"/v1/jobs/1", "/v1/jobs"}) {
        const auto seen = ask("GET", target, "", kOther);
        EXPECT_EQ(seen.status, 200);
        EXPECT_EQ(seen.body.find("private"), std::string::npos) << seen.body;
        EXPECT_EQ(seen.body.find("TOKEN"), std::string::npos) << seen.body;
    }
    EXPECT_EQ(ask("GET", "/v1/jobs/1/logs", "", kOther).status, 403);
    EXPECT_EQ(ask("GET", "/v1/jobs/1/explain", "", kOther).status, 403);
    EXPECT_EQ(ask("POST", "/v1/jobs/1/cancel", "", kOther).status, 403);
    EXPECT_EQ(ask("POST", "/v1/jobs/1/retry", "", kOther).status, 403);
    EXPECT_EQ(ask("DELETE", "/v1/jobs/1", "", kOther).status, 403);
}

}  // namespace
}  // namespace aliquot::job_server
