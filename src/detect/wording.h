// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

#include "detect/scope.h"

/// Turns of phrase that decide what a match means, by the bytes around it. Every look goes a bounded
/// number of bytes far.
namespace aliquot::detect {

/// "This is no toy: 2,000 GPU hours"; "that is no option, we have CUDA".
bool begins_clause(std::string_view between);

/// "No V100 please, the job needs an A100": what is needed is not what was turned down.
bool goes_on_with_need(std::string_view between);

/// "Rewritten from PyTorch to Go", "take PyTorch out of the image": what it was.
bool is_left_behind(std::string_view text, const Match& match);

/// "No need for an H100, a T4 is plenty."
bool suffices(std::string_view text);

/// Does an order begin at byte `at`: "Copy it", "please copy it", "1. copy it"?
bool begins_order(std::string_view text, std::size_t at);

/// "400k patents": what is counted is the data, not what the text is about.
bool is_counted(std::string_view text, std::size_t at);

/// Does the word "no" begin at byte `at`?
bool is_no(std::string_view text, std::size_t at);

/// "Add the GPU hours to the report": it goes into what the text is about.
bool is_added(std::string_view text, const Match& match);

/// "On one V100 and attach the metrics": what comes is another order.
bool goes_on_with_order(std::string_view between);

/// "A notebook for the workshop": not what the text is about.
bool is_purpose(std::string_view text, std::size_t at);

bool is_with(std::string_view word);

/// It goes on with a denial, it does not deny one: "neither CUDA nor ROCm".
bool is_nor(std::string_view word);

}  // namespace aliquot::detect
