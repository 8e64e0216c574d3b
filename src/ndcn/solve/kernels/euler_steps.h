/* Euler steps of dX/dt = relu(Phi X W + b), forward and backward, for one floating type.

   Included once for float and once for double by euler.c, which defines REAL, LANES and NAME.

   Layout: a state is n rows of P numbers, P a multiple of LANES; columns past the width are zero and stay zero, because
   the padding of W and b is zero. Phi is in CSR with 32-bit indices; PhiT is its transpose. Nothing is allocated here. */

typedef REAL NAME(vec) __attribute__((vector_size(LANES * sizeof(REAL)), aligned(sizeof(REAL)), may_alias));
#define VEC NAME(vec)
#define AT(p) (*(VEC *)(p))
#define CAT(p) (*(const VEC *)(p))

/* out[i, :] = sum_j M[i, j] x[j, :] for C vectors of columns; two entries at a time, to hide the latency. Rows that will
   be needed soon are fetched ahead if the state is too large for the cache (`ahead` entries, else 0). */
INLINE void NAME(gather)(const int C, const int ahead, const int32_t *ptr, const int32_t *idx, const REAL *val,
                         const REAL *x, int P, int i, REAL *out)
{
    VEC even[4] = {0}, odd[4] = {0};
    int e = ptr[i];
    const int end = ptr[i + 1];
    for (; e + 1 < end; e += 2) {
        const REAL *a = x + (size_t)idx[e] * P, *b = x + (size_t)idx[e + 1] * P;
        if (ahead)
            for (int k = 0; k < 2; k++) {
                const char *soon = (const char *)(x + (size_t)idx[e + ahead + k] * P);
                for (size_t byte = 0; byte < C * LANES * sizeof(REAL); byte += 64) __builtin_prefetch(soon + byte);
                __builtin_prefetch(soon + C * LANES * sizeof(REAL) - 1);
            }
        for (int c = 0; c < C; c++) {
            even[c] += val[e] * CAT(a + c * LANES);
            odd[c] += val[e + 1] * CAT(b + c * LANES);
        }
    }
    if (e < end)
        for (int c = 0; c < C; c++) even[c] += val[e] * CAT(x + (size_t)idx[e] * P + c * LANES);
    for (int c = 0; c < C; c++) AT(out + c * LANES) = even[c] + odd[c];
}

INLINE void NAME(gather_row)(const int ahead, const int32_t *ptr, const int32_t *idx, const REAL *val, const REAL *x, int P,
                             int i, REAL *out)
{
    for (int c = 0; c < P; c += 4 * LANES)
        switch ((P - c) / LANES) {
        case 1: NAME(gather)(1, ahead, ptr, idx, val, x + c, P, i, out + c); break;
        case 2: NAME(gather)(2, ahead, ptr, idx, val, x + c, P, i, out + c); break;
        case 3: NAME(gather)(3, ahead, ptr, idx, val, x + c, P, i, out + c); break;
        default: NAME(gather)(4, ahead, ptr, idx, val, x + c, P, i, out + c);
        }
}

INLINE void NAME(gather_rows)(const int32_t *ptr, const int32_t *idx, const REAL *val, const REAL *x, int n, int P,
                              int first, int rows, REAL *out)
{
    const int large = (size_t)n * P * sizeof(REAL) > CACHE;
    for (int r = 0; r < rows; r++)
        if (large && ptr[first + r + 1] + AHEAD + 1 < ptr[n])
            NAME(gather_row)(AHEAD, ptr, idx, val, x, P, first + r, out + (size_t)r * P);
        else
            NAME(gather_row)(0, ptr, idx, val, x, P, first + r, out + (size_t)r * P);
}

/* acc[r, :] += y[r, k] * w[k, :] over k < K, for R rows of C vectors held in registers. */
INLINE void NAME(tile)(const int R, const int C, int K, const REAL *y, const REAL *w, int P, VEC acc[][4])
{
    for (int k = 0; k < K; k++) {
        VEC row[4];
        for (int c = 0; c < C; c++) row[c] = CAT(w + (size_t)k * P + c * LANES);
        for (int r = 0; r < R; r++)
            for (int c = 0; c < C; c++) acc[r][c] += y[(size_t)r * P + k] * row[c];
    }
}

