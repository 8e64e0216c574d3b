/* Derivatives of a trajectory, applied forwards and backwards: products with the Jacobians of its Runge-Kutta stages.

   States are n d rows of W columns, W a multiple of 4; those in work are in groups of 16 columns, one group after the other, so that what a
   product reads stays in the cache. A Jacobian has the parts `own` (n, d, d) and `edges` (edges, d, d), as in Slopes. */

typedef double Vec __attribute__((vector_size(32), aligned(8), may_alias));
#define AT(p) (*(Vec *)(p))
#define CAT(p) (*(const Vec *)(p))
#define GROUP 16

INLINE int64_t columns_of_group(int64_t W, int64_t first) { return W - first < GROUP ? W - first : GROUP; }

/* From rows of W columns to groups of columns, and back. */
static void grouped(const double *v, int64_t rows, int64_t W, double *out)
{
    for (int64_t first = 0; first < W; first += GROUP) {
        const int64_t width = columns_of_group(W, first);
        for (int64_t row = 0; row < rows; row++, out += width) memcpy(out, v + row * W + first, sizeof(double) * width);
    }
}

static void ungrouped(const double *v, int64_t rows, int64_t W, double *out)
{
    for (int64_t first = 0; first < W; first += GROUP) {
        const int64_t width = columns_of_group(W, first);
        for (int64_t row = 0; row < rows; row++, v += width) memcpy(out + row * W + first, v, sizeof(double) * width);
    }
}

/* Row a of node i of J v for C vectors of columns. */
INLINE void product_row(const int C, const int64_t d, const Graph *graph, const double *own, const double *edges, const double *v, int64_t i, int64_t a,
                        Vec *sum)
{
    const int64_t W = 4 * C;
    Vec odd[4] = {{0}}; /* two sums, as each addition waits for the one before */
    for (int c = 0; c < C; c++) sum[c] = (Vec){0};
    for (int64_t b = 0; b < d; b++) {
        const double value = own[(i * d + a) * d + b], *row = v + (i * d + b) * W;
        for (int c = 0; c < C; c++) sum[c] += value * CAT(row + 4 * c);
    }
    int32_t e = graph->ptr[i];
    const int32_t *idx = graph->idx, end = graph->ptr[i + 1];
    for (; e + 1 < end; e += 2)
        for (int64_t b = 0; b < d; b++) {
            const double one = edges[(e * d + a) * d + b], *row = v + (idx[e] * d + b) * W;
            const double two = edges[((e + 1) * d + a) * d + b], *next = v + (idx[e + 1] * d + b) * W;
            for (int c = 0; c < C; c++) sum[c] += one * CAT(row + 4 * c);
            for (int c = 0; c < C; c++) odd[c] += two * CAT(next + 4 * c);
        }
    for (int64_t b = 0; e < end && b < d; b++) {
        const double value = edges[(e * d + a) * d + b], *row = v + (idx[e] * d + b) * W;
        for (int c = 0; c < C; c++) sum[c] += value * CAT(row + 4 * c);
    }
    for (int c = 0; c < C; c++) sum[c] += odd[c];
}

/* out = J^T v for C vectors of columns. Each row of J goes to where it belongs, so that J, which is far larger than v, is read in order. */
INLINE void transposed_product(const int C, const int64_t d, const Graph *graph, const double *own, const double *edges, const double *v, double *out)
{
    const int64_t W = 4 * C;
    memset(out, 0, sizeof(double) * graph->n * d * W);
    for (int64_t i = 0; i < graph->n; i++)
        for (int64_t a = 0; a < d; a++) {
            Vec here[4];
            for (int c = 0; c < C; c++) here[c] = CAT(v + (i * d + a) * W + 4 * c);
            for (int64_t b = 0; b < d; b++) {
                const double value = own[(i * d + a) * d + b];
                double *row = out + (i * d + b) * W;
                for (int c = 0; c < C; c++) AT(row + 4 * c) += value * here[c];
            }
            for (int32_t e = graph->ptr[i]; e < graph->ptr[i + 1]; e++)
                for (int64_t b = 0; b < d; b++) {
                    const double value = edges[(e * d + a) * d + b];
                    double *row = out + (graph->idx[e] * d + b) * W;
                    for (int c = 0; c < C; c++) AT(row + 4 * c) += value * here[c];
                }
        }
}

/* One stage on the way forwards or back, k = J from + source or J^T from: sum += weight k; next = here v + ahead k, if next is there. */
typedef struct {
    const double *own, *edges, *from, *source, *v;
    double weight, here, ahead;
    double *sum, *next, *product; /* product: memory for J^T from */
    int64_t W, P;                 /* columns of all but source, and of source */
    const double *node; /* (n, d, q): what the rates of node i owe to its own q numbers, columns n d + i q and on; NULL for none */
    int64_t q;
} Stage;

