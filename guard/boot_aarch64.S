/* SPDX-License-Identifier: Apache-2.0 */
/* What boot_x86_64.S says, for aarch64: pointer in x0, whether that is the answer in x1. */
#if defined(__aarch64__)
    .text

    .macro KEEP
    stp x29, x30, [sp, #-48]!
    .cfi_adjust_cfa_offset 48
    stp x0, x1, [sp, #16]
    str x2, [sp, #32]
    .endm
    .macro RESTORE
    ldp x0, x1, [sp, #16]
    ldr x2, [sp, #32]
    ldp x29, x30, [sp], #48
    .cfi_adjust_cfa_offset -48
    .endm
    .macro UNLESS_OURS
    cbz x1, 1f
    ldrb w9, [x1]
    cmp w9, #'c'
    b.eq 2f
    cmp w9, #'n'
    b.ne 1f
    ldrb w9, [x1, #1]
    cmp w9, #'v'
    b.ne 1f
    b 3f
2:  ldrb w9, [x1, #1]
    cmp w9, #'u'
    b.ne 1f
3:
    .endm
    .macro JUMP offset
    adrp x9, guard_loader
    add x9, x9, :lo12:guard_loader
    ldr x10, [x9, #\offset]
    cbz x10, 4f
    br x10
4:  KEEP
    bl guard_find_loader
    RESTORE
    adrp x9, guard_loader
    add x9, x9, :lo12:guard_loader
    ldr x10, [x9, #\offset]
    br x10
    .endm

    .globl dlsym
    .type dlsym, %function
dlsym:
    .cfi_startproc
    hint #34                    /* bti c */
    UNLESS_OURS
    mov x3, x30                 /* who asks */
    KEEP
    mov x2, #0
    bl guard_symbol
    mov x11, x0
    mov x12, x1
    RESTORE
    tbz w12, #0, 1f
    mov x0, x11
    ret
1:  JUMP 0
    .cfi_endproc
    .size dlsym, .-dlsym

    .globl dlvsym
    .type dlvsym, %function
dlvsym:
    .cfi_startproc
    hint #34
    UNLESS_OURS
    mov x3, x30
    KEEP
    bl guard_symbol
    mov x11, x0
    mov x12, x1
    RESTORE
    tbz w12, #0, 1f
    mov x0, x11
    ret
1:  JUMP 8
    .cfi_endproc
    .size dlvsym, .-dlvsym

    .globl dlopen
    .type dlopen, %function
dlopen:
    .cfi_startproc
    hint #34
    tbz w1, #3, 1f              /* RTLD_DEEPBIND */
    KEEP
    bl guard_open_flags
    mov w11, w0
    RESTORE
    mov w1, w11
1:  JUMP 16
    .cfi_endproc
    .size dlopen, .-dlopen

    .globl dlmopen
    .type dlmopen, %function
dlmopen:
    .cfi_startproc
    hint #34
    cbz x0, 1f                  /* LM_ID_BASE */
    KEEP
    bl guard_open_namespace
    mov x11, x0
    mov x12, x1
    RESTORE
    tbz w12, #0, 1f
    mov x0, x11
    ret
1:  JUMP 32
    .cfi_endproc
    .size dlmopen, .-dlmopen
#endif
    .section .note.GNU-stack, "", %progbits
