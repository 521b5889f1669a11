// SPDX-License-Identifier: Apache-2.0
#include "cli/host/top_live.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): sigset_t is POSIX
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "base/descriptor.h"
#include "base/latest.h"
#include "cli/terminal.h"
#include "top/control.h"
#include "top/history.h"

namespace aliquot::cli {
namespace {

using std::chrono::milliseconds;

constexpr std::array kWatched{SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH, SIGCONT, SIGTSTP};
constexpr int kEscapeMs = 50;  // after which a lone Esc is the key

sigset_t watched() {
    sigset_t set;
    ::sigemptyset(&set);
    for (const int number : kWatched) ::sigaddset(&set, number);
    return set;
}

/// Looks at the nodes again and again.
class Looker {
public:
    Looker(TopSource& source, milliseconds interval, int wake)
        : source_(source),
          interval_(interval.count()),
          wake_(wake),
          thread_([this](std::stop_token stop) { run(stop); }) {}

    [[nodiscard]] const Latest<TopUpdate>& latest() const { return latest_; }
    /// From the next look on.
    void look_every(milliseconds interval) { interval_ = interval.count(); }

private:
    void run(const std::stop_token& stop) {
        std::mutex mutex;
        std::condition_variable_any pause;
        while (!stop.stop_requested()) {
            const auto next = std::chrono::steady_clock::now() + milliseconds(interval_);
            {
                std::unique_lock lock(mutex);
                pause.wait_until(lock, stop, next, [] { return false; });
            }
            if (stop.stop_requested()) return;
            latest_.publish(source_.poll(stop));
            const std::uint64_t one = 1;
            const ssize_t written = ::write(wake_, &one, sizeof one);
            static_cast<void>(written);  // full means that it is awake already
        }
    }

    TopSource& source_;
    std::atomic<milliseconds::rep> interval_;
    int wake_;
    Latest<TopUpdate> latest_;
    std::jthread thread_;  // last: it uses the others
};

/// Does what the user asks for beside the keys, one thing at a time.
class Errand {
public:
    Errand(TopSource& source, int wake) : source_(source), wake_(wake) {}

    [[nodiscard]] bool is_busy() const { return busy_; }
    void begin(top::Request request) {
        busy_ = true;
        thread_ = std::jthread([this, request = std::move(request)] {
            auto outcome = source_.carry_out(request);
            {
                const std::lock_guard lock(mutex_);
                outcome_ = std::move(outcome);
            }
            const std::uint64_t one = 1;
            const ssize_t written = ::write(wake_, &one, sizeof one);
            static_cast<void>(written);
        });
    }
    /// What came of it, once.
    std::optional<Result<top::Reading>> take() {
        const std::lock_guard lock(mutex_);
        if (outcome_) busy_ = false;
        return std::exchange(outcome_, std::nullopt);
    }

private:
    TopSource& source_;
    int wake_;
    bool busy_ = false;
    std::mutex mutex_;
    std::optional<Result<top::Reading>> outcome_;
    std::jthread thread_;  // last: it uses the others
};

class Live {
public:
    Live(TopUpdate first, top::UiState ui, const LiveOptions& options, int in)
        : world_(std::move(first.cluster)), desk_(std::move(ui)), options_(options), in_(in) {
        history_.add(world_);
    }

