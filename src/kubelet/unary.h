// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "kubelet/message.h"
#include "rpc/method.h"

namespace aliquot::kubelet {

/// A method of generated messages. It keeps its request, so that a call with 800 ids does not
/// allocate 800 strings each time; an unusually large one is given back.
template <class Request, class Response, class Answer>
rpc::Unary unary(Answer answer) {
    constexpr std::size_t kKeptBytes = 256 << 10;
    return [request = std::make_shared<Request>(), answer = std::move(answer)](
               std::string_view bytes, std::string& out) -> rpc::Status {
        if (!parse(bytes, *request))
            return {rpc::Code::kInternal, "the request is no " + request->GetTypeName()};
        Response response;
        auto status = answer(*request, response);
        if (bytes.size() > kKeptBytes) *request = Request();
        if (status.ok() && !response.SerializeToString(&out))
            return {rpc::Code::kInternal, "the answer cannot be written"};
        return status;
    };
}

}  // namespace aliquot::kubelet
