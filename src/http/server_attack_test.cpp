// SPDX-License-Identifier: Apache-2.0
// Who means ill does not keep out who means well, whatever number of addresses he has.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <latch>
#include <mutex>
#include <thread>

#include "http/server.h"
#include "http/test_client.h"
#include "tests/descriptor_room.h"

namespace aliquot::http {
namespace {

constexpr std::uint32_t kLoopback = 0x7f000001;
constexpr std::uint32_t kOther = 0x7f010000;  // 127.1.0.0 and on: the attackers
constexpr const char* kSecret = "$2y$05$abcdefghijklmnopqrstuuOQiyCxlgf/oeuTqixKmWdcYUh4Hjl0a";
constexpr const char* kAlice = "Authorization: Basic YWxpY2U6c2VjcmV0\r\n";  // alice:secret

using Clients = std::vector<std::unique_ptr<TestClient>>;

std::unique_ptr<Server> started(
    ServerOptions options,
    Handler handler = [](const Request&) { return Response{.body = "ok"}; }) {
    options.address = "127.0.0.1:0";
    auto server = Server::listen(std::move(options), std::move(handler));
    EXPECT_TRUE(server) << server.error().message;
    return *std::move(server);
}

std::string request(const std::string& line, const std::string& fields = "") {
    return line + " HTTP/1.1\r\nHost: a\r\n" + fields + "\r\n";
}

/// How many clients this process can have beside the server that it runs: hard limits of 1,024
/// descriptors are common in containers.
std::size_t most_clients() {
    constexpr std::size_t kOthers = 300;
    rlimit limit{};
    EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = limit.rlim_max;
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
    return limit.rlim_cur - kOthers;
}

/// Many clients that say something and go no further.
Clients hold(const Server& server, int count, const std::string& text, bool many_addresses) {
    Clients held;
    for (int i = 0; i < count; ++i) {
        const auto from = many_addresses ? kOther + static_cast<std::uint32_t>(i) : kLoopback;
        held.push_back(std::make_unique<TestClient>(server.port(), from));
        held.back()->send(text);
    }
    return held;
}

TEST(ServerAttack, ABodyThatNobodyTakesIsRefusedBeforeItIsSent) {
    const auto server = started(
        {.methods = {"GET", "POST"}, .most_body_bytes = 1U << 20U, .body_paths = {"/wanted"}});
    const auto answered = [&](const std::string& line) {
        TestClient client(server->port());
        client.send(request(line, "Content-Length: 1000000\r\n") + std::string(1000, 'x'));
        const auto answer = client.receive();
        EXPECT_TRUE(client.ends()) << line;
        return answer ? answer->status : 0;
    };
    EXPECT_EQ(answered("GET /"), 413);
    EXPECT_EQ(answered("POST /other"), 413);
    EXPECT_EQ(answered("PUT /wanted"), 405);
    TestClient wanted(server->port());
    wanted.send(request("POST /wanted", "Content-Length: 3\r\n") + "abc");
    EXPECT_EQ(wanted.receive()->status, 200);
}

TEST(ServerAttack, WherePasswordsAreAskedForNoBodyIsTaken) {
    const auto server = started({.access = {.users = {{"alice", kSecret}}},
                                 .methods = {"POST"},
                                 .most_body_bytes = 1U << 20U});
    TestClient client(server->port());
    client.send(request("POST /", "Content-Length: 1000\r\n"));
    EXPECT_EQ(client.receive()->status, 413);
    EXPECT_TRUE(client.ends());
}

class ManyAndOne : public testing::TestWithParam<bool> {};  // whether attackers have many addresses

TEST_P(ManyAndOne, AThousandSlowClientsKeepNobodyOut) {
    if (const auto why = lacking_descriptors(700); !why.empty()) GTEST_SKIP() << why;
    const auto server = started({.most_connections = 128});
    const std::size_t most = most_clients();
    Clients slow;
    for (int round = 0; round < 10; ++round) {
        // The server has thrown these out long ago.
        if (slow.size() + 100 > most) slow.erase(slow.begin(), slow.begin() + 100);
        for (auto& one : hold(*server, 100, "GET / HTTP/1.1\r\nHo", GetParam())) {
            slow.push_back(std::move(one));
        }
        TestClient good(server->port());
        const auto answer = good.get("/");
        ASSERT_TRUE(answer) << round;
        EXPECT_EQ(answer->status, 200);
    }
}

TEST_P(ManyAndOne, WhoIsServedNowAndThenStaysConnectedBesideThem) {
    if (const auto why = lacking_descriptors(700); !why.empty()) GTEST_SKIP() << why;
    const auto server = started({.most_connections = 64});
    TestClient good(server->port(), 0x7f000002);
    ASSERT_EQ(good.get("/")->status, 200);
    Clients slow;
    for (int round = 0; round < 5; ++round) {
        // The first round fills the room; who came first and said nothing goes first.
        for (auto& one : hold(*server, 50, "GET / HTTP/1.1\r\nHo", GetParam())) {
            slow.push_back(std::move(one));
        }
        const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(150);
        while (std::chrono::steady_clock::now() < until) std::this_thread::yield();
        if (!GetParam()) {
            const auto answer = good.get("/");
            ASSERT_TRUE(answer) << round;
        }
    }
    TestClient fresh(server->port(), 0x7f000002);
    EXPECT_EQ(fresh.get("/")->status, 200);
}

TEST_P(ManyAndOne, ClientsThatDoNotReadTheirAnswerKeepNobodyOut) {
    if (const auto why = lacking_descriptors(700); !why.empty()) GTEST_SKIP() << why;
    const auto body = std::make_shared<const std::string>(std::string(1U << 20U, 'x'));
    const auto server =
        started({.most_connections = 64, .most_bytes = 8U << 20U}, [&](const Request& asked) {
            return asked.path == "/big" ? Response{.shared_body = body} : Response{.body = "ok"};
        });
    const Clients lazy = hold(*server, 200, request("GET /big"), GetParam());
    for (int i = 0; i < 5; ++i) {
        TestClient good(server->port());
        const auto answer = good.get("/");
        ASSERT_TRUE(answer);
        EXPECT_EQ(answer->status, 200);
    }
}

TEST_P(ManyAndOne, HalfSentBodiesHoldNoMoreThanTheBudget) {
    constexpr std::size_t kBudget = 2U << 20U;
    const auto server =
        started({.methods = {"POST"}, .most_bytes = kBudget, .most_body_bytes = 1U << 20U});
    const std::string half =
        request("POST /", "Content-Length: 200000\r\n") + std::string(100'000, 'x');
    Clients held = hold(*server, 60, half, GetParam());
    TestClient good(server->port());
    good.send(request("POST /", "Content-Length: 50000\r\n") + std::string(50'000, 'y'));
    const auto answer = good.receive();
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 200);
    // Those who are still there can go on; there is room for twenty of them.
    std::size_t alive = 0;
    for (const auto& one : held) {
        if (one->send(std::string(100'000, 'x')) && one->receive()) ++alive;
    }
    EXPECT_LE(alive, kBudget / 100'000);
    EXPECT_GE(alive, 1U);
}

TEST_P(ManyAndOne, GuessersKeepNobodyOutNotEvenWhoComesForTheFirstTime) {
    const auto server =
        started({.access = {.users = {{"alice", kSecret}}}, .most_connections = 64});
    std::atomic<unsigned> guesses{0};
    std::vector<std::jthread> guessers;
    for (unsigned i = 0; i < 20; ++i) {
        guessers.emplace_back([&, i](const std::stop_token& stop) {
            for (unsigned round = 0; !stop.stop_requested(); ++round) {
                TestClient client(server->port(), GetParam() ? kOther + i : kLoopback);
                // "alice:" and a word that is another each time
                const std::string word = std::to_string(1000 + i * 7919 + round * 31);
                client.get("/", "Authorization: Basic YWxpY2U6" + word.substr(0, 4) + "\r\n");
                ++guesses;
            }
        });
    }
    while (guesses < 20) std::this_thread::yield();
    for (int i = 0; i < 10; ++i) {
        TestClient good(server->port());
        const auto answer = good.get("/", kAlice);
        ASSERT_TRUE(answer) << i;
        EXPECT_EQ(answer->status, 200);
    }
    for (auto& guesser : guessers) guesser.request_stop();
}

INSTANTIATE_TEST_SUITE_P(Addresses, ManyAndOne, testing::Bool(),
                         [](const auto& one) { return one.param ? "Many" : "One"; });

TEST(ServerAttack, WhoHasManyConnectionsGivesWayToWhoHasOne) {
    const auto server = started({.most_connections = 16});
    Clients few = hold(*server, 1, "GET / HTTP/1.1\r\nHo", true);
    const Clients many = hold(*server, 200, "GET / HTTP/1.1\r\nHo", false);
    few[0]->send("st: a\r\n\r\n");
    const auto answer = few[0]->receive();
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 200);
}

TEST(ServerAttack, PeersTakeTurnsWithTheWorkers) {
    std::latch entered(1);
    std::latch leave(1);
    std::mutex mutex;
    std::vector<std::string> order;
    const auto server = started({.threads = 1}, [&](const Request& asked) {
        if (asked.path == "/first") {
            entered.count_down();
            leave.wait();
        }
        const std::scoped_lock lock(mutex);
        order.push_back(asked.path);
        return Response{.body = "ok"};
    });
    Clients greedy = hold(*server, 1, request("GET /first"), false);
    entered.wait();
    for (auto& one : hold(*server, 20, request("GET /greedy"), false)) {
        greedy.push_back(std::move(one));
    }
    Clients modest = hold(*server, 1, request("GET /modest"), true);
    // Whoever is answered at once was read after all that came before it.
    TestClient marker(server->port(), 0x7f000003);
    marker.send(request("PUT /"));
    EXPECT_EQ(marker.receive()->status, 405);
    leave.count_down();
    EXPECT_TRUE(modest[0]->receive());
    for (auto& one : greedy) EXPECT_TRUE(one->receive());
    const auto at = std::find(order.begin(), order.end(), "/modest") - order.begin();
    EXPECT_LE(at, 2) << "one of the greedy was first, the next may have been on its way";
}

TEST(ServerAttack, MalformedRequestsCostTheirSendersTheConnectionOnly) {
    const auto server = started({});
    TestClient good(server->port(), 0x7f000002);
    for (int i = 0; i < 500; ++i) {
        TestClient bad(server->port());
        bad.send(i % 2 == 0 ? "\x01\x02\r\n\r\n" : "GET / HTTP/1.1\r\nno colon\r\n\r\n");
        const auto answer = i % 50 == 0 ? good.get("/") : std::nullopt;
        EXPECT_EQ(answer.has_value(), i % 50 == 0);
        EXPECT_EQ(bad.receive()->status, 400);
    }
}

/// The highest open descriptor.
int highest_descriptor() {
    int highest = 0;
    for (int i = 0; i < 1000; ++i) {
        if (::fcntl(i, F_GETFD) >= 0) highest = i;
    }
    return highest;
}

TEST(ServerAttack, WithoutDescriptorsTheLeastMissedConnectionGivesItsOwn) {
    const auto server = started({});
    TestClient served(server->port());
    EXPECT_EQ(served.get("/")->status, 200);  // its worker runs
    const Clients slow = hold(*server, 20, "GET / HTTP/1.1\r\nHo", true);
    EXPECT_EQ(served.get("/")->status, 200);  // the slow ones are accepted
    rlimit before{};
    ::getrlimit(RLIMIT_NOFILE, &before);
    rlimit tight = before;
    tight.rlim_cur = static_cast<rlim_t>(highest_descriptor()) + 2;
    std::vector<Descriptor> gaps;  // below the highest one
    ::setrlimit(RLIMIT_NOFILE, &tight);
    for (int fd = ::dup(0); fd >= 0; fd = ::dup(0)) gaps.emplace_back(fd);
    gaps.pop_back();  // for the client; the server has none
    TestClient good(server->port());
    const auto answer = good.get("/");
    ::setrlimit(RLIMIT_NOFILE, &before);
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 200);
}

}  // namespace
}  // namespace aliquot::http