    /// Returns the signal that ends the program; 0: the user left.
    int run(TopSource& source) {
        const sigset_t set = watched();
        const Descriptor signals(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
        const Descriptor wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
        Looker looker(source, desk_.interval, wake.get());
        Errand errand(source, wake.get());
        draw();
        while (!desk_.quit && ending_ == 0) {
            std::array<pollfd, 3> waits{
                {{in_, POLLIN, 0}, {signals.get(), POLLIN, 0}, {wake.get(), POLLIN, 0}}};
            const int ready = ::poll(waits.data(), waits.size(), keys_.waiting() ? kEscapeMs : -1);
            if (ready == 0) press(keys_.settle());
            if (waits[1].revents != 0) take_signals(signals.get());
            if (waits[2].revents != 0) take_look(looker, wake.get());
            if (waits[2].revents != 0) take_errand(errand);
            if (waits[0].revents != 0) read_keys();
            looker.look_every(desk_.interval);
            if (desk_.request) begin(errand);
            if (!desk_.quit && ending_ == 0) draw();
        }
        return ending_;
    }

private:
    void draw() {
        if (!Terminal::is_taken()) return;  // suspended; SIGCONT is on its way
        table_ = top::table_of(world_, history_, desk_.view);
        screen_ = top::draw(world_, history_, table_, desk_, Terminal::size(STDOUT_FILENO),
                            options_.style);
        if (!Terminal::write(STDOUT_FILENO, frame(screen_, options_.style.colour)))
            ending_ = SIGHUP;
    }

    void press(const std::vector<top::Key>& keys) {
        for (const top::Key& key : keys) {
            if (key.name == top::Named::kSuspend) {
                suspend();
            } else if (key.name == top::Named::kRedraw) {
                Terminal::write(STDOUT_FILENO, "\x1b[2J");
            } else {
                top::press(desk_, key, table_, world_, screen_);
                // The next key acts on what this one shows.
                table_ = top::table_of(world_, history_, desk_.view);
            }
        }
    }

    void read_keys() {
        std::array<char, 256> bytes{};
        const ssize_t got = ::read(in_, bytes.data(), bytes.size());
        if (got > 0) {
            press(keys_.feed({bytes.data(), static_cast<std::size_t>(got)}));
        } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
            ending_ = SIGHUP;  // the terminal is gone
        }
    }

    void take_signals(int signals) {
        signalfd_siginfo info{};
        while (::read(signals, &info, sizeof info) == sizeof info) {
            const auto number = static_cast<int>(info.ssi_signo);
            if (number == SIGTSTP) {
                suspend();
            } else if (number == SIGCONT) {
                Terminal::give_back();
                if (!Terminal::take(in_, STDOUT_FILENO, options_.mouse)) ending_ = SIGHUP;
            } else if (number != SIGWINCH) {
                ending_ = number;
            }
        }
    }

    /// Stops as if we had never taken the terminal; SIGCONT takes it again.
    static void suspend() {
        Terminal::give_back();
        ::raise(SIGSTOP);
    }

    void begin(Errand& errand) {
        auto request = std::exchange(desk_.request, std::nullopt);
        if (errand.is_busy()) {
            desk_.message = "wait: the last one is not done yet";
            return;
        }
        desk_.message = top::to_text(*request) + " ...";
        errand.begin(*std::move(request));
    }

    void take_errand(Errand& errand) {
        auto outcome = errand.take();
        if (!outcome) return;
        if (!*outcome) {
            desk_.message = top::shown(outcome->error().message);
        } else if ((*outcome)->lines.empty()) {
            desk_.message = top::shown((*outcome)->title);
        } else {
            for (std::string& line : (*outcome)->lines) line = top::shown(line);
            desk_.reading = **std::move(outcome);
        }
    }

    void take_look(const Looker& looker, int wake) {
        std::uint64_t count = 0;
        const ssize_t got = ::read(wake, &count, sizeof count);
        static_cast<void>(got);
        const auto seen = looker.latest().get();
        if (!seen.value || desk_.paused) return;
        world_ = seen.value->cluster;
        history_.add(world_);
    }

    top::ClusterSnapshot world_;
    top::History history_;
    top::UiState desk_;
    LiveOptions options_;
    int in_;
    top::KeyReader keys_;
    top::Table table_;
    top::Screen screen_;
    int ending_ = 0;
};

}  // namespace

void run_live(Context& context, TopSource& source, TopUpdate first, top::UiState ui,
              const LiveOptions& options) {
    // Before any thread starts, so that all of them have it.
    const sigset_t set = watched();
    sigset_t mask;
    ::pthread_sigmask(SIG_BLOCK, &set, &mask);
    const Descriptor own(::isatty(STDIN_FILENO) == 1 ? -1 : ::open("/dev/tty", O_RDWR | O_CLOEXEC));
    const int in = own.get() >= 0 ? own.get() : STDIN_FILENO;
    if (const auto taken = Terminal::take(in, STDOUT_FILENO, options.mouse); !taken) {
        fail(context, kCouldNotRun, taken.error().message);
        ::pthread_sigmask(SIG_SETMASK, &mask, nullptr);
        return;
    }
    int ending = 0;
    {
        Live live(std::move(first), std::move(ui), options, in);
        ending = live.run(source);
    }
    Terminal::give_back();
    ::pthread_sigmask(SIG_SETMASK, &mask, nullptr);
    if (ending != 0) ::raise(ending);
    context.exit_code = ending == 0 ? kOk : kCouldNotRun;
}

}  // namespace aliquot::cli
