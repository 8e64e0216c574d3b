/* Euler steps of dX/dt = relu(Phi X W + b), forward and backward, for one floating type; see euler_rows.h for the layout.

   Phi is in CSR with 32-bit indices; PhiT is its transpose. Nothing is allocated here. */

/* Ask for row i of a block of columns, into the second cache: the first can wait for too few rows at once. */
INLINE void NAME(fetch)(const int A, const int C, const REAL *x, const REAL *tails, size_t n, size_t i)
{
    for (int v = 0; v < A; v++) __builtin_prefetch(x + (v * n + i) * WIDE, 0, 2);
    if (C) __builtin_prefetch(tails + i * TAIL, 0, 2);
}

/* out[:] = sum_j M[i, j] x[j, :]; two entries at a time, to hide the latency. Rows that will be needed soon are fetched
   ahead if the state is too large for the cache (`ahead` entries, else 0). */
INLINE void NAME(gather)(const int A, const int C, const int ahead, const int32_t *ptr, const int32_t *idx,
                         const REAL *val, const REAL *x, size_t n, int i, REAL *out)
{
    ROW even, odd, row;
    const REAL *tails = TAIL_AT(x, n, 0);
    size_t e = ptr[i];
    const size_t end = ptr[i + 1];
    NAME(clear)(A, C, &even);
    NAME(clear)(A, C, &odd);
    for (; e + 1 < end; e += 2) {
        for (int k = 0; ahead && k < 2; k++) NAME(fetch)(A, C, x, tails, n, idx[e + ahead + k]);
        NAME(load_split)(A, C, &row, x, tails, n, idx[e]);
        NAME(add)(A, C, &even, val[e], &row);
        NAME(load_split)(A, C, &row, x, tails, n, idx[e + 1]);
        NAME(add)(A, C, &odd, val[e + 1], &row);
    }
    if (e < end) {
        if (ahead) NAME(fetch)(A, C, x, tails, n, idx[e + ahead]);
        NAME(load_split)(A, C, &row, x, tails, n, idx[e]);
        NAME(add)(A, C, &even, val[e], &row);
    }
    NAME(add)(A, C, &even, 1, &odd);
    NAME(store)(A, C, &even, out, 1, 0);
}

INLINE void NAME(gather_rows)(const int A, const int C, const int32_t *ptr, const int32_t *idx, const REAL *val,
                              const REAL *x, size_t n, int P, int first, int rows, REAL *out)
{
    const int large = n * P * sizeof(REAL) > CACHE;
    for (int r = 0; r < rows; r++)
        if (large && ptr[first + r + 1] + AHEAD < ptr[n])
            NAME(gather)(A, C, AHEAD, ptr, idx, val, x, n, first + r, out + (size_t)r * P);
        else
            NAME(gather)(A, C, 0, ptr, idx, val, x, n, first + r, out + (size_t)r * P);
}

/* R rows of a forward step, from row i: slope = relu(y w + bias), next = x + h slope. `at` is their row among the
   `stored` ones of slope; next may be null. */
INLINE void NAME(advance)(const int R, const int A, const int C, int K, const REAL *y, const REAL *w, const REAL *bias, int P,
                          REAL h, const REAL *x, size_t n, size_t i, REAL *slope, size_t stored, size_t at, REAL *next)
{
    ROW sum[ROWS];
    for (int r = 0; r < R; r++) NAME(load)(A, C, &sum[r], bias, 1, 0);
    NAME(product)(R, A, C, K, y, P, w, P, sum);
    for (int r = 0; r < R; r++) {
        NAME(relu)(A, C, &sum[r]);
        NAME(store)(A, C, &sum[r], slope, stored, at + r);
        if (next) {
            ROW state;
            NAME(load)(A, C, &state, x, n, i + r);
            NAME(add)(A, C, &state, h, &sum[r]);
            NAME(store)(A, C, &state, next, n, i + r);
        }
    }
}

INLINE void NAME(advance_rows)(const int A, const int C, int rows, int K, const REAL *y, const REAL *w, const REAL *bias,
                               int P, REAL h, const REAL *x, size_t n, size_t i, REAL *slope, size_t stored, size_t at,
                               REAL *next)
{
    int r = 0;
    for (; r + ROWS <= rows; r += ROWS)
        NAME(advance)(ROWS, A, C, K, y + (size_t)r * P, w, bias, P, h, x, n, i + r, slope, stored, at + r, next);
    for (; r < rows; r++)
        NAME(advance)(1, A, C, K, y + (size_t)r * P, w, bias, P, h, x, n, i + r, slope, stored, at + r, next);
}

