// SPDX-License-Identifier: Apache-2.0
#include "kubelet/registrar.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <thread>

#include "kubelet/stub_kubelet.h"
#include "kubelet/unix_socket.h"
#include "os/temporary_directory.h"

namespace aliquot::kubelet {
namespace {

using std::chrono::milliseconds;

/// A registrar whose looks and steps the test takes itself: every order of them and of kubelet's restarts can
/// be had. The plugin's socket is there, and says nothing.
class RegistrarTest : public testing::Test {
protected:
    RegistrarTest() {
        std::filesystem::create_directories(directory_);
        options_.resource = "nvidia.com/gpu";
        options_.socket_name = "nvidia-gpu.sock";
        options_.retry_first = milliseconds(20);
        options_.retry_limit = milliseconds(100);
    }

    /// Takes rounds until `done`; says how often kubelet was taken for another.
    unsigned rounds_until(const std::function<bool()>& done) {
        unsigned changes = 0;
        for (int i = 0; i < 2000 && !done(); ++i) {
            timer_.begin(milliseconds(5));
            if (registrar_.kubelet_changed(timer_)) {
                ++changes;
                registrar_.forget();
            }
            registrar_.step(*streams_, timer_);
            std::this_thread::sleep_for(milliseconds(5));
        }
        EXPECT_TRUE(done());
        return changes;
    }
    unsigned some_rounds() {
        int left = 20;
        return rounds_until([&] { return left-- <= 0; });
    }
    bool look() {
        timer_.begin(milliseconds(5));
        return registrar_.kubelet_changed(timer_);
    }

    os::TemporaryDirectory temporary_;
    os::Root root_{temporary_.path()};
    std::filesystem::path directory_ = root_.resolve("/var/lib/kubelet/device-plugins");
    PluginOptions options_;
    StatusBoard board_;
    LoopTimer timer_;
    std::shared_ptr<Streams> streams_ = Streams::make([] {});
    Registrar registrar_{root_, options_, board_, [] {}};
};

/// Leaves a kubelet.sock that refuses connections, as a killed kubelet does.
void leave_dead_socket(const std::filesystem::path& directory) {
    auto listener = Listener::open(directory / "dead.sock");
    ASSERT_TRUE(listener);
    std::filesystem::create_hard_link(directory / "dead.sock", directory / "kubelet.sock");
}

// The connection went to the second kubelet, and the next look took that one for a restart.
TEST_F(RegistrarTest, RegistersOnceWithAKubeletThatCameBetweenTheLookAndTheCall) {
    leave_dead_socket(directory_);
    EXPECT_FALSE(look());
    StubKubelet kubelet(directory_);
    kubelet.behave({.listen = false, .dial_back = false});
    kubelet.start();  // removes the dead one's socket
    registrar_.step(*streams_, timer_);
    EXPECT_EQ(rounds_until([&] { return registrar_.registered(); }), 0U);
    EXPECT_EQ(some_rounds(), 0U);
    EXPECT_EQ(kubelet.seen().accepted, 1U);
}

TEST_F(RegistrarTest, TakesANewModeOrAHardLinkForNoRestart) {
    StubKubelet kubelet(directory_);
    kubelet.behave({.listen = false, .dial_back = false});
    kubelet.start();
    rounds_until([&] { return registrar_.registered(); });
    ASSERT_EQ(::chmod((directory_ / "kubelet.sock").c_str(), 0700), 0);
    EXPECT_EQ(some_rounds(), 0U);
    std::filesystem::create_hard_link(directory_ / "kubelet.sock", directory_ / "backup");
    EXPECT_EQ(some_rounds(), 0U);
    EXPECT_EQ(kubelet.seen().registers, 1U);
}

TEST_F(RegistrarTest, SeesEachRestartOnce) {
    StubKubelet kubelet(directory_);
    kubelet.behave({.listen = false, .dial_back = false});
    kubelet.start();
    rounds_until([&] { return registrar_.registered(); });
    for (unsigned restarts = 1; restarts <= 10; ++restarts) {
        kubelet.stop();
        kubelet.start();
        EXPECT_EQ(rounds_until([&] { return kubelet.seen().accepted == restarts + 1; }), 1U);
        EXPECT_EQ(rounds_until([&] { return registrar_.registered(); }), 0U);
    }
    EXPECT_EQ(some_rounds(), 0U);
    EXPECT_EQ(kubelet.seen().registers, 11U);
}

}  // namespace
}  // namespace aliquot::kubelet