/* One tile of a forward step: slope = relu(y w + bias), next = x + dt slope. */
INLINE void NAME(advance)(const int R, const int C, int K, const REAL *y, const REAL *w, const REAL *bias, int P, REAL dt,
                          const REAL *x, REAL *slope, REAL *next)
{
    VEC acc[ROWS][4];
    for (int r = 0; r < R; r++)
        for (int c = 0; c < C; c++) acc[r][c] = CAT(bias + c * LANES);
    NAME(tile)(R, C, K, y, w, P, acc);
    for (int r = 0; r < R; r++)
        for (int c = 0; c < C; c++) {
            size_t at = (size_t)r * P + c * LANES;
            VEC z = acc[r][c];
            z = (VEC)((__typeof__(z < 0))z & ~(z < 0)); /* keeps NaN, unlike a maximum */
            AT(slope + at) = z;
            if (next) AT(next + at) = CAT(x + at) + dt * z;
        }
}

/* One tile of a backward step: g += y w. */
INLINE void NAME(add_product)(const int R, const int C, int K, const REAL *y, const REAL *w, int P, REAL *g)
{
    VEC acc[ROWS][4];
    for (int r = 0; r < R; r++)
        for (int c = 0; c < C; c++) acc[r][c] = CAT(g + (size_t)r * P + c * LANES);
    NAME(tile)(R, C, K, y, w, P, acc);
    for (int r = 0; r < R; r++)
        for (int c = 0; c < C; c++) AT(g + (size_t)r * P + c * LANES) = acc[r][c];
}

/* out[o, :] += sum_r y[r, o] x[r, :] for O consecutive o. */
INLINE void NAME(outer)(const int O, const int C, int rows, const REAL *y, const REAL *x, int P, REAL *out)
{
    VEC acc[ROWS][4];
    for (int o = 0; o < O; o++)
        for (int c = 0; c < C; c++) acc[o][c] = CAT(out + (size_t)o * P + c * LANES);
    for (int r = 0; r < rows; r++) {
        VEC row[4];
        for (int c = 0; c < C; c++) row[c] = CAT(x + (size_t)r * P + c * LANES);
        for (int o = 0; o < O; o++)
            for (int c = 0; c < C; c++) acc[o][c] += y[(size_t)r * P + o] * row[c];
    }
    for (int o = 0; o < O; o++)
        for (int c = 0; c < C; c++) AT(out + (size_t)o * P + c * LANES) = acc[o][c];
}

/* out[r, j] = sum_c x[r, c] R[j, c]: each row for itself, so that it does not depend on how many rows there are. */
INLINE void NAME(read)(int rows, int P, int d, const REAL *x, const REAL *R, REAL *out)
{
    for (int r = 0; r < rows; r++)
        for (int j = 0; j < d; j++) {
            VEC acc = {0};
            for (int c = 0; c < P; c += LANES) acc += CAT(x + (size_t)r * P + c) * CAT(R + (size_t)j * P + c);
            REAL sum[LANES / 2];
            for (int l = 0; l < LANES / 2; l++) sum[l] = acc[l] + acc[l + LANES / 2];
            for (int half = LANES / 4; half; half /= 2)
                for (int l = 0; l < half; l++) sum[l] += sum[l + half];
            out[(size_t)r * d + j] = sum[0];
        }
}

/* gZ = (h G + gV R) where the slope is positive, for n rows of C vectors; sums into gb and gR. The state goes a step back:
   x -= h slope, or to what is known of it. */
INLINE void NAME(mask)(int n, const int C, int P, int d, REAL h, const REAL *G, const REAL *slope, const REAL *gV,
                       const REAL *R, const REAL *known, REAL *x, REAL *gZ, REAL *gb, REAL *gR)
{
    VEC sum[4] = {0};
    for (int i = 0; i < n; i++)
        for (int c = 0; c < C; c++) {
            const size_t at = (size_t)i * P + c * LANES;
            VEC g = h * CAT(G + at), s = CAT(slope + at);
            if (known)
                AT(x + at) = CAT(known + at);
            else
                AT(x + at) -= h * s;
            if (gV)
                for (int j = 0; j < d; j++) {
                    g += gV[(size_t)i * d + j] * CAT(R + (size_t)j * P + c * LANES);
                    AT(gR + (size_t)j * P + c * LANES) += gV[(size_t)i * d + j] * s;
                }
            g = (VEC)((__typeof__(s > 0))g & (s > 0));
            AT(gZ + at) = g;
            sum[c] += g;
        }
    for (int c = 0; c < C; c++) AT(gb + c * LANES) += sum[c];
}

/* G += gU R for `rows` rows of C vectors; gR += gU^T x. */
INLINE void NAME(collect)(int rows, const int C, int P, int d, const REAL *gU, const REAL *R, const REAL *x, REAL *G,
                          REAL *gR)
{
    for (int j = 0; j < d; j++) {
        VEC sum[4] = {0}, row[4];
        for (int c = 0; c < C; c++) row[c] = CAT(R + (size_t)j * P + c * LANES);
        for (int r = 0; r < rows; r++) {
            const REAL u = gU[(size_t)r * d + j];
            for (int c = 0; c < C; c++) {
                const size_t at = (size_t)r * P + c * LANES;
                AT(G + at) += u * row[c];
                sum[c] += u * CAT(x + at);
            }
        }
        for (int c = 0; c < C; c++) AT(gR + (size_t)j * P + c * LANES) += sum[c];
    }
}

