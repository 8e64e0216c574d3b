/* The compiled fast path of ndcn: Euler steps of a graph field and their gradients.

   A plain shared library, called through ctypes: it knows neither Python nor torch. On x86 every function is compiled for
   several instruction sets and the loader picks the best that the machine has, so a library built elsewhere stays right. */

#include <stddef.h>
#include <stdint.h>

#define INLINE static inline __attribute__((always_inline))
#define EXPORT __attribute__((visibility("default")))
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__linux__)
#define CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define CLONES
#endif

#ifdef _OPENMP
#include <omp.h>
#define PARALLEL _Pragma("omp parallel num_threads(threads) if (threads > 1)")
#define BARRIER _Pragma("omp barrier")
#define THREAD omp_get_thread_num()
#define TEAM omp_get_num_threads() /* may be fewer than were asked for */
#else
#define PARALLEL for (int thread_ = 0; thread_ < 1; thread_++)
#define BARRIER
#define THREAD 0
#define TEAM 1
#endif

#define ROWS 4          /* rows of a register tile */
#define BLOCK 64        /* rows of a cache block */
#define CACHE (1 << 20) /* bytes of a state above which its rows are fetched ahead */
#define AHEAD 16        /* entries of the matrix to fetch ahead */
#define KNOWN 8         /* every so many steps the state is kept for the way back */

/* Where the share of thread t of `count` begins, in whole blocks. */
static int part(int n, int t, int count)
{
    const int64_t blocks = (n + BLOCK - 1) / BLOCK, first = blocks * t / count * BLOCK;
    return first < n ? (int)first : n;
}

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
EXPORT int ndcn_abi(void) { return 4; }

/* The most threads that it can use. */
EXPORT int ndcn_threads(void)
{
#ifdef _OPENMP
    return omp_get_max_threads();
#else
    return 1;
#endif
}