/* The group of C vectors of columns that begins at column `first`. */
INLINE void stage_columns(const int C, const int transposed, const int64_t d, const Graph *graph, const Stage *s, int64_t first)
{
    const int64_t W = 4 * C, shift = first * graph->n * d;
    const double *from = s->from + shift, *v = s->v + shift;
    double *sum = s->sum + shift, *next = s->next ? s->next + shift : NULL;
    if (transposed) {
        transposed_product(C, d, graph, s->own, s->edges, from, s->product);
        for (int64_t c = 0; c < graph->n * d * W; c++) {
            sum[c] += s->weight * s->product[c];
            if (next) next[c] = s->here * v[c] + s->ahead * s->product[c];
        }
        return;
    }
    for (int64_t i = 0; i < graph->n; i++)
        for (int64_t a = 0; a < d; a++) {
            Vec k[4];
            const int64_t at = (i * d + a) * W;
            product_row(C, d, graph, s->own, s->edges, from, i, a, k);
            if (s->source) {
                double *each = (double *)k;
                const double *source = s->source + (i * d + a) * s->P + first;
                const int64_t left = s->P - first < W ? s->P - first : W;
                for (int64_t c = 0; c < left; c++) each[c] += source[c];
            }
            for (int64_t b = 0; b < s->q; b++) {
                const int64_t c = graph->n * d + i * s->q + b - first;
                if (c >= 0 && c < W) ((double *)k)[c] += s->node[(i * d + a) * s->q + b];
            }
            for (int c = 0; c < C; c++) {
                AT(sum + at + 4 * c) += s->weight * k[c];
                if (next) AT(next + at + 4 * c) = s->here * CAT(v + at + 4 * c) + s->ahead * k[c];
            }
        }
}

INLINE void stage_of(const int transposed, const int64_t d, const Graph *graph, const Stage *s)
{
    for (int64_t first = 0; first < s->W; first += GROUP)
        switch (columns_of_group(s->W, first) / 4) {
        case 1: stage_columns(1, transposed, d, graph, s, first); break;
        case 2: stage_columns(2, transposed, d, graph, s, first); break;
        case 3: stage_columns(3, transposed, d, graph, s, first); break;
        default: stage_columns(4, transposed, d, graph, s, first);
        }
}

/* With a number of features that the compiler knows where there is only one. */
CLONES static void stage(int transposed, int64_t d, const Graph *graph, const Stage *s)
{
    if (d == 1 && transposed) stage_of(1, 1, graph, s);
    else if (d == 1) stage_of(0, 1, graph, s);
    else if (transposed) stage_of(1, d, graph, s);
    else stage_of(0, d, graph, s);
}

/* Arrays of n d rows; the last one of a group of columns. */
typedef struct { double *sum, *one, *two, *product; } Tangents;

static Tangents tangents(double *memory, int64_t rows, int64_t W)
{
    return (Tangents){memory, memory + rows * W, memory + 2 * rows * W, memory + 3 * rows * W};
}

static size_t tangent_numbers(int64_t rows, int64_t W) { return (size_t)rows * (3 * W + GROUP); }

/* RK4: the derivatives v at the end of a step, given those at its beginning and its four Jacobians, one after the other; `node` if columns are
   of numbers of nodes too. */
static void tangent_step(const Graph *graph, int64_t d, const double *own, const double *edges, double h, int64_t W, double *v, Tangents t,
                         const double *node, int64_t q)
{
    const int64_t rows = graph->n * d, a = rows * d, b = graph->edges * d * d, c = rows * q;
    memcpy(t.sum, v, sizeof(double) * rows * W);
    const Stage stages[4] = {
        {own, edges, v, NULL, v, h / 6, 1, h / 2, t.sum, t.one, NULL, W, 0, node, q},
        {own + a, edges + b, t.one, NULL, v, h / 3, 1, h / 2, t.sum, t.two, NULL, W, 0, node + c, q},
        {own + 2 * a, edges + 2 * b, t.two, NULL, v, h / 3, 1, h, t.sum, t.one, NULL, W, 0, node + 2 * c, q},
        {own + 3 * a, edges + 3 * b, t.one, NULL, v, h / 6, 0, 0, t.sum, NULL, NULL, W, 0, node + 3 * c, q},
    };
    for (int k = 0; k < 4; k++) stage(0, d, graph, stages + k);
    memcpy(v, t.sum, sizeof(double) * rows * W);
}

/* The transpose of ``tangent_step``. */
static void adjoint_step(const Graph *graph, int64_t d, const double *own, const double *edges, double h, int64_t W, double *v, Tangents t)
{
    const int64_t rows = graph->n * d, a = rows * d, b = graph->edges * d * d;
    memcpy(t.sum, v, sizeof(double) * rows * W);
    for (int64_t k = 0; k < rows * W; k++) t.one[k] = h / 6 * v[k];
    const Stage stages[4] = {
        {own + 3 * a, edges + 3 * b, t.one, NULL, v, 1, h / 3, h, t.sum, t.two, t.product, W, 0},
        {own + 2 * a, edges + 2 * b, t.two, NULL, v, 1, h / 3, h / 2, t.sum, t.one, t.product, W, 0},
        {own + a, edges + b, t.one, NULL, v, 1, h / 6, h / 2, t.sum, t.two, t.product, W, 0},
        {own, edges, t.two, NULL, v, 1, 0, 0, t.sum, NULL, t.product, W, 0},
    };
    for (int k = 0; k < 4; k++) stage(1, d, graph, stages + k);
    memcpy(v, t.sum, sizeof(double) * rows * W);
}

