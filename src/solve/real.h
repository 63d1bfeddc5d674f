// SPDX-License-Identifier: Apache-2.0
// Sources that exist in double and in single precision: files that end in _single.c or _single_kernel.c define
// TD_SINGLE and include the same text. TD_REAL_NAME(name) is the name in that precision, TD_REAL_ISA(name) that of a
// kernel.
#pragma once

#ifdef TD_SINGLE
typedef float tdReal;
#define tdReals                td8f ///< of base/simd.h, in kernels
#define TD_REALS               8    ///< of a vector
#define TD_REAL_NAME(name)     name##_single
#define TD_REAL_KERNEL(n, isa) n##_single_##isa
#define TD_REAL_ISA(name)      TD_ISA(name##_single)
#define td_reals_set           td8f_set
#define td_reals_load          td8f_load
#define td_reals_store         td8f_store
#define tdRealProduct          tdProductSingle
#define tdRealPanel            tdSubstitutePanelSingle
#define tdRealSubstitution     tdSubstitutionSingle
#define td_real_gemm           cblas_sgemm
#define td_real_syrk           cblas_ssyrk
#else
typedef double tdReal;
#define tdReals                td4
#define TD_REALS               4
#define TD_REAL_NAME(name)     name
#define TD_REAL_KERNEL(n, isa) n##_##isa
#define TD_REAL_ISA(name)      TD_ISA(name)
#define td_reals_set           td4_set
#define td_reals_load          td4_load
#define td_reals_store         td4_store
#define tdRealProduct          tdProduct
#define tdRealPanel            tdSubstitutePanel
#define tdRealSubstitution     tdSubstitution
#define td_real_gemm           cblas_dgemm
#define td_real_syrk           cblas_dsyrk
#endif
