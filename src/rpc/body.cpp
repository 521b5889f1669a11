// SPDX-License-Identifier: Apache-2.0
#include "rpc/body.h"

#include <cstdint>

namespace aliquot::rpc {
namespace {

constexpr std::size_t kPrefixBytes = 5;

/// By the prefix of a frame, which is whole.
std::size_t length_of(std::string_view frame) {
    std::size_t length = 0;
    for (std::size_t i = 1; i < kPrefixBytes; ++i)
        length = (length << 8U) | static_cast<unsigned char>(frame[i]);
    return length;
}

Status check_prefix(std::string_view frame, std::size_t limit) {
    if (frame[0] != '\0')
        return {Code::kUnimplemented, "compressed messages are not supported; send identity"};
    if (length_of(frame) <= limit) return {};
    return {Code::kResourceExhausted, "message of " + std::to_string(length_of(frame)) +
                                          " bytes, at most " + std::to_string(limit) +
                                          " are taken"};
}

}  // namespace

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
    Status status = check_prefix(bytes_, limit_);
    if (status.ok() && bytes_.size() > kPrefix + length())
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

std::size_t Body::length() const { return length_of(bytes_); }

Status Messages::add(std::string_view bytes, std::deque<std::string>& whole) {
    bytes_ += bytes;
    std::string_view left = bytes_;
    while (left.size() >= kPrefixBytes) {
        if (auto status = check_prefix(left, limit_); !status.ok()) return status;
        const auto length = length_of(left);
        if (left.size() < kPrefixBytes + length) break;
        whole.emplace_back(left.substr(kPrefixBytes, length));
        left.remove_prefix(kPrefixBytes + length);
    }
    bytes_.erase(0, bytes_.size() - left.size());
    return {};
}

Status Messages::check() const {
    if (bytes_.empty()) return {};
    return {Code::kInternal, "the message is cut short"};
}

}  // namespace aliquot::rpc
