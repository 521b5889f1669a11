// SPDX-License-Identifier: Apache-2.0
#include <malloc.h>

#include <iostream>
#include <variant>

#include "agent/agent.h"
#include "os/spawner.h"

int main(int argc, char** argv) {
    ::mallopt(M_ARENA_MAX,
              1);  // few threads that allocate little: on many cores arenas only cost memory
    const auto read = aliquot::agent::read_options(argc, argv, aliquot::os::current_environment());
    if (const auto* answer = std::get_if<aliquot::agent::EarlyExit>(&read)) {
        (answer->to_stderr ? std::cerr : std::cout) << answer->text;
        return answer->exit_code;
    }
    return aliquot::agent::run(std::get<aliquot::agent::Options>(read));
}
