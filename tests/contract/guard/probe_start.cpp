// SPDX-License-Identifier: Apache-2.0
namespace aliquot::guardkit {
int run(int count, char** words);
}

int main(int count, char** words) { return aliquot::guardkit::run(count, words); }
