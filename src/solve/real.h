// SPDX-License-Identifier: Apache-2.0
// Sources that exist in double and in single precision: files that end in _single.c or _single_kernel.c define
// TD_SINGLE and include the same text. TD_REAL_NAME(name) is the name in that precision, TD_REAL_ISA(name) that of a
// kernel.
#pragma once

#ifdef TD_SINGLE
typedef float tdReal;
#define TD_REAL_NAME(name)     name##_single
#define TD_REAL_KERNEL(n, isa) n##_single_##isa
#define TD_REAL_ISA(name)      TD_ISA(name##_single)
#define tdRealProduct          tdProductSingle
#define tdRealPanel            tdSubstitutePanelSingle
#define tdRealSubstitution     tdSubstitutionSingle
#define td_real_gemm           cblas_sgemm
#define td_real_syrk           cblas_ssyrk
#else
typedef double tdReal;
#define TD_REAL_NAME(name)     name
#define TD_REAL_KERNEL(n, isa) n##_##isa
#define TD_REAL_ISA(name)      TD_ISA(name)
#define tdRealProduct          tdProduct
#define tdRealPanel            tdSubstitutePanel
#define tdRealSubstitution     tdSubstitution
#define td_real_gemm           cblas_dgemm
#define td_real_syrk           cblas_dsyrk
#endif

// Vectors of base/simd.h, in kernels; TD_REALS numbers each.
#if defined(TD_SINGLE) && defined(TD_WIDE)
#define TD_REALS       16
#define tdReals        td16f
#define td_reals_set   td16f_set
#define td_reals_load  td16f_load
#define td_reals_store td16f_store
#elif defined(TD_SINGLE)
#define TD_REALS       8
#define tdReals        td8f
#define td_reals_set   td8f_set
#define td_reals_load  td8f_load
#define td_reals_store td8f_store
#elif defined(TD_WIDE)
#define TD_REALS       8
#define tdReals        td8
#define td_reals_set   td8_set
#define td_reals_load  td8_load
#define td_reals_store td8_store
#else
#define TD_REALS       4
#define tdReals        td4
#define td_reals_set   td4_set
#define td_reals_load  td4_load
#define td_reals_store td4_store
#endif

/// A kernel by its widest set that this machine runs; `wide`: for so much work that vectors of 512 bits are filled.
#if defined(__x86_64__)
#define TD_REAL_CALL(name, isa, wide, ...)                                                                             \
    ((wide) && (isa) == TD_ISA_AVX512 ? TD_REAL_KERNEL(name, avx512)(__VA_ARGS__)                                      \
     : (isa) != TD_ISA_PORTABLE       ? TD_REAL_KERNEL(name, avx2)(__VA_ARGS__)                                        \
                                      : TD_REAL_KERNEL(name, portable)(__VA_ARGS__))
#else
#define TD_REAL_CALL(name, isa, wide, ...) ((void)(isa), TD_REAL_KERNEL(name, portable)(__VA_ARGS__))
#endif
