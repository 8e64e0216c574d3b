/* One training iteration in one call, for one floating type: encoder, steps, error, and the gradients of all weights.

   The encoder is tanh(x0 W_e + b_e) W_0 + b_0. Its first half, without the tanh, is a call of its own: the caller takes the
   tanh of `hidden` in between. */

typedef struct {
    int n, features, inner, inner_columns; /* nodes; columns of x0, of hidden, and of hidden in memory; inner = 0: no encoder */
    int width, columns, outputs;           /* K, P and d of a state */
    int steps, extra, times, kind, differentiate, threads;
    const int32_t *phi_ptr, *phi_idx, *phit_ptr, *phit_idx, *m_ptr, *m_idx, *mt_ptr, *mt_idx, *n_ptr, *n_idx, *nt_ptr, *nt_idx;
    const REAL *phi, *phit, *m, *mt, *nn, *nt; /* values of these matrices; see error */
    const REAL *x0, *target, *weights, *we, *be, *w0, *b0, *w, *b, *r, *rb;
    const uint8_t *seen;
    const double *dt;
    REAL *g_we, *g_be, *g_w0, *g_b0, *g_w, *g_b, *g_r, *g_rb; /* gradients of the weights, in the same shapes */
    REAL *hidden, *here, *there, *slopes, *known, *u, *v, *grad, *masked, *scratch, *error_scratch; /* work space */
    REAL *padded; /* work space: (2 inner + 2 width + outputs + features + 8) x the larger of columns and inner_columns */
    REAL *shares; /* work space: threads x (width + 1 + outputs) x columns */
    double *sums; /* work space: (width + 1 + outputs) x columns + threads */
} NAME(iteration_of);
#define ITERATION NAME(iteration_of)

/* out[a, b] = x[a, b], or x[b, a] of `across` numbers in a row if `turned`; zero for b >= across. */
static REAL *NAME(pad)(const REAL *x, int rows, int across, int turned, int columns, REAL *out)
{
    for (int a = 0; a < rows; a++)
        for (int b = 0; b < columns; b++)
            out[(size_t)a * columns + b] = b >= across ? 0 : turned ? x[(size_t)b * rows + a] : x[(size_t)a * across + b];
    return out + (size_t)rows * columns;
}

/* Rows i, i + 1, ... of a block of columns, one after the other. */
INLINE void NAME(lay_out)(const int A, const int C, int rows, const REAL *x, size_t n, size_t i, REAL *out, int P)
{
    for (int r = 0; r < rows; r++) {
        ROW row;
        NAME(load)(A, C, &row, x, n, i + r);
        NAME(store)(A, C, &row, out + (size_t)r * P, 1, 0);
    }
}

/* The other way. */
INLINE void NAME(lay_in)(const int A, const int C, int rows, const REAL *y, int P, REAL *x, size_t n, size_t i)
{
    for (int r = 0; r < rows; r++) {
        ROW row;
        NAME(load)(A, C, &row, y + (size_t)r * P, 1, 0);
        NAME(store)(A, C, &row, x, n, i + r);
    }
}

/* x[i + r, :] = bias + sum_k y[r, k] w[k, :] */
INLINE void NAME(affine)(const int A, const int C, int rows, int K, const REAL *y, int stride, const REAL *w,
                         const REAL *bias, int P, REAL *x, size_t n, size_t i)
{
    ROW sum[ROWS];
    int r = 0;
    for (; r + ROWS <= rows; r += ROWS) {
        for (int a = 0; a < ROWS; a++) NAME(load)(A, C, &sum[a], bias, 1, 0);
        NAME(product)(ROWS, A, C, K, y + (size_t)r * stride, stride, w, P, sum);
        for (int a = 0; a < ROWS; a++) NAME(store)(A, C, &sum[a], x, n, i + r + a);
    }
    for (; r < rows; r++) {
        NAME(load)(A, C, &sum[0], bias, 1, 0);
        NAME(product)(1, A, C, K, y + (size_t)r * stride, stride, w, P, sum);
        NAME(store)(A, C, &sum[0], x, n, i + r);
    }
}

