/* The compiled fast path of ndcn: Euler steps of a graph field and their gradients.

   A plain shared library, called through ctypes: it knows neither Python nor torch. On x86 every function is compiled for
   several instruction sets, and the caller asks for the best that the machine has, so a library built elsewhere stays right. */

#include <stddef.h>
#include <stdint.h>

#define INLINE static inline __attribute__((always_inline))
#define EXPORT __attribute__((visibility("default")))
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

#define ROWS 4          /* rows of which a product is held in registers */
#define BLOCK 64        /* rows of a cache block */
#define CACHE (1 << 20) /* bytes of a state above which its rows are fetched ahead */
#define AHEAD 48        /* entries of the matrix to fetch ahead; a million nodes take 15 % less time than with 16 */
#define KNOWN 8         /* every so many steps the state is kept for the way back */

/* Where the share of thread t of `count` begins, in whole blocks. */
static int part(int n, int t, int count)
{
    const int64_t blocks = (n + BLOCK - 1) / BLOCK, first = blocks * t / count * BLOCK;
    return first < n ? (int)first : n;
}

#define SET plain
#define BYTES 16
#include "euler_sets.h"

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__linux__)
#define X86

#pragma GCC push_options
#pragma GCC target("avx2,fma")
#define SET avx2
#define BYTES 32
#include "euler_sets.h"
#pragma GCC pop_options

#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")
#define SET avx512
#define BYTES 64
#include "euler_sets.h"
#pragma GCC pop_options
#endif

/* The best instruction set that this machine has, as the names of the functions end. */
EXPORT const char *ndcn_set(void)
{
#ifdef X86
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl"))
        return "avx512";
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return "avx2";
#endif
    return "plain";
}

/* Raised whenever an argument list changes: a library built from other sources is not used. */
EXPORT int ndcn_abi(void) { return 7; }

/* The most threads that it can use. */
EXPORT int ndcn_threads(void)
{
#ifdef _OPENMP
    return omp_get_max_threads();
#else
    return 1;
#endif
}
