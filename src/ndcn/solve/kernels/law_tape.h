/* Derivatives of a trajectory, applied forwards and backwards: products with the Jacobians of its Runge-Kutta stages.

   States are n d rows of W columns, W a multiple of 4; those in work are in groups of 16 columns, one group after the other, so that what a
   product reads stays in the cache. A Jacobian has the parts `own` (n, d, d) and `edges`, as in Slopes. */

typedef double Vec __attribute__((vector_size(32), aligned(8), may_alias));
#define AT(p) (*(Vec *)(p))
#define CAT(p) (*(const Vec *)(p))
#define GROUP 16

/* `edges` has entries (edges, d, d), or factors if there are some. */
typedef struct { const double *own, *edges; int64_t factors; } Jacobian;

/* The Jacobian some stages further. */
INLINE Jacobian further(Jacobian J, const Graph *graph, int64_t d, int64_t stages)
{
    return (Jacobian){J.own + stages * graph->n * d * d, J.edges + stages * numbers_of_edges(graph, d, J.factors), J.factors};
}

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

/* out = J v for C vectors of columns, J having entries. */
INLINE void product(const int C, const int64_t d, const Graph *graph, Jacobian J, const double *v, double *out)
{
    const int64_t W = 4 * C;
    const int32_t *idx = graph->idx;
    for (int64_t i = 0; i < graph->n; i++)
        for (int64_t a = 0; a < d; a++) {
            Vec sum[4] = {{0}}, odd[4] = {{0}}; /* two sums, as each addition waits for the one before */
            for (int64_t b = 0; b < d; b++) {
                const double value = J.own[(i * d + a) * d + b], *row = v + (i * d + b) * W;
                for (int c = 0; c < C; c++) sum[c] += value * CAT(row + 4 * c);
            }
            int32_t e = graph->ptr[i];
            const int32_t end = graph->ptr[i + 1];
            for (; e + 1 < end; e += 2)
                for (int64_t b = 0; b < d; b++) {
                    const double one = J.edges[(e * d + a) * d + b], *row = v + (idx[e] * d + b) * W;
                    const double two = J.edges[((e + 1) * d + a) * d + b], *next = v + (idx[e + 1] * d + b) * W;
                    for (int c = 0; c < C; c++) sum[c] += one * CAT(row + 4 * c);
                    for (int c = 0; c < C; c++) odd[c] += two * CAT(next + 4 * c);
                }
            for (int64_t b = 0; e < end && b < d; b++) {
                const double value = J.edges[(e * d + a) * d + b], *row = v + (idx[e] * d + b) * W;
                for (int c = 0; c < C; c++) sum[c] += value * CAT(row + 4 * c);
            }
            for (int c = 0; c < C; c++) AT(out + (i * d + a) * W + 4 * c) = sum[c] + odd[c];
        }
}

/* out = J^T v. Each row of J goes to where it belongs, so that J, which is far larger than v, is read in order. */
INLINE void transposed_product(const int C, const int64_t d, const Graph *graph, Jacobian J, const double *v, double *out)
{
    const int64_t W = 4 * C;
    memset(out, 0, sizeof(double) * graph->n * d * W);
    for (int64_t i = 0; i < graph->n; i++)
        for (int64_t a = 0; a < d; a++) {
            Vec here[4];
            for (int c = 0; c < C; c++) here[c] = CAT(v + (i * d + a) * W + 4 * c);
            for (int64_t b = 0; b < d; b++) {
                const double value = J.own[(i * d + a) * d + b];
                double *row = out + (i * d + b) * W;
                for (int c = 0; c < C; c++) AT(row + 4 * c) += value * here[c];
            }
            for (int32_t e = graph->ptr[i]; e < graph->ptr[i + 1]; e++)
                for (int64_t b = 0; b < d; b++) {
                    const double value = J.edges[(e * d + a) * d + b];
                    double *row = out + (graph->idx[e] * d + b) * W;
                    for (int c = 0; c < C; c++) AT(row + 4 * c) += value * here[c];
                }
        }
}