/* x times the derivative of tanh where tanh is h; sums into total. x has BLOCK rows. */
INLINE void NAME(through_tanh)(const int A, const int C, int rows, const REAL *h, size_t n, size_t i, REAL *x, REAL *total)
{
    ROW sum, row, tanh;
    NAME(load)(A, C, &sum, total, 1, 0);
    for (int r = 0; r < rows; r++) {
        NAME(load)(A, C, &row, x, BLOCK, r);
        NAME(load)(A, C, &tanh, h, n, i + r);
        EACH(v) row.a[v] *= 1 - tanh.a[v] * tanh.a[v];
        if (C) row.c *= 1 - tanh.c * tanh.c;
        NAME(store)(A, C, &row, x, BLOCK, r);
        NAME(add)(A, C, &sum, 1, &row);
    }
    NAME(store)(A, C, &sum, total, 1, 0);
}

INLINE void NAME(sum_rows)(const int A, const int C, int rows, const REAL *x, size_t n, size_t i, REAL *total)
{
    ROW sum, row;
    NAME(load)(A, C, &sum, total, 1, 0);
    for (int r = 0; r < rows; r++) {
        NAME(load)(A, C, &row, x, n, i + r);
        NAME(add)(A, C, &sum, 1, &row);
    }
    NAME(store)(A, C, &sum, total, 1, 0);
}

/* hidden = x0 W_e + b_e. */
EXPORT void NAME(encode)(const ITERATION *q)
{
    const int P = q->inner_columns;
    REAL *we = q->padded, *be = NAME(pad)(q->we, q->features, q->inner, 1, P, we);
    NAME(pad)(q->be, 1, q->inner, 0, P, be);
    for (int i = 0; i < q->n; i += BLOCK) {
        const int rows = q->n - i < BLOCK ? q->n - i : BLOCK;
        FOR_BLOCKS(c, P)
        PICK(NAME(affine), P, c, rows, q->features, q->x0 + (size_t)i * q->features, q->features, we + c, be + c, P,
             q->hidden + (size_t)c * q->n, q->n, i)
    }
}

/* The state at the start: hidden W_0 + b_0, or x0 itself. */
static void NAME(begin)(const ITERATION *q)
{
    const int P = q->columns, H = q->inner_columns;
    REAL *w0 = q->padded, *b0 = w0;
    if (q->inner) {
        b0 = NAME(pad)(q->w0, q->inner, q->width, 1, P, w0);
        NAME(pad)(q->b0, 1, q->width, 0, P, b0);
    }
    for (int i = 0; i < q->n; i += BLOCK) {
        const int rows = q->n - i < BLOCK ? q->n - i : BLOCK;
        REAL *y = q->scratch;
        if (q->inner) {
            FOR_BLOCKS(c, H) PICK(NAME(lay_out), H, c, rows, q->hidden + (size_t)c * q->n, q->n, i, y + c, H)
            FOR_BLOCKS(c, P)
            PICK(NAME(affine), P, c, rows, q->inner, y, H, w0 + c, b0 + c, P, q->here + (size_t)c * q->n, q->n, i)
        } else {
            NAME(pad)(q->x0 + (size_t)i * q->width, rows, q->width, 0, P, y);
            FOR_BLOCKS(c, P) PICK(NAME(lay_in), P, c, rows, y + c, P, q->here + (size_t)c * q->n, q->n, i)
        }
    }
}

/* Gradients of the encoder's weights, from that of the state at the start. */
static void NAME(encoder_gradients)(const ITERATION *q)
{
    const int P = q->columns, H = q->inner_columns, inner = q->inner, width = q->width;
    REAL *w0 = q->padded, *g_w0 = NAME(pad)(q->w0, width, inner, 0, H, w0), *g_we = g_w0 + (size_t)width * H;
    REAL *g_be = g_we + (size_t)q->features * H, *zero = g_be + H, *g_b0 = zero + H, *end = g_b0 + P;
    for (REAL *p = g_w0; p < end; p++) *p = 0;
    for (int i = 0; i < q->n; i += BLOCK) {
        const int rows = q->n - i < BLOCK ? q->n - i : BLOCK;
        REAL *y = q->scratch, *x = y + (size_t)BLOCK * P;
        FOR_BLOCKS(c, P)
        {
            PICK(NAME(lay_out), P, c, rows, q->grad + (size_t)c * q->n, q->n, i, y + c, P)
            PICK(NAME(sum_rows), P, c, rows, q->grad + (size_t)c * q->n, q->n, i, g_b0 + c)
        }
        FOR_BLOCKS(c, H)
        {
            const REAL *hidden = q->hidden + (size_t)c * q->n;
            PICK(NAME(outers), H, c, width, rows, y, P, hidden, q->n, i, g_w0 + c, H)
            PICK(NAME(affine), H, c, rows, width, y, P, w0 + c, zero + c, H, x + c * BLOCK, BLOCK, 0)
            PICK(NAME(through_tanh), H, c, rows, hidden, q->n, i, x + c * BLOCK, g_be + c)
            PICK(NAME(outers), H, c, q->features, rows, q->x0 + (size_t)i * q->features, q->features, x + c * BLOCK, BLOCK,
                 0, g_we + c, H)
        }
    }
    for (int o = 0; o < width; o++) {
        q->g_b0[o] = g_b0[o];
        for (int k = 0; k < inner; k++) q->g_w0[(size_t)o * inner + k] = g_w0[(size_t)o * H + k];
    }
    for (int o = 0; o < inner; o++) {
        q->g_be[o] = g_be[o];
        for (int k = 0; k < q->features; k++) q->g_we[(size_t)o * q->features + k] = g_we[(size_t)k * H + o];
    }
}

