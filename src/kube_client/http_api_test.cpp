// SPDX-License-Identifier: Apache-2.0
#include "kube_client/http_api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <latch>
#include <thread>

#include "kube_client/connect.h"
#include "kube_client/scripted_server.h"
#include "os/root.h"
#include "os/temporary_directory.h"

namespace aliquot::kube_client {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Talk = ScriptedServer::Talk;
using namespace std::chrono_literals;

constexpr const char* kPod = R"({"kind":"Pod","metadata":{"name":"a","resourceVersion":"1"}})";

/// Shows one identity after the other, each time it is refused.
class ListedCredentials final : public Credentials {
public:
    explicit ListedCredentials(std::vector<std::string> tokens) : tokens_(std::move(tokens)) {}
    Result<std::shared_ptr<const Identity>> current(const std::stop_token& /*stop*/) override {
        if (tokens_.empty()) return Error{ErrorCode::kPermission, "no token"};
        return std::make_shared<const Identity>(Identity{.bearer_token = tokens_.front()});
    }
    bool refused(const std::shared_ptr<const Identity>& /*shown*/) override {
        if (tokens_.size() < 2) return false;
        tokens_.erase(tokens_.begin());
        return true;
    }

private:
    std::vector<std::string> tokens_;
};

std::unique_ptr<HttpApi> api_of(const ScriptedServer& server, HttpApiOptions options = {}) {
    options.first_wait = 1ms;
    options.longest_wait = 5ms;
    return std::make_unique<HttpApi>(
        Destination{.url = server.url()},
        std::make_unique<ListedCredentials>(std::vector<std::string>{"t"}), std::move(options));
}

/// Answers with one status after the other, then with the pod.
ScriptedServer::Script in_turn(std::vector<int> statuses) {
    struct Left {
        std::mutex mutex;  // each connection has a thread
        std::vector<int> statuses;
    };
    auto left = std::make_shared<Left>();
    left->statuses = std::move(statuses);
    return [left](Talk& talk) {
        const std::scoped_lock lock(left->mutex);
        if (left->statuses.empty()) return talk.answer(200, kPod);
        const int status = left->statuses.front();
        left->statuses.erase(left->statuses.begin());
        if (status == 0) return talk.cut();
        talk.answer(status, "{}");
    };
}

TEST(HttpApi, SendsWhatItIsAndWhoItIs) {
    Talk seen(-1, {});
    ScriptedServer server([&](Talk& talk) {
        seen.method = talk.method;
        seen.target = talk.target;
        seen.headers = talk.headers;
        seen.body = talk.body;
        talk.answer(201, kPod);
    });
    auto api = api_of(server, {.user_agent = "me/1", .headers = {{"Impersonate-User", "bob"}}});
    ASSERT_TRUE(api->create(resources::pods(), "n", R"({"a":1})"));
    EXPECT_EQ(seen.method, "POST");
    EXPECT_EQ(seen.target, "/api/v1/namespaces/n/pods?fieldManager=aliquot");
    EXPECT_EQ(seen.headers["authorization"], "Bearer t");
    EXPECT_EQ(seen.headers["content-type"], "application/json");
    EXPECT_EQ(seen.headers["user-agent"], "me/1");
    EXPECT_EQ(seen.headers["impersonate-user"], "bob");
    EXPECT_EQ(seen.body, R"({"a":1})");
}

TEST(HttpApi, TriesAgainWhatMayBeRepeated) {
    for (const int trouble : {429, 500, 502, 503, 504, 0}) {
        ScriptedServer server(in_turn({trouble, trouble}));
        auto api = api_of(server);
        EXPECT_TRUE(api->get(resources::pods(), {"n", "a"})) << trouble;
        EXPECT_EQ(server.requests(), 3U) << trouble;
    }
}

TEST(HttpApi, DoesNotCreateTwice) {
    for (const int trouble : {500, 503, 504, 0}) {
        ScriptedServer server(in_turn({trouble}));
        auto api = api_of(server);
        EXPECT_FALSE(api->create(resources::pods(), "n", "{}")) << trouble;
        EXPECT_EQ(server.requests(), 1U) << trouble;
    }
    ScriptedServer busy(in_turn({429}));  // was not carried out
    EXPECT_TRUE(api_of(busy)->create(resources::pods(), "n", "{}"));
}

TEST(HttpApi, LeavesAnswersAloneThatWillNotChange) {
    for (const int status : {400, 403, 404, 405, 409, 410, 422}) {
        ScriptedServer server(in_turn({status}));
        auto api = api_of(server);
        const auto got = api->get(resources::pods(), {"n", "a"});
        ASSERT_FALSE(got) << status;
        EXPECT_EQ(got.failure().http_status, status);
        EXPECT_EQ(server.requests(), 1U) << status;
    }
}

TEST(HttpApi, GivesUpAfterItsTries) {
    ScriptedServer server([](Talk& talk) { talk.answer(503, "{}"); });
    const auto got = api_of(server)->get(resources::pods(), {"n", "a"});
    ASSERT_FALSE(got);
    EXPECT_TRUE(got.failure().is(Reason::kServiceUnavailable));
    EXPECT_EQ(server.requests(), Request{}.most_tries);
}

TEST(HttpApi, WaitsAsLongAsTheServerSaysButNotBeyondItsDeadline) {
    ScriptedServer server([](Talk& talk) { talk.answer(429, "{}", {{"Retry-After", "30"}}); });
    const auto got = api_of(server)->get(resources::pods(), {"n", "a"}, {.deadline = 5s});
    ASSERT_FALSE(got);  // at once: thirty seconds do not fit
    EXPECT_TRUE(got.failure().is(Reason::kTooManyRequests));
    EXPECT_EQ(got.failure().retry_after, 30s);
    EXPECT_EQ(server.requests(), 1U);
}

TEST(HttpApi, DoesNotRepeatAnEvictionThatABudgetForbids) {
    ScriptedServer server([](Talk& talk) {
        talk.answer(
            429,
            R"({"kind":"Status","reason":"TooManyRequests","code":429,"details":{"causes":[{"reason":"DisruptionBudget","message":"needs 2"}]}})");
    });
    const auto evicted = api_of(server)->evict({"n", "a"}, 5);
    ASSERT_FALSE(evicted);
    EXPECT_EQ(evicted.failure().causes.at(0).type, "DisruptionBudget");
    EXPECT_EQ(server.requests(), 1U);
}

TEST(HttpApi, ShowsNewerCredentialsOnceWhenTheOldAreRefused) {
    std::vector<std::string> shown;
    ScriptedServer server([&](Talk& talk) {
        shown.push_back(talk.headers["authorization"]);
        if (shown.back() == "Bearer new") return talk.answer(200, kPod);
        talk.answer(401, "{}");
    });
    HttpApi api({.url = server.url()},
                std::make_unique<ListedCredentials>(std::vector<std::string>{"old", "new"}));
    EXPECT_TRUE(api.get(resources::pods(), {"n", "a"}));
    EXPECT_THAT(shown, ElementsAre("Bearer old", "Bearer new"));

    HttpApi stale({.url = server.url()},
                  std::make_unique<ListedCredentials>(std::vector<std::string>{"a", "b", "new"}));
    const auto got = stale.get(resources::pods(), {"n", "a"});
    ASSERT_FALSE(got);
    EXPECT_TRUE(got.failure().is(Reason::kUnauthorized));

    HttpApi nobody({.url = server.url()},
                   std::make_unique<ListedCredentials>(std::vector<std::string>{}));
    EXPECT_TRUE(nobody.get(resources::pods(), {"n", "a"}).failure().is(Reason::kCredentials));
}

TEST(HttpApi, EndsByItsDeadlineAndByAStop) {
    ScriptedServer server([](Talk& talk) { talk.wait_gone(); });
    auto api = api_of(server);
    const auto late = api->get(resources::pods(), {"n", "a"}, {.deadline = 50ms});
    ASSERT_FALSE(late);
    EXPECT_TRUE(late.failure().is(Reason::kDeadline)) << late.failure().message;

    std::stop_source stop;
    const std::jthread stopper([&] { stop.request_stop(); });
    const auto stopped = api->get(resources::pods(), {"n", "a"}, {.stop = stop.get_token()});
    ASSERT_FALSE(stopped);
    EXPECT_TRUE(stopped.failure().is(Reason::kStopped));
}

TEST(HttpApi, TellsWhenNobodyListens) {
    unsigned port = 0;
    {
        const ScriptedServer gone([](Talk& talk) { talk.cut(); });
        port = gone.port();
    }
    HttpApi api({.url = "http://127.0.0.1:" + std::to_string(port)},
                std::make_unique<ListedCredentials>(std::vector<std::string>{"secret"}),
                {.first_wait = 1ms});
    const auto got = api.create(resources::pods(), "n", "{}");
    ASSERT_FALSE(got);
    EXPECT_TRUE(got.failure().is(Reason::kUnreachable));
    EXPECT_THAT(got.failure().message, HasSubstr("127.0.0.1:" + std::to_string(port)));
    EXPECT_THAT(got.failure().message, testing::Not(HasSubstr("secret")));
}

TEST(HttpApi, ListsInChunksAndBeginsAnewWhenTheListIsForgotten) {
    std::vector<std::string> targets;
    ScriptedServer server([&](Talk& talk) {
        targets.push_back(talk.target);
        const auto page = [](const char* name, const char* next) {
            return R"({"kind":"PodList","metadata":{"resourceVersion":"7","continue":")" +
                   std::string(next) + R"("},"items":[{"metadata":{"name":")" + name + R"("}}]})";
        };
        if (!talk.target.contains("continue")) return talk.answer(200, page("a", "t"));
        if (targets.size() == 2) {
            return talk.answer(410, R"({"kind":"Status","reason":"Expired","code":410})");
        }
        talk.answer(200, page("b", ""));
    });
    const auto list = api_of(server)->list(
        resources::pods(), {.namespace_name = "n", .label_selector = "app in (x)", .chunk = 1});
    ASSERT_TRUE(list);
    ASSERT_EQ(list->items.size(), 2U);
    EXPECT_EQ(list->items[1].name, "b");
    EXPECT_EQ(targets.size(), 4U);
    EXPECT_EQ(targets[0], "/api/v1/namespaces/n/pods?labelSelector=app%20in%20%28x%29&limit=1");
    EXPECT_THAT(targets[1], HasSubstr("&continue=t"));
}

