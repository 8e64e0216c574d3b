/* The compiled fast path of ndcn: Euler steps of a graph field and their gradients.

   A plain shared library, called through ctypes: it knows neither Python nor torch. On x86 every function is compiled for
   several instruction sets and the loader picks the best that the machine has, so a library built elsewhere stays right. */

#include <stddef.h>
#include <stdint.h>

#define INLINE static inline __attribute__((always_inline))
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__linux__)
#define CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default"), visibility("default")))
#else
#define CLONES __attribute__((visibility("default")))
#endif

#define ROWS 4    /* rows of a register tile */
#define BLOCK 64  /* rows of a cache block */
#define CACHE (1 << 20) /* bytes of a state above which its rows are fetched ahead */
#define AHEAD 16        /* entries of the matrix to fetch ahead */

#define REAL float
#define LANES 8
#define NAME(f) ndcn_##f##_f32
#include "euler_steps.h"
#undef REAL
#undef LANES
#undef NAME

#define REAL double
#define LANES 4
#define NAME(f) ndcn_##f##_f64
#include "euler_steps.h"

/* Raised whenever an argument list changes: a library built from other sources is not used. */
CLONES int ndcn_abi(void) { return 2; }