/* The loss, after `encode` and tanh; NaN if a state is not finite. Gradients are left as they are in that case. */
EXPORT double NAME(iteration)(const ITERATION *q)
{
    const int P = q->columns, K = q->width, d = q->outputs, n = q->n;
    NAME(begin)(q);
    REAL *w = q->padded, *turned = NAME(pad)(q->w, K, K, 0, P, w), *b = NAME(pad)(q->w, K, K, 1, P, turned);
    REAL *r = NAME(pad)(q->b, 1, K, 0, P, b);
    NAME(pad)(q->r, d, K, 0, P, r);
    NAME(forward)(n, K, P, d, q->steps, 1, q->extra, q->differentiate, q->threads, q->phi_ptr, q->phi_idx, q->phi, turned, b,
                  r, q->dt, q->here, q->there, q->slopes, q->known, q->u, q->extra ? q->v : 0, q->scratch);
    const size_t out = (size_t)n * d, last = q->steps * out;
    double check = 0; /* once a state is not finite, it stays so */
    for (size_t c = last; c < last + out; c++) check += (q->u[c] + (q->extra ? q->v[c] : 0)) * 0;
    if (check != 0) return check;
    double *g_w = q->sums, *g_b = g_w + (size_t)K * P, *g_r = g_b + P, *errors = g_r + (size_t)d * P;
    const double loss =
        NAME(error)(q->times, q->steps + 1, n, d, q->kind, q->threads, q->m_ptr, q->m_idx, q->m, q->mt_ptr, q->mt_idx, q->mt,
                    q->n_ptr, q->n_idx, q->nn, q->nt_ptr, q->nt_idx, q->nt, q->u, q->extra ? q->v : 0, q->rb, q->target,
                    q->seen, q->weights, q->error_scratch, errors);
    if (!q->differentiate) return loss;
    for (double *p = g_w; p < errors; p++) *p = 0;
    for (size_t c = 0; c < (size_t)n * P; c++) q->grad[c] = 0;
    NAME(backward)(n, K, P, d, q->steps, 1, q->extra, q->threads, q->phit_ptr, q->phit_idx, q->phit, w, r, q->dt,
                   q->steps % 2 ? q->there : q->here, q->slopes, q->known, q->u, q->extra ? q->v : 0, q->grad, q->masked,
                   q->scratch, q->shares, g_w, g_b, g_r);
    for (int o = 0; o < K; o++) {
        q->g_b[o] = (REAL)g_b[o];
        for (int k = 0; k < K; k++) q->g_w[o * K + k] = (REAL)g_w[(size_t)o * P + k];
    }
    for (int j = 0; j < d; j++) {
        for (int k = 0; k < K; k++) q->g_r[j * K + k] = (REAL)g_r[(size_t)j * P + k];
        REAL part[16] = {0}; /* sixteen sums, which vectors can hold */
        double total = 0;
        const size_t all = (size_t)(q->steps + 1) * n;
        size_t c = 0;
        for (; c + 16 <= all; c += 16)
            for (int l = 0; l < 16; l++) part[l] += q->u[(c + l) * d + j];
        for (; c < all; c++) total += q->u[c * d + j];
        for (int l = 0; l < 16; l++) total += part[l];
        q->g_rb[j] = (REAL)total; /* where a state is interpolated, the shares of its neighbours add up to 1 */
    }
    if (q->inner) NAME(encoder_gradients)(q);
    return loss;
}

#undef ITERATION
