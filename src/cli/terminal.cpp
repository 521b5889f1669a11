// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal.h"

#include <poll.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): sigaction is POSIX
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>

namespace aliquot::cli {
namespace {

constexpr std::string_view kTake = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[H\x1b[2J";
constexpr std::string_view kTakeMouse = "\x1b[?1000h\x1b[?1006h";
constexpr std::string_view kGiveBack = "\x1b[?1006l\x1b[?1000l\x1b[?7h\x1b[?25h\x1b[?1049l";
constexpr std::array kCrashes{SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV};

// Of the one terminal that is taken; read in signal handlers.
std::atomic<bool> taken = false;
int taken_in = -1;
int taken_out = -1;
termios before{};
std::array<struct sigaction, kCrashes.size()> handlers{};

/// Safe in a signal handler.
void restore() {
    if (!taken.exchange(false)) return;
    const int problem = errno;
    const ssize_t written = ::write(taken_out, kGiveBack.data(), kGiveBack.size());
    static_cast<void>(written);  // there is nothing left to do about it
    ::tcsetattr(taken_in, TCSANOW, &before);
    errno = problem;
}

/// A crash: the terminal first, then what would have happened without us.
void crash(int number, siginfo_t* info, void* /*context*/) {
    restore();
    for (std::size_t i = 0; i < kCrashes.size(); ++i) {
        if (kCrashes[i] == number) ::sigaction(number, &handlers[i], nullptr);
    }
    // A fault happens again when we return; what somebody sent does not.
    if (info->si_code <= 0) ::raise(number);
}

}  // namespace

Result<Done> Terminal::take(int in, int out, Mouse mouse) {
    termios raw{};
    if (::tcgetattr(in, &raw) != 0 || ::isatty(out) != 1)
        return Error{ErrorCode::kUnsupported, "no terminal to draw on; use --once"};
    before = raw;
    taken_in = in;
    taken_out = out;
    raw.c_iflag &= static_cast<tcflag_t>(~(BRKINT | ICRNL | INPCK | ISTRIP | IXON));
    raw.c_lflag &= static_cast<tcflag_t>(~(ECHO | ICANON | IEXTEN | ISIG));
    raw.c_cflag |= CS8;
    raw.c_cc[VMIN] = 0;
    raw.c_cc[VTIME] = 0;
    struct sigaction action {};
    action.sa_sigaction = crash;
    action.sa_flags = SA_SIGINFO;
    for (std::size_t i = 0; i < kCrashes.size(); ++i)
        ::sigaction(kCrashes[i], &action, &handlers[i]);
    taken = true;
    ::tcsetattr(in, TCSANOW, &raw);
    write(out, kTake);
    if (mouse == Mouse::kOurs) write(out, kTakeMouse);
    return Done{};
}

void Terminal::give_back() {
    if (!taken) return;
    restore();
    for (std::size_t i = 0; i < kCrashes.size(); ++i)
        ::sigaction(kCrashes[i], &handlers[i], nullptr);
}

bool Terminal::is_taken() { return taken; }

top::Size Terminal::size(int out) {
    winsize window{};
    if (::ioctl(out, TIOCGWINSZ, &window) != 0 || window.ws_col == 0 || window.ws_row == 0)
        return {};
    constexpr std::size_t kMost = 1000;  // what a terminal says of itself is not to be believed
    return {.width = std::min<std::size_t>(window.ws_col, kMost),
            .height = std::min<std::size_t>(window.ws_row, kMost)};
}

bool Terminal::write(int out, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t written = ::write(out, bytes.data(), bytes.size());
        if (written > 0) {
            bytes.remove_prefix(static_cast<std::size_t>(written));
        } else if (errno == EAGAIN) {
            pollfd one{.fd = out, .events = POLLOUT, .revents = 0};
            constexpr int kPatienceMs = 5000;
            if (::poll(&one, 1, kPatienceMs) != 1) return false;
        } else if (errno != EINTR) {
            return false;
        }
    }
    return true;
}

std::string frame(const top::Screen& screen, Colour colour) {
    std::string bytes = "\x1b[H";
    for (std::size_t i = 0; i < screen.lines.size(); ++i) {
        if (i > 0) bytes += "\r\n";
        // Cleared before it is written: behind a line of full width the cursor stands on its last column still.
        bytes += i + 1 < screen.lines.size() ? "\x1b[K" : "\x1b[J";
        bytes += top::to_text(screen.lines[i], colour);
    }
    return bytes + "\x1b[H";
}

}  // namespace aliquot::cli
