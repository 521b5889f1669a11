/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dlsym, dlvsym, dlopen and dlmopen as the guard exports them. The real ones look at their return address to
 * know who asks (RTLD_NEXT, $ORIGIN, the caller's search path), so what is not ours must be jumped
 * to, not called.
 *
 * guard_symbol(handle, name, version or null, caller) answers in rax a pointer and in rdx whether
 * that is the answer; guard_open_namespace(namespace, file, flags) does the same.
 */
#if defined(__x86_64__)
    .text

/* Keeps the three arguments over a call. The stack is 8 off alignment at entry. */
    .macro KEEP
    pushq %rdi
    .cfi_adjust_cfa_offset 8
    pushq %rsi
    .cfi_adjust_cfa_offset 8
    pushq %rdx
    .cfi_adjust_cfa_offset 8
    .endm
    .macro RESTORE
    popq %rdx
    .cfi_adjust_cfa_offset -8
    popq %rsi
    .cfi_adjust_cfa_offset -8
    popq %rdi
    .cfi_adjust_cfa_offset -8
    .endm

/* Leaves to label 1 unless the name in rsi begins with "cu" or "nv". */
    .macro UNLESS_OURS
    testq %rsi, %rsi
    jz 1f
    movzbl (%rsi), %eax
    cmpb $'c', %al
    je 2f
    cmpb $'n', %al
    jne 1f
    cmpb $'v', 1(%rsi)
    jne 1f
    jmp 3f
2:  cmpb $'u', 1(%rsi)
    jne 1f
3:
    .endm

    .globl dlsym
    .type dlsym, @function
dlsym:
    .cfi_startproc
    endbr64
    UNLESS_OURS
    KEEP
    xorl %edx, %edx
    movq 24(%rsp), %rcx         /* who asks */
    call guard_symbol
    movq %rdx, %rcx
    RESTORE
    testb %cl, %cl
    jz 1f
    ret
1:  movq guard_loader+0(%rip), %rax
    testq %rax, %rax
    jz 4f
    jmp *%rax
4:  KEEP
    call guard_find_loader
    RESTORE
    movq guard_loader+0(%rip), %rax
    jmp *%rax
    .cfi_endproc
    .size dlsym, .-dlsym

    .globl dlvsym
    .type dlvsym, @function
dlvsym:
    .cfi_startproc
    endbr64
    UNLESS_OURS
    KEEP
    movq 24(%rsp), %rcx
    call guard_symbol
    movq %rdx, %rcx
    RESTORE
    testb %cl, %cl
    jz 1f
    ret
1:  movq guard_loader+8(%rip), %rax
    testq %rax, %rax
    jz 4f
    jmp *%rax
4:  KEEP
    call guard_find_loader
    RESTORE
    movq guard_loader+8(%rip), %rax
    jmp *%rax
    .cfi_endproc
    .size dlvsym, .-dlvsym

    .globl dlopen
    .type dlopen, @function
dlopen:
    .cfi_startproc
    endbr64
    testl $8, %esi              /* RTLD_DEEPBIND */
    jz 1f
    KEEP
    call guard_open_flags       /* (file, flags) -> flags */
    RESTORE
    movl %eax, %esi
1:  movq guard_loader+16(%rip), %rax
    testq %rax, %rax
    jz 4f
    jmp *%rax
4:  KEEP
    call guard_find_loader
    RESTORE
    movq guard_loader+16(%rip), %rax
    jmp *%rax
    .cfi_endproc
    .size dlopen, .-dlopen

    .globl dlmopen
    .type dlmopen, @function
dlmopen:
    .cfi_startproc
    endbr64
    testq %rdi, %rdi            /* LM_ID_BASE */
    jz 1f
    KEEP
    call guard_open_namespace
    movq %rdx, %rcx
    RESTORE
    testb %cl, %cl
    jz 1f
    ret
1:  movq guard_loader+32(%rip), %rax
    testq %rax, %rax
    jz 4f
    jmp *%rax
4:  KEEP
    call guard_find_loader
    RESTORE
    movq guard_loader+32(%rip), %rax
    jmp *%rax
    .cfi_endproc
    .size dlmopen, .-dlmopen
#endif
    .section .note.GNU-stack, "", %progbits
