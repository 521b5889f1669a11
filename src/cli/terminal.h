// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "top/screen.h"

namespace aliquot::cli {

/// Whose the mouse is while the terminal is taken. The terminal's: it selects text.
enum class Mouse : bool { kOurs, kTerminals };

/// A terminal taken over: alternate screen, no cursor, keys one by one. Whatever ends the program,
/// short of SIGKILL, the terminal is given back as it was. At most one at a time.
class Terminal {
public:
    /// in, out   descriptors of the same terminal
    /// errors    kUnsupported: they are none
    static Result<Done> take(int in, int out, Mouse mouse);
    /// Gives it back; nothing happens when it is not taken.
    static void give_back();
    static bool is_taken();

    static top::Size size(int out);
    /// All of it, or false: the terminal is gone.
    static bool write(int out, std::string_view bytes);
};

/// What to write so that the terminal shows these lines and nothing else.
std::string frame(const top::Screen& screen, Colour colour);

}  // namespace aliquot::cli
