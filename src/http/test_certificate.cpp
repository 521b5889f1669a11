// SPDX-License-Identifier: Apache-2.0
#include "http/test_certificate.h"

#include <fstream>
#include <stdexcept>

namespace aliquot::http {
namespace {

constexpr std::chrono::hours kDay{24};

TestCertificate made(Result<Certificate> certificate) {
    if (!certificate) throw std::runtime_error(certificate.error().message);
    return {*std::move(certificate)};
}

}  // namespace

TestCertificate TestCertificate::authority(const std::string& name) {
    return made(make_authority(name, kDay));
}

TestCertificate TestCertificate::issue(const std::string& name,
                                       const std::string& alternative_name) const {
    std::vector<std::string> names;
    if (!alternative_name.empty()) names.push_back(alternative_name);
    return made(http::issue(*this, name, names, kDay));
}

void write_file(const std::filesystem::path& path, const std::string& text) {
    const std::filesystem::path beside = path.string() + ".new";
    std::ofstream(beside) << text;
    std::filesystem::rename(beside, path);
}

}  // namespace aliquot::http