/* out = J v, or J^T v, for C vectors of columns, J having factors: J_ij = left_i A_ij right_j, summed over pairs of factors. */
INLINE void factored_product(const int C, const int transposed, const int64_t d, const Graph *graph, Jacobian J, const double *v, double *out)
{
    const int64_t n = graph->n, W = 4 * C, along = transposed ? d : 1;
    double *sent = out + n * d * W, *sums = sent + n * W;
    for (int64_t i = 0; i < n; i++)
        for (int64_t a = 0; a < d; a++) {
            Vec sum[4] = {{0}};
            for (int64_t b = 0; b < d; b++) {
                const double value = J.own[i * d * d + (transposed ? a : a * d) + b * along], *row = v + (i * d + b) * W;
                for (int c = 0; c < C; c++) sum[c] += value * CAT(row + 4 * c);
            }
            for (int c = 0; c < C; c++) AT(out + (i * d + a) * W + 4 * c) = sum[c];
        }
    for (int64_t k = 0; k < J.factors; k++) {
        const double *left = J.edges + k * n, *right = J.edges + (J.factors * d + k * d) * n; /* a further by factors n; nodes further by d */
#define LEFT(i, a) left[(a) * J.factors * n + (i)]
#define RIGHT(i, a) right[(i) * d + (a)]
        for (int64_t i = 0; i < n; i++) {
            Vec sum[4] = {{0}};
            for (int64_t a = 0; a < d; a++)
                for (int c = 0; c < C; c++) sum[c] += (transposed ? LEFT(i, a) : RIGHT(i, a)) * CAT(v + (i * d + a) * W + 4 * c);
            for (int c = 0; c < C; c++) AT(sent + i * W + 4 * c) = sum[c];
        }
        if (transposed) memset(sums, 0, sizeof(double) * n * W);
        for (int64_t i = 0; i < n; i++) {
            Vec sum[4] = {{0}}, here[4];
            for (int c = 0; c < C; c++) here[c] = AT(sent + i * W + 4 * c);
            for (int32_t e = graph->ptr[i]; e < graph->ptr[i + 1]; e++) {
                const double value = graph->ones ? 1.0 : graph->weight[e];
                double *row = (transposed ? sums : sent) + graph->idx[e] * W;
                for (int c = 0; c < C; c++)
                    if (transposed) AT(row + 4 * c) += value * here[c];
                    else sum[c] += value * AT(row + 4 * c);
            }
            for (int c = 0; !transposed && c < C; c++) AT(sums + i * W + 4 * c) = sum[c];
        }
        for (int64_t i = 0; i < n; i++)
            for (int64_t a = 0; a < d; a++)
                for (int c = 0; c < C; c++) AT(out + (i * d + a) * W + 4 * c) += (transposed ? RIGHT(i, a) : LEFT(i, a)) * AT(sums + i * W + 4 * c);
#undef LEFT
#undef RIGHT
    }
}

/* One stage on the way forwards or back, k = J from + source or J^T from: sum += weight k; next = here v + ahead k, if next is there. */
typedef struct {
    Jacobian J;
    const double *from, *source, *v;
    double weight, here, ahead;
    double *sum, *next, *product; /* product: memory for k and what leads there, see PRODUCT */
    int64_t W, P;                 /* columns of all but source, and of source */
    const double *node; /* (n, d, q): what the rates of node i owe to its own q numbers, columns n d + i q and on; NULL for none */
    int64_t q;
} Stage;

