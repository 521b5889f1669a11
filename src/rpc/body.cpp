// SPDX-License-Identifier: Apache-2.0
#include "rpc/body.h"

#include <cstdint>

namespace aliquot::rpc {

std::string framed(std::string_view message) {
    const auto size = static_cast<std::uint32_t>(message.size());
    std::string frame;
    frame.reserve(message.size() + 5);
    frame += '\0';
    for (const unsigned shift : {24U, 16U, 8U, 0U})
        frame += static_cast<char>((size >> shift) & 255U);
    frame += message;
    return frame;
}

Status Body::add(std::string_view bytes) {
    if (refused_) return {};
    bytes_ += bytes;
    if (bytes_.size() < kPrefix) return {};
    Status status;
    if (bytes_[0] != '\0')
        status = {Code::kUnimplemented, "compressed messages are not supported; send identity"};
    else if (length() > limit_)
        status = {Code::kResourceExhausted, "message of " + std::to_string(length()) +
                                                " bytes, at most " + std::to_string(limit_) +
                                                " are taken"};
    else if (bytes_.size() > kPrefix + length())
        status = {Code::kInvalidArgument, "more than one message in a call that takes one"};
    if (!status.ok()) {
        refused_ = true;
        std::string().swap(bytes_);
    }
    return status;
}

Status Body::check() const {
    if (bytes_.size() >= kPrefix && bytes_.size() == kPrefix + length()) return {};
    return {Code::kInternal, bytes_.empty() ? "no message" : "the message is cut short"};
}

void Body::clear() {
    if (bytes_.capacity() > kKeptBytes) std::string().swap(bytes_);
    bytes_.clear();
    refused_ = false;
}

std::size_t Body::length() const {
    std::size_t length = 0;
    for (std::size_t i = 1; i < kPrefix; ++i)
        length = (length << 8U) | static_cast<unsigned char>(bytes_[i]);
    return length;
}

}  // namespace aliquot::rpc