/* out[r, j] = sum_c x[i + r, c] R[j, c] for rows of a block. */
INLINE void NAME(read)(int rows, int P, int d, const REAL *x, size_t n, size_t i, const REAL *R, REAL *out)
{
    for (int j = 0; j < d; j++) {
        END part[BLOCK];
        for (int r = 0; r < rows; r++) part[r] = (END){0};
        FOR_BLOCKS(c, P) PICK(NAME(dot), P, c, rows, x + c * n, n, i, R + (size_t)j * P + c, part)
        for (int r = 0; r < rows; r++) {
            REAL sum = part[r][0] + part[r][1];
            if (TAIL == 4) sum += part[r][TAIL - 2] + part[r][TAIL - 1];
            out[(size_t)r * d + j] = sum;
        }
    }
}

INLINE void NAME(copy)(const int A, const int C, int rows, const REAL *x, REAL *out, size_t n, size_t i)
{
    for (int r = 0; r < rows; r++) {
        ROW row;
        NAME(load)(A, C, &row, x, n, i + r);
        NAME(store)(A, C, &row, out, n, i + r);
    }
}

/* Rows from..to of one forward step; `next` is null for a slope without a step, U and V may be null, and so may `all`, where
   slopes are kept, and `save`, where the state is kept. scratch: 2 x BLOCK x P. */
static void NAME(forward_rows)(int from, int to, size_t n, int K, int P, int d, REAL h, const int32_t *ptr,
                                      const int32_t *idx, const REAL *val, const REAL *W, const REAL *bias, const REAL *R,
                                      const REAL *x, REAL *all, REAL *next, REAL *save, REAL *U, REAL *V, REAL *scratch)
{
    for (int i = from; i < to; i += BLOCK) {
        const int rows = to - i < BLOCK ? to - i : BLOCK;
        REAL *slope = all ? all : scratch + BLOCK * P;
        const size_t stored = all ? n : BLOCK, at = all ? i : 0;
        FOR_BLOCKS(c, P) PICK(NAME(gather_rows), P, c, ptr, idx, val, x + c * n, n, P, i, rows, scratch + c)
        FOR_BLOCKS(c, P)
        PICK(NAME(advance_rows), P, c, rows, K, scratch, W + c, bias + c, P, h, x + c * n, n, i, slope + c * stored, stored,
             at, next ? next + c * n : 0)
        if (save) FOR_BLOCKS(c, P) PICK(NAME(copy), P, c, rows, x + c * n, save + c * n, n, i)
        if (U) NAME(read)(rows, P, d, x, n, i, R, U + (size_t)i * d);
        if (V) NAME(read)(rows, P, d, slope, stored, at, R, V + (size_t)i * d);
    }
}

/* Outputs of a state without a slope. */
static void NAME(last_output)(size_t n, int P, int d, const REAL *x, const REAL *R, REAL *U)
{
    for (size_t i = 0; i < n; i += BLOCK)
        NAME(read)(n - i < BLOCK ? (int)(n - i) : BLOCK, P, d, x, n, i, R, U + i * d);
}

/* What a backward step needs of a step: its size, slope and gV (or null), and the state before it, if that is known. */
typedef struct {
    REAL h;
    const REAL *slope, *gV, *known;
} NAME(before);
#define BEFORE NAME(before)

/* R rows of a backward step, from row i: G += y w + gU R, and then for the step before it, if there is one, gZ = (h G +
   gV R) where the slope is positive, x back to the state before it, and sums into gb. y is null without a slope. */
