// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "scheduling/books.h"

namespace aliquot::controller {

/// Pods that do not exist yet, and are to have places all at once.
struct FitQuestion {
    std::string name;  // of the whole, for messages
    std::vector<scheduling::GpuPod> pods;
};

/// What is asked in one go.
struct FitInquiry {
    /// Others that are on their way; pods of an owner that has as many in the books are there already.
    std::vector<FitQuestion> promised;
    std::vector<FitQuestion> questions;  // who comes first has places first
};

struct FitAnswer {
    scheduling::Decision::Kind kind = scheduling::Decision::Kind::kNotServed;
    /// kPlaced: also when those that are promised and those asked for before have their places.
    bool beside_promised = true;
    std::vector<std::string> nodes;  // kPlaced
    std::string why;                 // one line
};

/// An answer to each question, in their order. The books are afterwards as they were before.
std::vector<FitAnswer> answer(const FitInquiry& inquiry, scheduling::Books& books);

}  // namespace aliquot::controller