/* The group of C vectors of columns that begins at column `first`. */
INLINE void stage_columns(const int C, const int transposed, const int64_t d, const Graph *graph, const Stage *s, int64_t first)
{
    const int64_t rows = graph->n * d, W = 4 * C, shift = first * rows;
    const double *from = s->from + shift, *v = s->v + shift;
    double *sum = s->sum + shift, *next = s->next ? s->next + shift : NULL, *k = s->product;
    if (s->J.factors) factored_product(C, transposed, d, graph, s->J, from, k);
    else if (transposed) transposed_product(C, d, graph, s->J, from, k);
    else product(C, d, graph, s->J, from, k);
    if (s->source) {
        const int64_t left = s->P - first < W ? s->P - first : W;
        for (int64_t row = 0; row < rows; row++)
            for (int64_t c = 0; c < left; c++) k[row * W + c] += s->source[row * s->P + first + c];
    }
    for (int64_t row = 0; s->q && row < rows; row++)
        for (int64_t b = 0; b < s->q; b++) {
            const int64_t c = rows + row / d * s->q + b - first;
            if (c >= 0 && c < W) k[row * W + c] += s->node[row * s->q + b];
        }
    for (int64_t c = 0; c < rows * W; c += 4) {
        AT(sum + c) += s->weight * AT(k + c);
        if (next) AT(next + c) = s->here * CAT(v + c) + s->ahead * AT(k + c);
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

/* Arrays of n d rows of W columns, and memory for a product. */
typedef struct { double *sum, *one, *two, *product; } Tangents;

#define PRODUCT (3 * GROUP) /* numbers for each row, in which a product is computed */

static Tangents tangents(double *memory, int64_t rows, int64_t W)
{
    return (Tangents){memory, memory + rows * W, memory + 2 * rows * W, memory + 3 * rows * W};
}

static size_t tangent_numbers(int64_t rows, int64_t W) { return (size_t)rows * (3 * W + PRODUCT); }

/* RK4: the derivatives v at the end of a step, given those at its beginning and its four Jacobians, one after the other; `node` if columns are
   of numbers of nodes too. */
static void tangent_step(const Graph *graph, int64_t d, Jacobian J, double h, int64_t W, double *v, Tangents t, const double *node, int64_t q)
{
    const int64_t rows = graph->n * d, c = rows * q;
    memcpy(t.sum, v, sizeof(double) * rows * W);
    const Stage stages[4] = {
        {J, v, NULL, v, h / 6, 1, h / 2, t.sum, t.one, t.product, W, 0, node, q},
        {further(J, graph, d, 1), t.one, NULL, v, h / 3, 1, h / 2, t.sum, t.two, t.product, W, 0, node + c, q},
        {further(J, graph, d, 2), t.two, NULL, v, h / 3, 1, h, t.sum, t.one, t.product, W, 0, node + 2 * c, q},
        {further(J, graph, d, 3), t.one, NULL, v, h / 6, 0, 0, t.sum, NULL, t.product, W, 0, node + 3 * c, q},
    };
    for (int k = 0; k < 4; k++) stage(0, d, graph, stages + k);
    memcpy(v, t.sum, sizeof(double) * rows * W);
}

/* The transpose of ``tangent_step``. */
static void adjoint_step(const Graph *graph, int64_t d, Jacobian J, double h, int64_t W, double *v, Tangents t)
{
    const int64_t rows = graph->n * d;
    memcpy(t.sum, v, sizeof(double) * rows * W);
    for (int64_t k = 0; k < rows * W; k++) t.one[k] = h / 6 * v[k];
    const Stage stages[4] = {
        {further(J, graph, d, 3), t.one, NULL, v, 1, h / 3, h, t.sum, t.two, t.product, W, 0},
        {further(J, graph, d, 2), t.two, NULL, v, 1, h / 3, h / 2, t.sum, t.one, t.product, W, 0},
        {further(J, graph, d, 1), t.one, NULL, v, 1, h / 6, h / 2, t.sum, t.two, t.product, W, 0},
        {J, t.two, NULL, v, 1, 0, 0, t.sum, NULL, t.product, W, 0},
    };
    for (int k = 0; k < 4; k++) stage(1, d, graph, stages + k);
    memcpy(v, t.sum, sizeof(double) * rows * W);
}

/* v (n d, W) through `steps` steps of length h, in its place; `node` (4 steps, n, d, q) if columns from n d on are of numbers of nodes. */
EXPORT int ndcn_law_tangent(const Graph *graph, int64_t d, int64_t steps, double h, const double *own, const double *edges, int64_t factors,
                            const double *node, int64_t q, int64_t W, double *v)
{
    const int64_t rows = graph->n * d;
    double *memory = malloc(sizeof(double) * (tangent_numbers(rows, W) + rows * W));
    if (!memory) return -1;
    double *at = memory + tangent_numbers(rows, W);
    grouped(v, rows, W, at);
    const Jacobian J = {own, edges, factors};
    for (int64_t s = 0; s < steps; s++, node += 4 * rows * q)
        tangent_step(graph, d, further(J, graph, d, 4 * s), h, W, at, tangents(memory, rows, W), node, q);
    ungrouped(at, rows, W, v);
    free(memory);
    return 0;
}

/* v = sum_k T_k^T w_k for w (intervals + 1, n d, W); J is the Jacobian of the first stage of all. */
static void adjoint_through(const Graph *graph, int64_t d, int64_t intervals, const int64_t *steps, const double *h, Jacobian J, int64_t W,
                            const double *w, double *v, Tangents t)
{
    const int64_t rows = graph->n * d;
    int64_t step = 0;
    for (int64_t k = 0; k < intervals; k++) step += steps[k];
    memcpy(v, w + intervals * rows * W, sizeof(double) * rows * W);
    for (int64_t k = intervals - 1; k >= 0; k--) {
        for (int64_t s = 0; s < steps[k]; s++) adjoint_step(graph, d, further(J, graph, d, 4 * --step), h[k], W, v, t);
        const double *here = w + k * rows * W;
        for (int64_t c = 0; c < rows * W; c++) v[c] += here[c];
    }
}

/* The same with w and v in rows of W columns. */
EXPORT int ndcn_law_adjoint(const Graph *graph, int64_t d, int64_t intervals, const int64_t *steps, const double *h, const double *own,
                            const double *edges, int64_t factors, int64_t W, const double *w, double *v)
{
    const int64_t rows = graph->n * d;
    double *memory = malloc(sizeof(double) * (tangent_numbers(rows, W) + (size_t)(intervals + 2) * rows * W));
    if (!memory) return -1;
    double *at = memory + tangent_numbers(rows, W), *all = at + rows * W;
    for (int64_t k = 0; k <= intervals; k++) grouped(w + k * rows * W, rows, W, all + k * rows * W);
    adjoint_through(graph, d, intervals, steps, h, (Jacobian){own, edges, factors}, W, all, at, tangents(memory, rows, W));
    ungrouped(at, rows, W, v);
    free(memory);
    return 0;
}

/* sum_k T_k^T w_k T_k v for weights w (intervals + 1, n d), in the place of v (n d, W). */
EXPORT int ndcn_law_gram(const Graph *graph, int64_t d, int64_t intervals, const int64_t *steps, const double *h, const double *own,
                         const double *edges, int64_t factors, int64_t W, const double *w, double *v)
{
    const int64_t rows = graph->n * d;
    double *memory = malloc(sizeof(double) * (tangent_numbers(rows, W) + (size_t)(intervals + 2) * rows * W));
    if (!memory) return -1;
    const Tangents t = tangents(memory, rows, W);
    const Jacobian J = {own, edges, factors};
    double *at = memory + tangent_numbers(rows, W), *weighted = at + rows * W;
    int64_t step = 0;
    grouped(v, rows, W, at);
    for (int64_t k = 0; k <= intervals; k++) {
        for (int64_t s = 0; k && s < steps[k - 1]; s++) tangent_step(graph, d, further(J, graph, d, 4 * step++), h[k - 1], W, at, t, NULL, 0);
        for (int64_t first = 0, c = 0; first < W; first += GROUP)
            for (int64_t row = 0; row < rows; row++)
                for (int64_t left = columns_of_group(W, first); left; left--, c++)
                    weighted[k * rows * W + c] = w[k * rows + row] * at[c];
    }
    adjoint_through(graph, d, intervals, steps, h, J, W, weighted, at, t);
    ungrouped(at, rows, W, v);
    free(memory);
    return 0;
}