/* v (n d, W) through `steps` steps of length h, in its place; `node` (4 steps, n, d, q) if columns from n d on are of numbers of nodes. */
EXPORT int ndcn_law_tangent(const Graph *graph, int64_t d, int64_t steps, double h, const double *own, const double *edges,
                            const double *node, int64_t q, int64_t W, double *v)
{
    const int64_t rows = graph->n * d;
    double *memory = malloc(sizeof(double) * (tangent_numbers(rows, W) + rows * W));
    if (!memory) return -1;
    double *at = memory + tangent_numbers(rows, W);
    grouped(v, rows, W, at);
    for (int64_t s = 0; s < steps; s++, own += 4 * rows * d, edges += 4 * graph->edges * d * d, node += 4 * rows * q)
        tangent_step(graph, d, own, edges, h, W, at, tangents(memory, rows, W), node, q);
    ungrouped(at, rows, W, v);
    free(memory);
    return 0;
}

/* v = sum_k T_k^T w_k for w (intervals + 1, n d, W); `own` and `edges` are those of the first stage of all. */
static void adjoint_through(const Graph *graph, int64_t d, int64_t intervals, const int64_t *steps, const double *h, const double *own,
                            const double *edges, int64_t W, const double *w, double *v, Tangents t)
{
    const int64_t rows = graph->n * d;
    for (int64_t k = 0; k < intervals; k++) own += 4 * steps[k] * rows * d, edges += 4 * steps[k] * graph->edges * d * d;
    memcpy(v, w + intervals * rows * W, sizeof(double) * rows * W);
    for (int64_t k = intervals - 1; k >= 0; k--) {
        for (int64_t s = 0; s < steps[k]; s++) {
            own -= 4 * rows * d, edges -= 4 * graph->edges * d * d;
            adjoint_step(graph, d, own, edges, h[k], W, v, t);
        }
        const double *here = w + k * rows * W;
        for (int64_t c = 0; c < rows * W; c++) v[c] += here[c];
    }
}

/* The same with w and v in rows of W columns. */
EXPORT int ndcn_law_adjoint(const Graph *graph, int64_t d, int64_t intervals, const int64_t *steps, const double *h, const double *own,
                            const double *edges, int64_t W, const double *w, double *v)
{
    const int64_t rows = graph->n * d;
    double *memory = malloc(sizeof(double) * (tangent_numbers(rows, W) + (size_t)(intervals + 2) * rows * W));
    if (!memory) return -1;
    double *at = memory + tangent_numbers(rows, W), *all = at + rows * W;
    for (int64_t k = 0; k <= intervals; k++) grouped(w + k * rows * W, rows, W, all + k * rows * W);
    adjoint_through(graph, d, intervals, steps, h, own, edges, W, all, at, tangents(memory, rows, W));
    ungrouped(at, rows, W, v);
    free(memory);
    return 0;
}

/* sum_k T_k^T w_k T_k v for weights w (intervals + 1, n d), in the place of v (n d, W). */
EXPORT int ndcn_law_gram(const Graph *graph, int64_t d, int64_t intervals, const int64_t *steps, const double *h, const double *own,
                         const double *edges, int64_t W, const double *w, double *v)
{
    const int64_t rows = graph->n * d;
    double *memory = malloc(sizeof(double) * (tangent_numbers(rows, W) + (size_t)(intervals + 2) * rows * W));
    if (!memory) return -1;
    const Tangents t = tangents(memory, rows, W);
    double *at = memory + tangent_numbers(rows, W), *weighted = at + rows * W;
    const double *J = own, *E = edges;
    grouped(v, rows, W, at);
    for (int64_t k = 0; k <= intervals; k++) {
        for (int64_t s = 0; k && s < steps[k - 1]; s++, J += 4 * rows * d, E += 4 * graph->edges * d * d)
            tangent_step(graph, d, J, E, h[k - 1], W, at, t, J, 0);
        for (int64_t first = 0, c = 0; first < W; first += GROUP)
            for (int64_t row = 0; row < rows; row++)
                for (int64_t left = columns_of_group(W, first); left; left--, c++)
                    weighted[k * rows * W + c] = w[k * rows + row] * at[c];
    }
    adjoint_through(graph, d, intervals, steps, h, own, edges, W, weighted, at, t);
    ungrouped(at, rows, W, v);
    free(memory);
    return 0;
}
