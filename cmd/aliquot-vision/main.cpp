// SPDX-License-Identifier: Apache-2.0
#include <iostream>
#include <variant>

#include "os/spawner.h"
#include "vision_worker/program.h"

int main(int argc, char** argv) {
    const auto read =
        aliquot::vision_worker::read_settings(argc, argv, aliquot::os::current_environment());
    if (const auto* answer = std::get_if<aliquot::vision_worker::EarlyExit>(&read)) {
        (answer->to_stderr ? std::cerr : std::cout) << answer->text;
        return answer->exit_code;
    }
    return aliquot::vision_worker::run(std::get<aliquot::vision_worker::Settings>(read));
}