INLINE void NAME(retreat)(const int R, const int A, const int C, int K, const REAL *y, const REAL *w, int P, int d,
                          const REAL *gU, const REAL *read, REAL *G, size_t n, size_t i, BEFORE b, REAL *x, REAL *gZ, REAL *gb)
{
    ROW sum[ROWS], total, row;
    for (int r = 0; r < R; r++) NAME(load)(A, C, &sum[r], G, n, i + r);
    if (y) NAME(product)(R, A, C, K, y, P, w, P, sum);
    if (gU) NAME(product)(R, A, C, d, gU, d, read, P, sum);
    for (int r = 0; r < R; r++) NAME(store)(A, C, &sum[r], G, n, i + r);
    if (!b.slope) return;
    for (int r = 0; r < R; r++) NAME(scale)(A, C, &sum[r], b.h);
    if (b.gV) NAME(product)(R, A, C, d, b.gV + i * d, d, read, P, sum);
    NAME(load)(A, C, &total, gb, 1, 0);
    for (int r = 0; r < R; r++) {
        NAME(load)(A, C, &row, b.slope, n, i + r);
        NAME(mask)(A, C, &sum[r], &row);
        NAME(store)(A, C, &sum[r], gZ, n, i + r);
        NAME(add)(A, C, &total, 1, &sum[r]);
        if (b.known)
            NAME(load)(A, C, &sum[r], b.known, n, i + r);
        else {
            NAME(load)(A, C, &sum[r], x, n, i + r);
            NAME(add)(A, C, &sum[r], -b.h, &row);
        }
        NAME(store)(A, C, &sum[r], x, n, i + r);
    }
    NAME(store)(A, C, &total, gb, 1, 0);
}

INLINE void NAME(retreat_rows)(const int A, const int C, int rows, int K, const REAL *y, const REAL *w, int P, int d,
                               const REAL *gU, const REAL *read, REAL *G, size_t n, size_t i, BEFORE b, int c, REAL *x,
                               REAL *gZ, REAL *gb)
{
    if (b.slope) b.slope += c * n;
    if (b.known) b.known += c * n;
    int r = 0;
    for (; r + ROWS <= rows; r += ROWS)
        NAME(retreat)(ROWS, A, C, K, y ? y + (size_t)r * P : 0, w, P, d, gU ? gU + (size_t)r * d : 0, read, G, n, i + r, b,
                      x, gZ, gb);
    for (; r < rows; r++)
        NAME(retreat)(1, A, C, K, y ? y + (size_t)r * P : 0, w, P, d, gU ? gU + (size_t)r * d : 0, read, G, n, i + r, b, x,
                      gZ, gb);
}

/* Rows from..to of one backward step: of the slopes' gradients gZ and the outputs' gU to G, and from there to those of the
   step before it. gZ is null for a state without a slope, gU before the last state. */
static void NAME(backward_rows)(int from, int to, size_t n, int K, int P, int d, const int32_t *ptr,
                                       const int32_t *idx, const REAL *val, const REAL *W, const REAL *R, const REAL *gU,
                                       const REAL *gZ, BEFORE before, REAL *x, REAL *G, REAL *next_gZ, REAL *scratch,
                                       REAL *gW, REAL *gb, REAL *gR)
{
    for (int i = from; i < to; i += BLOCK) {
        const int rows = to - i < BLOCK ? to - i : BLOCK;
        const REAL *u = gU ? gU + (size_t)i * d : 0, *y = gZ ? scratch : 0;
        if (gZ) FOR_BLOCKS(c, P) PICK(NAME(gather_rows), P, c, ptr, idx, val, gZ + c * n, n, P, i, rows, scratch + c)
        FOR_BLOCKS(c, P)
        {
            if (y) PICK(NAME(outers), P, c, K, rows, y, P, x + c * n, n, i, gW + c, P)
            if (u) PICK(NAME(outers), P, c, d, rows, u, d, x + c * n, n, i, gR + c, P)
            if (before.gV)
                PICK(NAME(outers), P, c, d, rows, before.gV + (size_t)i * d, d, before.slope + c * n, n, i, gR + c, P)
            PICK(NAME(retreat_rows), P, c, rows, K, y, W + c, P, d, u, R + c, G + c * n, n, i, before, c, x + c * n,
                 next_gZ + c * n, gb + c)
        }
    }
}

/* Forward: x_{k+1} = x_k + dt[k] s_k, s_k = relu(Phi x_k W + bias), for k < steps; with `extra` also s_steps.
   A: n x P, holds x_0 on entry; B: n x P; x_steps is in A if steps is even, else in B.
   W: K x P, row c holds what column c of Phi x contributes. R: d x P.
   U: outputs x_k R^T for k < steps, and for k = steps with `tail`; V: outputs s_k R^T; both may be null.
   S, X: with `keep`, all slopes, (steps + extra) x n x P, and every KNOWN-th state, x_0 among them.
   scratch: threads x 2 x BLOCK x P. */