/* Call f(R, C, ...) with constants, so that each case is compiled with its tile in registers. */
#define PICK_COLUMNS(f, R, left, ...)                                                                                  \
    switch (left) {                                                                                                    \
    case 1: f(R, 1, __VA_ARGS__); break;                                                                               \
    case 2: f(R, 2, __VA_ARGS__); break;                                                                               \
    case 3: f(R, 3, __VA_ARGS__); break;                                                                               \
    default: f(R, 4, __VA_ARGS__);                                                                                     \
    }

/* Rows from..to of one forward step; `next` is null for a slope without a step, V may be null, and so may `all`, where
   slopes are kept, and `save`, where the state is kept. scratch: 2 x BLOCK x P. */
CLONES static void NAME(forward_rows)(int from, int to, int n, int K, int P, int d, REAL h, const int32_t *ptr,
                                      const int32_t *idx, const REAL *val, const REAL *W, const REAL *bias, const REAL *R,
                                      const REAL *x, REAL *all, REAL *next, REAL *save, REAL *U, REAL *V, REAL *scratch)
{
    if (save)
        for (size_t a = (size_t)from * P; a < (size_t)to * P; a += LANES) AT(save + a) = CAT(x + a);
    for (int i = from; i < to; i += BLOCK) {
        const int rows = to - i < BLOCK ? to - i : BLOCK;
        REAL *slope = all ? all + (size_t)i * P : scratch + BLOCK * P;
        NAME(gather_rows)(ptr, idx, val, x, n, P, i, rows, scratch);
        for (int c = 0; c < P; c += 4 * LANES) {
            const int left = (P - c) / LANES;
            int r = 0;
            for (; r + ROWS <= rows; r += ROWS) {
                const size_t a = (size_t)(i + r) * P + c;
                PICK_COLUMNS(NAME(advance), ROWS, left, K, scratch + (size_t)r * P, W + c, bias + c, P, h, x + a,
                             slope + (size_t)r * P + c, next ? next + a : 0)
            }
            for (; r < rows; r++) {
                const size_t a = (size_t)(i + r) * P + c;
                PICK_COLUMNS(NAME(advance), 1, left, K, scratch + (size_t)r * P, W + c, bias + c, P, h, x + a,
                             slope + (size_t)r * P + c, next ? next + a : 0)
            }
        }
        const size_t o = (size_t)i * d;
        NAME(read)(rows, P, d, x + (size_t)i * P, R, U + o);
        if (V) NAME(read)(rows, P, d, slope, R, V + o);
    }
}

/* The first part of a backward step for rows from..to: gZ, and the state a step back. */
CLONES static void NAME(mask_rows)(int from, int to, int P, int d, REAL h, const REAL *G, const REAL *slope,
                                   const REAL *gV, const REAL *R, const REAL *known, REAL *x, REAL *gZ, REAL *gb, REAL *gR)
{
    const size_t at = (size_t)from * P;
    for (int c = 0; c < P; c += 4 * LANES) {
        PICK_COLUMNS(NAME(mask), to - from, (P - c) / LANES, P, d, h, G + at + c, slope + at + c,
                     gV ? gV + (size_t)from * d : 0, R + c, known ? known + at + c : 0, x + at + c, gZ + at + c, gb + c,
                     gR + c)
    }
}

/* The second part, once gZ is complete: G, and sums into gW and gR. gZ is null for a state without a slope. */
CLONES static void NAME(backward_rows)(int from, int to, int n, int K, int P, int d, const int32_t *ptr,
                                       const int32_t *idx, const REAL *val, const REAL *W, const REAL *R, const REAL *x,
                                       const REAL *gU, const REAL *gZ, REAL *G, REAL *scratch, REAL *gW, REAL *gR)
{
    for (int i = from; i < to; i += BLOCK) {
        const int rows = to - i < BLOCK ? to - i : BLOCK;
        const size_t at = (size_t)i * P;
        for (int c = 0; c < P; c += 4 * LANES) {
            PICK_COLUMNS(NAME(collect), rows, (P - c) / LANES, P, d, gU + (size_t)i * d, R + c, x + at + c, G + at + c, gR + c)
        }
        if (!gZ) continue;
        NAME(gather_rows)(ptr, idx, val, gZ, n, P, i, rows, scratch);
        for (int c = 0; c < P; c += 4 * LANES) {
            const int left = (P - c) / LANES;
            int r = 0, o = 0;
            for (; r + ROWS <= rows; r += ROWS) {
                PICK_COLUMNS(NAME(add_product), ROWS, left, K, scratch + (size_t)r * P, W + c, P, G + at + (size_t)r * P + c)
            }
            for (; r < rows; r++) {
                PICK_COLUMNS(NAME(add_product), 1, left, K, scratch + (size_t)r * P, W + c, P, G + at + (size_t)r * P + c)
            }
            for (; o + ROWS <= K; o += ROWS) {
                PICK_COLUMNS(NAME(outer), ROWS, left, rows, scratch + o, x + at + c, P, gW + (size_t)o * P + c)
            }
            for (; o < K; o++) {
                PICK_COLUMNS(NAME(outer), 1, left, rows, scratch + o, x + at + c, P, gW + (size_t)o * P + c)
            }
        }
    }
}