TEST(HttpApi, WatchesUntilTheStreamEndsOrBreaks) {
    const auto event = [](int version) {
        return R"({"type":"ADDED","object":{"metadata":{"name":"a","resourceVersion":")" +
               std::to_string(version) + "\"}}}\n";
    };
    unsigned streams = 0;
    ScriptedServer server([&](Talk& talk) {
        talk.begin(200);
        talk.chunk(event(1).substr(0, 10));
        talk.chunk(event(1).substr(10) + event(2));
        ++streams == 1 ? talk.end() : talk.cut();
    });
    auto api = api_of(server);
    for (const bool in_order : {true, false}) {
        auto watch = api->watch(resources::pods(), {.resource_version = "0"});
        ASSERT_TRUE(watch);
        std::size_t events = 0;
        while (true) {
            const auto batch = (*watch)->next(10s);
            if (!batch) {
                EXPECT_FALSE(in_order);
                EXPECT_TRUE(batch.failure().is(Reason::kUnreachable));
                break;
            }
            events += batch->events.size();
            if (!batch->ended) continue;
            EXPECT_TRUE(in_order);
            break;
        }
        EXPECT_EQ(events, 2U);
    }
}

TEST(HttpApi, AnswersARefusedWatchWithItsStatus) {
    ScriptedServer server([](Talk& talk) {
        talk.answer(410, R"({"kind":"Status","reason":"Gone","code":410,"message":"old"})");
    });
    const auto watch = api_of(server)->watch(resources::pods(), {.resource_version = "1"});
    ASSERT_FALSE(watch);
    EXPECT_TRUE(watch.failure().is(Reason::kGone));
    EXPECT_EQ(watch.failure().message, "watch pods: Gone (410): old");
}

