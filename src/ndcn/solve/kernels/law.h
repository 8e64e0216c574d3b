/* What the parts of law.c share: a graph, a law as programs or splines, and blocks of numbers.

   dx_i/dt = post(x_i, deg_i, s_i, e_i) with s_i = sum_j A_ij pre(x_j) and e_i = sum_j A_ij edge(x_i, x_j). Sums over neighbours of functions
   of the neighbour alone cost one sparse product; only what is of both ends is computed edge by edge. */

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))
#define EXPORT __attribute__((visibility("default")))
#ifdef _OPENMP
#include <omp.h>
#define PARALLEL _Pragma("omp parallel num_threads(graph->threads)")
#define SHARED_FOR _Pragma("omp for schedule(static)") /* a share for each thread, or all of it where there is one; they wait for each other at its end */
#define THREAD omp_get_thread_num()
#else
#define PARALLEL
#define SHARED_FOR
#define THREAD 0
#endif
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__linux__)
#define CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define CLONES
#endif

#define B 64 /* numbers of a block: those of 60 registers and their derivatives stay in the second-level cache */
typedef double Block[B];
#define EACH for (int l = 0; l < B; l++)

typedef struct {
    int64_t n, edges, ones;            /* whether all weights are 1: they need not be read then */
    int64_t threads;                   /* to compute with */
    const int32_t *ptr, *idx, *row;    /* CSR: j of each edge of i, and i of each edge */
    const double *weight, *degree;     /* A_ij, and the sum of them by i */
    const int32_t *order;              /* nodes by how many act on them, in windows that divide PART */
    const int32_t *lanes;              /* j of each edge again, LANES rows of `order` side by side: up to the shortest of them column by column, */
    const double *lane_weight;         /* then the rest of each; rows that fill no group come one after the other. Weights likewise, */
    const int32_t *lane_ptr;           /* and where each group begins */
} Graph;

#define LANES 8 /* rows side by side; they divide the windows of graph->order */

/* Nodes are computed in parts of so many, each by one thread; how many threads there are changes no digit. */
#define PART 2048
#define FOR_PARTS(n) for (int64_t from = 0; from < (n); from += PART)
#define PART_END(n) ((n) - from < PART ? (n) : from + PART)

/* Registers: inputs, then scalars (parameters and constants), then one for each instruction (op, a, b). */
typedef struct {
    int32_t inputs, scalars, count, outputs;
    const int32_t *code, *out;
} Program;

/* Curves of one variable with common breaks: cubics (breaks + 1, size, 4) about origins; lines beyond the first and last break. */
typedef struct {
    int64_t breaks, size;
    double per_break; /* 1 over their distance if that is the same for all, else 0 */
    const double *at, *origins, *pieces;
} Splines;

typedef struct {
    int32_t d, P;          /* features, parameters */
    const double *scalars; /* parameters, then constants */
    Program pre, edge, post;
    const uint8_t *pre_by, *edge_by; /* (outputs, P): whether an output depends on a parameter */
    const Splines *splines;          /* of each feature: single, few, gap; NULL for programs */
    const double *curves;            /* of splines: see law_splines.h */
} Law;

/* One rate, its parts of the Jacobian, and its derivatives by the parameters; what is NULL is not wanted. */
typedef struct {
    double *rate;    /* (n, d) */
    double *own;     /* (n, d, d): by the state of the node itself */
    double *edges;   /* (edges, d, d): by the state of the neighbour, times A_ij; or factors of that, if there are some */
    double *columns; /* (n, d, P) */
    int64_t factors; /* pairs of them, (d, factors, n) of the node and then (factors, n, d) of the neighbour; 0 for entries */
} Slopes;

/* How many numbers `edges` has. */
static inline int64_t numbers_of_edges(const Graph *graph, int64_t d, int64_t factors) { return factors ? 2 * factors * graph->n * d : graph->edges * d * d; }