/* Forward: x_{k+1} = x_k + dt[k] s_k, s_k = relu(Phi x_k W + bias), for k < steps; with `extra` also s_steps.
   A: n x P, holds x_0 on entry; B: n x P; x_steps is in A if steps is even, else in B.
   W: K x P, row c holds what column c of Phi x contributes. R: d x P.
   U: outputs x_k R^T for k < steps, and for k = steps with `tail`; V: outputs s_k R^T, or null.
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
        REAL *u = U + k * out, *v = V ? V + k * out : 0;
        REAL *save = keep && k < steps && k % KNOWN == 0 ? X + k / KNOWN * size : 0;
        PARALLEL
        {
            const int t = THREAD, team = TEAM;
            NAME(forward_rows)(part(n, t, team), part(n, t + 1, team), n, K, P, d, h, ptr, idx, val, W, bias, R, x,
                               slope, next, save, u, v, scratch + (size_t)t * 2 * BLOCK * P);
        }
    }
    if (tail && !extra) NAME(read)(n, P, d, steps % 2 ? B : A, R, U + steps * out);
}

/* Backward over the same steps. x: x_steps on entry, x_0 on return, found again as x_k = x_{k+1} - dt[k] s_k, and
   taken from X where that is known, so that rounding does not grow with the state.
   G: n x P, dL/dx_steps from later steps on entry, dL/dx_0 on return. gU, gV: gradients of U and V; gV may be null.
   W: transposed against forward, row o holds what column o of a gradient sends to the columns of Phi x.
   gW (K x P), gb (P) and gR (d x P) are added to in double precision. sum: threads x (K + 1 + d) x P. */
EXPORT void NAME(backward)(int n, int K, int P, int d, int steps, int tail, int extra, int threads, const int32_t *ptr,
                           const int32_t *idx, const REAL *val, const REAL *W, const REAL *R, const double *dt, REAL *x,
                           const REAL *S, const REAL *X, const REAL *gU, const REAL *gV, REAL *G, REAL *gZ, REAL *scratch, REAL *sum,
                           double *gW, double *gb, double *gR)
{
    const size_t size = (size_t)n * P, out = (size_t)n * d, sums = (size_t)(K + 1 + d) * P;
    for (int k = tail ? steps : steps - 1; k >= 0; k--) {
        const int has_slope = k < steps || extra;
        const REAL h = k < steps ? (REAL)dt[k] : 0, *known = k < steps && k % KNOWN == 0 ? X + k / KNOWN * size : 0;
        for (size_t c = 0; c < threads * sums; c++) sum[c] = 0;
        PARALLEL
        {
            const int t = THREAD, team = TEAM, from = part(n, t, team), to = part(n, t + 1, team);
            REAL *own = sum + t * sums, *own_b = own + (size_t)K * P, *own_R = own_b + P;
            if (has_slope)
                NAME(mask_rows)(from, to, P, d, h, G, S + k * size, gV ? gV + k * out : 0, R, known, x, gZ, own_b,
                                own_R);
            BARRIER
            NAME(backward_rows)(from, to, n, K, P, d, ptr, idx, val, W, R, x, gU + k * out, has_slope ? gZ : 0, G,
                                scratch + (size_t)t * 2 * BLOCK * P, own, own_R);
        }
        for (int t = 0; t < threads; t++) {
            const REAL *own = sum + t * sums;
            for (int c = 0; c < K * P; c++) gW[c] += own[c];
            for (int c = 0; c < P; c++) gb[c] += own[K * P + c];
            for (int c = 0; c < d * P; c++) gR[c] += own[(K + 1) * P + c];
        }
    }
}

#undef VEC
#undef AT
#undef CAT
#undef PICK_COLUMNS
