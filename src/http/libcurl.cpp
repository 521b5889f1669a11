// SPDX-License-Identifier: Apache-2.0
#include "http/libcurl.h"

#include <curl/curl.h>

#include <array>
#include <cstdarg>
#include <cstdint>
#include <string>
#include <string_view>

#include "os/dynamic_library.h"
#include "os/load_note.h"

namespace aliquot::http {
namespace {

constexpr char kName[] = "libcurl.so.4";

[[gnu::section(".note.dlopen"), gnu::used]] alignas(4) constexpr auto kLoadNote = os::load_note(
    R"([{"soname":["libcurl.so.4"],"feature":"http","description":"HTTP to the API server and to node agents","priority":"required"}])");

/// Never closed: libcurl's threads and ours may outlive every static object.
const Result<os::DynamicLibrary>& library() {
    static const auto* const kLibrary =
        new Result<os::DynamicLibrary>(os::DynamicLibrary::open({kName}));
    return *kLibrary;
}

/// libcurl's own function of that name; nullptr without it.
template <class Function>
Function* real(const char* name) {
    return library() ? reinterpret_cast<Function*>(library()->symbol(name)) : nullptr;
}

}  // namespace

Result<Done> start_libcurl() {
    if (!library()) {
        return Error{ErrorCode::kUnavailable,
                     library().error().message + "; install libcurl4 to reach the network"};
    }
    static const CURLcode kStarted = ::curl_global_init(CURL_GLOBAL_DEFAULT);
    if (kStarted == CURLE_OK) return Done{};
    return Error{ErrorCode::kUnavailable,
                 std::string(kName) + " does not start: " + ::curl_easy_strerror(kStarted)};
}

}  // namespace aliquot::http

// The variable argument of these functions is one long, curl_off_t or pointer: all of one size here.
static_assert(sizeof(long) == sizeof(void*) && sizeof(curl_off_t) == sizeof(void*));
// That enums before it are promoted is no harm either: libcurl's own definitions do the same.
#pragma GCC diagnostic ignored "-Wvarargs"
#undef curl_easy_setopt
#undef curl_easy_getinfo
#undef curl_multi_setopt

using aliquot::http::real;

extern "C" {

CURLcode curl_global_init(long flags) {
    static auto* const kReal = real<decltype(curl_global_init)>("curl_global_init");
    return kReal != nullptr ? kReal(flags) : CURLE_FAILED_INIT;
}

CURL* curl_easy_init() {
    static auto* const kReal = real<decltype(curl_easy_init)>("curl_easy_init");
    return kReal != nullptr ? kReal() : nullptr;
}

void curl_easy_cleanup(CURL* easy) {
    static auto* const kReal = real<decltype(curl_easy_cleanup)>("curl_easy_cleanup");
    if (kReal != nullptr) kReal(easy);
}

CURLcode curl_easy_perform(CURL* easy) {
    static auto* const kReal = real<decltype(curl_easy_perform)>("curl_easy_perform");
    return kReal != nullptr ? kReal(easy) : CURLE_FAILED_INIT;
}

CURLcode curl_easy_setopt(CURL* easy, CURLoption option, ...) {
    static auto* const kReal = real<decltype(curl_easy_setopt)>("curl_easy_setopt");
    std::va_list rest;
    va_start(rest, option);
    void* const value = va_arg(rest, void*);
    va_end(rest);
    return kReal != nullptr ? kReal(easy, option, value) : CURLE_FAILED_INIT;
}

CURLcode curl_easy_getinfo(CURL* easy, CURLINFO info, ...) {
    static auto* const kReal = real<decltype(curl_easy_getinfo)>("curl_easy_getinfo");
    std::va_list rest;
    va_start(rest, info);
    void* const value = va_arg(rest, void*);
    va_end(rest);
    return kReal != nullptr ? kReal(easy, info, value) : CURLE_FAILED_INIT;
}

const char* curl_easy_strerror(CURLcode code) {
    static auto* const kReal = real<decltype(curl_easy_strerror)>("curl_easy_strerror");
    return kReal != nullptr ? kReal(code) : "libcurl is not there";
}

curl_slist* curl_slist_append(curl_slist* list, const char* text) {
    static auto* const kReal = real<decltype(curl_slist_append)>("curl_slist_append");
    return kReal != nullptr ? kReal(list, text) : nullptr;
}

void curl_slist_free_all(curl_slist* list) {
    static auto* const kReal = real<decltype(curl_slist_free_all)>("curl_slist_free_all");
    if (kReal != nullptr) kReal(list);
}

CURLM* curl_multi_init() {
    static auto* const kReal = real<decltype(curl_multi_init)>("curl_multi_init");
    return kReal != nullptr ? kReal() : nullptr;
}

CURLMcode curl_multi_cleanup(CURLM* multi) {
    static auto* const kReal = real<decltype(curl_multi_cleanup)>("curl_multi_cleanup");
    return kReal != nullptr ? kReal(multi) : CURLM_BAD_HANDLE;
}

CURLMcode curl_multi_setopt(CURLM* multi, CURLMoption option, ...) {
    static auto* const kReal = real<decltype(curl_multi_setopt)>("curl_multi_setopt");
    std::va_list rest;
    va_start(rest, option);
    void* const value = va_arg(rest, void*);
    va_end(rest);
    return kReal != nullptr ? kReal(multi, option, value) : CURLM_BAD_HANDLE;
}

CURLMcode curl_multi_add_handle(CURLM* multi, CURL* easy) {
    static auto* const kReal = real<decltype(curl_multi_add_handle)>("curl_multi_add_handle");
    return kReal != nullptr ? kReal(multi, easy) : CURLM_BAD_HANDLE;
}

CURLMcode curl_multi_remove_handle(CURLM* multi, CURL* easy) {
    static auto* const kReal = real<decltype(curl_multi_remove_handle)>("curl_multi_remove_handle");
    return kReal != nullptr ? kReal(multi, easy) : CURLM_BAD_HANDLE;
}

CURLMcode curl_multi_perform(CURLM* multi, int* running) {
    static auto* const kReal = real<decltype(curl_multi_perform)>("curl_multi_perform");
    return kReal != nullptr ? kReal(multi, running) : CURLM_BAD_HANDLE;
}

CURLMcode curl_multi_poll(CURLM* multi, curl_waitfd* extra, unsigned count, int most_ms,
                          int* events) {
    static auto* const kReal = real<decltype(curl_multi_poll)>("curl_multi_poll");
    return kReal != nullptr ? kReal(multi, extra, count, most_ms, events) : CURLM_BAD_HANDLE;
}

CURLMcode curl_multi_wakeup(CURLM* multi) {
    static auto* const kReal = real<decltype(curl_multi_wakeup)>("curl_multi_wakeup");
    return kReal != nullptr ? kReal(multi) : CURLM_BAD_HANDLE;
}

CURLMsg* curl_multi_info_read(CURLM* multi, int* left) {
    static auto* const kReal = real<decltype(curl_multi_info_read)>("curl_multi_info_read");
    return kReal != nullptr ? kReal(multi, left) : nullptr;
}

}  // extern "C"
