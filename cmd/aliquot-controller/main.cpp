// SPDX-License-Identifier: Apache-2.0
#include <malloc.h>

#include <iostream>
#include <variant>

#include "controller/program.h"
#include "os/spawner.h"

int main(int argc, char** argv) {
    ::mallopt(M_ARENA_MAX, 2);  // few threads: on many cores arenas only cost memory
    const auto read =
        aliquot::controller::read_options(argc, argv, aliquot::os::current_environment());
    if (const auto* answer = std::get_if<aliquot::controller::EarlyExit>(&read)) {
        (answer->to_stderr ? std::cerr : std::cout) << answer->text;
        return answer->exit_code;
    }
    return aliquot::controller::run(std::get<aliquot::controller::Options>(read));
}