TEST(HttpApi, LosesAStreamThatIsReadTooSlowly) {
    std::latch sent(1);
    ScriptedServer server([&](Talk& talk) {
        talk.begin(200);
        while (talk.chunk(std::string(100'000, ' '))) {
        }
        sent.count_down();
    });
    HttpApiOptions options;
    options.transport.limits.unread_bytes = 1'000'000;
    auto api = api_of(server, std::move(options));
    auto watch = api->watch(resources::pods(), {});
    ASSERT_TRUE(watch);
    sent.wait();  // the client has closed the connection
    while (true) {
        const auto batch = (*watch)->next(10s);
        if (batch) continue;
        EXPECT_THAT(batch.failure().message, HasSubstr("too slowly"));
        break;
    }
}

TEST(HttpApi, StreamsOutliveIt) {
    ScriptedServer server([](Talk& talk) {
        talk.begin(200);
        talk.wait_gone();
    });
    auto api = api_of(server);
    auto watch = api->watch(resources::pods(), {});
    ASSERT_TRUE(watch);
    api.reset();
    const auto batch = (*watch)->next(10s);
    ASSERT_FALSE(batch);
    EXPECT_TRUE(batch.failure().is(Reason::kStopped));
}

TEST(HttpApi, CarriesManyAtOnce) {
    ScriptedServer server([](Talk& talk) { talk.answer(200, kPod); });
    auto api = api_of(server, {.burst = 1000, .per_second = 1000});
    std::atomic<unsigned> good{0};
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i) {
        threads.emplace_back([&] {
            for (int j = 0; j < 25; ++j) {
                if (api->get(resources::pods(), {"n", "a"})) ++good;
            }
        });
    }
    threads.clear();
    EXPECT_EQ(good, 200U);
}

TEST(HttpApi, FindsResourcesByAnyOfTheirNames) {
    ScriptedServer server([](Talk& talk) {
        if (talk.target == "/apis") {
            return talk.answer(
                200,
                R"({"kind":"APIGroupList","groups":[{"name":"apps","preferredVersion":{"groupVersion":"apps/v1"}},{"name":"away","preferredVersion":{"groupVersion":"away/v1"}}]})");
        }
        if (talk.target == "/apis/apps/v1") {
            return talk.answer(
                200,
                R"({"kind":"APIResourceList","resources":[{"name":"deployments/scale","kind":"Scale","namespaced":true},{"name":"deployments","singularName":"deployment","kind":"Deployment","namespaced":true,"shortNames":["deploy"]}]})");
        }
        if (talk.target == "/api/v1") {
            return talk.answer(
                200, R"({"resources":[{"name":"nodes","kind":"Node","namespaced":false}]})");
        }
        talk.answer(404, "{}");
    });
    auto api = api_of(server);
    for (const char* const name : {"deploy", "Deployment", "deployment", "deployments"}) {
        const auto found = api->find_resource("", name);
        ASSERT_TRUE(found) << found.failure().message;
        EXPECT_EQ(*found, (Resource{"apps", "v1", "deployments", "Deployment", true}));
    }
    EXPECT_FALSE(api->find_resource("v1", "Node")->namespaced);
    EXPECT_TRUE(api->find_resource("", "Thing").failure().is(Reason::kNotFound));
    EXPECT_TRUE(api->find_resource("away/v1", "Thing").failure().is(Reason::kNotFound));
}

TEST(Connect, GoesTheWayOfTheKubeconfigOrOfThePod) {
    std::string seen;
    ScriptedServer server([&](Talk& talk) {
        seen = talk.headers["authorization"];
        talk.answer(200, "{}");
    });
    const os::TemporaryDirectory directory;
    const os::Root root(directory.path());
    const std::string file = directory.path().string() + "/config";
    ASSERT_TRUE(root.write_atomically(
        "/config",
        "clusters: [{name: c, cluster: {server: '" + server.url() +
            "'}}]\nusers: [{name: u, user: {token: abc}}]\ncontexts: [{name: x, context: "
            "{cluster: c, user: u, namespace: shop}}]\ncurrent-context: x\n"));
    const auto connection = connect({}, {{"KUBECONFIG", "/none:" + file}}, root);
    ASSERT_TRUE(connection) << connection.error().message;
    EXPECT_EQ(connection->namespace_name, "shop");
    EXPECT_EQ(connection->origin, "context 'x' of " + file);
    EXPECT_TRUE(connection->api->get_raw("/version"));
    EXPECT_EQ(seen, "Bearer abc");

    const std::string account = "/var/run/secrets/kubernetes.io/serviceaccount/";
    ASSERT_TRUE(root.write_atomically(account + "token", "jwt"));
    ASSERT_TRUE(root.write_atomically(account + "namespace", "aliquot-system\n"));
    const auto pod = connect(
        {}, {{"KUBERNETES_SERVICE_HOST", "fd00::1"}, {"KUBERNETES_SERVICE_PORT", "443"}}, root);
    ASSERT_TRUE(pod) << pod.error().message;
    EXPECT_EQ(pod->server, "https://[fd00::1]:443");
    EXPECT_EQ(pod->namespace_name, "aliquot-system");

    EXPECT_EQ(connect({}, {}, root).error().code, ErrorCode::kNotFound);
    EXPECT_THAT(connect({.kubeconfig = "/no/such"}, {}, root).error().message,
                HasSubstr("/no/such: there is no such kubeconfig"));
}

}  // namespace
}  // namespace aliquot::kube_client