EXPORT void NAME(forward)(int n, int K, int P, int d, int steps, int tail, int extra, int keep, int threads,
                          const int32_t *ptr, const int32_t *idx, const REAL *val, const REAL *W, const REAL *bias,
                          const REAL *R, const double *dt, REAL *A, REAL *B, REAL *S, REAL *X, REAL *U, REAL *V, REAL *scratch)
{
    const size_t size = (size_t)n * P, out = (size_t)n * d;
    for (int k = 0; k < steps + extra; k++) {
        const REAL *x = k % 2 ? B : A, h = k < steps ? (REAL)dt[k] : 0;
        REAL *next = k == steps ? 0 : k % 2 ? A : B, *slope = keep ? S + k * size : 0;
        REAL *u = U ? U + k * out : 0, *v = V ? V + k * out : 0;
        REAL *save = keep && k < steps && k % KNOWN == 0 ? X + k / KNOWN * size : 0;
        PARALLEL
        {
            const int t = THREAD, team = TEAM;
            NAME(forward_rows)(part(n, t, team), part(n, t + 1, team), n, K, P, d, h, ptr, idx, val, W, bias, R, x,
                               slope, next, save, u, v, scratch + (size_t)t * 2 * BLOCK * P);
        }
    }
    if (tail && !extra) NAME(last_output)(n, P, d, steps % 2 ? B : A, R, U + steps * out);
}

/* Backward over the same steps. x: x_steps on entry, x_0 on return, found again as x_k = x_{k+1} - dt[k] s_k, and
   taken from X where that is known, so that rounding does not grow with the state.
   G: n x P, dL/dx_steps from later steps on entry, dL/dx_0 on return. gU, gV: gradients of U and V; gV may be null.
   W: transposed against forward, row o holds what column o of a gradient sends to the columns of Phi x.
   gZ: 2 x n x P. gW (K x P), gb (P) and gR (d x P) are added to in double precision. sum: threads x (K + 1 + d) x P.
   scratch: threads x 2 x BLOCK x P. */
EXPORT void NAME(backward)(int n, int K, int P, int d, int steps, int tail, int extra, int threads, const int32_t *ptr,
                           const int32_t *idx, const REAL *val, const REAL *W, const REAL *R, const double *dt, REAL *x,
                           const REAL *S, const REAL *X, const REAL *gU, const REAL *gV, REAL *G, REAL *gZ, REAL *scratch, REAL *sum,
                           double *gW, double *gb, double *gR)
{
    const size_t size = (size_t)n * P, out = (size_t)n * d, sums = (size_t)(K + 1 + d) * P;
    const int last = tail ? steps : steps - 1;
    for (int k = last + 1; k >= 0; k--) {
        const int has_slope = k <= last && (k < steps || extra), before = k - 1;
        BEFORE b = {0, 0, 0, 0};
        if (before >= 0 && (before < steps || extra)) {
            b.h = before < steps ? (REAL)dt[before] : 0;
            b.slope = S + before * size;
            b.gV = gV ? gV + before * out : 0;
            b.known = before < steps && before % KNOWN == 0 ? X + before / KNOWN * size : 0;
        }
        for (size_t c = 0; c < threads * sums; c++) sum[c] = 0;
        PARALLEL
        {
            const int t = THREAD, team = TEAM;
            REAL *own = sum + t * sums, *own_b = own + (size_t)K * P, *own_R = own_b + P;
            NAME(backward_rows)(part(n, t, team), part(n, t + 1, team), n, K, P, d, ptr, idx, val, W, R,
                                k <= last ? gU + k * out : 0, has_slope ? gZ + k % 2 * size : 0, b, x, G,
                                gZ + (k + 1) % 2 * size, scratch + (size_t)t * 2 * BLOCK * P, own, own_b, own_R);
        }
        for (int t = 0; t < threads; t++) {
            const REAL *own = sum + t * sums;
            for (int c = 0; c < K * P; c++) gW[c] += own[c];
            for (int c = 0; c < P; c++) gb[c] += own[K * P + c];
            for (int c = 0; c < d * P; c++) gR[c] += own[(K + 1) * P + c];
        }
    }
}

#undef BEFORE
