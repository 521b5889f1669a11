// SPDX-License-Identifier: Apache-2.0
#include "cmd/aliquot-probe/kernel.h"

#include <bit>
#include <cmath>
#include <cstddef>

namespace aliquot::probe {

const char* const kKernelText = R"ptx(.version 4.0
.target sm_50
.address_size 64

.visible .entry aliquot_probe(
    .param .u64 first,
    .param .u64 second,
    .param .u64 result,
    .param .u32 count)
{
    .reg .pred %p<2>;
    .reg .f32 %f<4>;
    .reg .b32 %r<9>;
    .reg .b64 %rd<11>;

    ld.param.u64 %rd1, [first];
    ld.param.u64 %rd2, [second];
    ld.param.u64 %rd3, [result];
    ld.param.u32 %r1, [count];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.s32 %r5, %r2, %r3, %r4;
    setp.ge.u32 %p1, %r5, %r1;
    @%p1 bra DONE;
    cvta.to.global.u64 %rd4, %rd1;
    cvta.to.global.u64 %rd5, %rd2;
    cvta.to.global.u64 %rd6, %rd3;
    mul.wide.u32 %rd7, %r5, 4;
    add.s64 %rd8, %rd4, %rd7;
    add.s64 %rd9, %rd5, %rd7;
    add.s64 %rd10, %rd6, %rd7;
    ld.global.f32 %f1, [%rd8];
    ld.global.f32 %f2, [%rd9];
    fma.rn.f32 %f3, %f1, %f2, %f1;
    mov.b32 %r6, %f3;
    mul.lo.s32 %r7, %r5, -1640531535;
    xor.b32 %r8, %r6, %r7;
    st.global.u32 [%rd10], %r8;
DONE:
    ret;
}
)ptx";

Operands operands(std::uint32_t count) {
    Operands made{std::vector<float>(count), std::vector<float>(count)};
    for (std::uint32_t i = 0; i < count; ++i) {
        made.a[i] = 0.1F + static_cast<float>(i % 1013) * 1.37F;
        made.b[i] = -3.0F + static_cast<float>(i % 911) * 0.011F;
    }
    return made;
}

std::vector<std::uint32_t> expected_result(const std::vector<float>& a,
                                           const std::vector<float>& b) {
    std::vector<std::uint32_t> result(a.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
        const auto bits = std::bit_cast<std::uint32_t>(std::fma(a[i], b[i], a[i]));
        result[i] = bits ^ (static_cast<std::uint32_t>(i) * 2654435761U);
    }
    return result;
}

}  // namespace aliquot::probe
