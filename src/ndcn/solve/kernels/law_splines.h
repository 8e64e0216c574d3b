/* Rates of a law whose f and g are splines, and their derivatives. Four splines at most are not 0 at any place.

   Numbers of the law, `curves`, in this order: for each feature b the curves f, p and q of all d outputs as cubics (intervals, 4, 3 d), and u
   (intervals, 4, d); for each pair b < c of features the products of f (m_b, m_c, d); for all b, c those of g. */

#define ACTIVE 4
#define MOST_FEATURES 16 /* law_arrays.py refuses more */

typedef struct {
    int first;        /* of the splines that are not 0 */
    double v[ACTIVE]; /* their values */
    double s[ACTIVE]; /* their derivatives */
    double r[ACTIVE]; /* what of them lies beyond the first and last break */
    double z[ACTIVE]; /* its derivative */
} Point;

typedef struct {
    Point *few, *single;      /* (d, n) */
    double *own, *own_by;     /* (n, 3 d): f, p and q; (d, n, 3 d): by x_b */
    double *sent, *rests;     /* (n, W): few splines of all features, q and, with derivatives, all splines; (n, W): what of few lies beyond */
    double *sums, *rest_sums; /* the same summed over neighbours */
    double *gaps;             /* (n, d): u summed over neighbours */
    double *half, *half_rest; /* (n, M, d): products with the splines of the node itself */
    int64_t M, W, size;       /* few splines of all features; columns of sent, a multiple of 4 */
    int beyond;               /* whether any state lies beyond its breaks */
} SplineWork;

#define SINGLE(b) (law->splines + 3 * (b))
#define FEW(b) (law->splines + 3 * (b) + 1)
#define GAP(b) (law->splines + 3 * (b) + 2)

INLINE int64_t located(const Splines *s, double x)
{
    int64_t where = 0;
    if (s->per_break > 0) { /* a guess, off by one where rounding decides */
        const double guess = (x - s->at[0]) * s->per_break;
        where = guess < 0 ? 0 : guess < s->breaks ? (int64_t)guess + 1 : s->breaks;
        if (where && x < s->at[where - 1]) where--;
        else if (where < s->breaks && x >= s->at[where]) where++;
        return where;
    }
    for (int64_t k = 0; k < s->breaks; k++) where += x >= s->at[k];
    return where;
}

/* r curves at x and, where wanted, their derivatives, added to what is there with a factor. */
INLINE void add_curves(const Splines *s, const double *cubics, int64_t r, double x, double factor, double *value, double *slope)
{
    const int64_t where = located(s, x);
    const double u = x - s->origins[where], *c = cubics + where * 4 * r;
    for (int64_t k = 0; k < r; k++) {
        if (value) value[k] += factor * (c[k] + u * (c[r + k] + u * (c[2 * r + k] + u * c[3 * r + k])));
        if (slope) slope[k] += factor * (c[r + k] + u * (2 * c[2 * r + k] + 3 * u * c[3 * r + k]));
    }
}

INLINE void point(const Splines *s, double x, Point *out)
{
    const int64_t where = located(s, x), last = s->size - ACTIVE, inside = where > 0 && where < s->breaks;
    const int64_t first = where < 1 ? 0 : where - 1 > last ? last : where - 1;
    const double u = x - s->origins[where], *c = s->pieces + (where * s->size + first) * 4;
    out->first = (int)first;
    for (int k = 0; k < ACTIVE; k++, c += 4) {
        out->v[k] = c[0] + u * (c[1] + u * (c[2] + u * c[3]));
        out->s[k] = c[1] + u * (2 * c[2] + 3 * u * c[3]);
        out->r[k] = inside ? 0 : u * c[1];
        out->z[k] = inside || u == 0 ? 0 : c[1];
    }
}

static int64_t all_splines(const Law *law)
{
    int64_t size = 0, few = 0, d = law->d;
    for (int64_t b = 0; b < d; b++) {
        size += 3 * SINGLE(b)->size + GAP(b)->size;
        few += FEW(b)->size;
    }
    int64_t pairs = 0;
    for (int64_t b = 0; b < d; b++)
        for (int64_t c = b + 1; c < d; c++) pairs += FEW(b)->size * FEW(c)->size;
    return size + pairs + few * few;
}

static SplineWork *spline_work_for(const Law *law, const Graph *graph)
{
    int64_t M = 0, every = 0, n = graph->n, d = law->d;
    for (int64_t b = 0; b < d; b++) M += FEW(b)->size, every += SINGLE(b)->size;
    const int64_t size = all_splines(law), W = (M + d + every + 3) / 4 * 4;
    const int64_t sizes[] = {3 * d, 3 * d * d, W, W, W, W, d, M * d, M * d};
    int64_t numbers = 0;
    for (int k = 0; k < 9; k++) numbers += n * sizes[k];
    SplineWork *w = malloc(sizeof(SplineWork) + sizeof(Point) * 2 * d * n + sizeof(double) * numbers);
    if (!w) return NULL;
    w->few = (Point *)(w + 1);
    w->single = w->few + d * n;
    double **parts[] = {&w->own, &w->own_by, &w->sent, &w->rests, &w->sums, &w->rest_sums, &w->gaps, &w->half, &w->half_rest};
    double *at = (double *)(w->single + d * n);
    for (int k = 0; k < 9; at += n * sizes[k], k++) *parts[k] = at;
    w->M = M;
    w->W = W;
    w->size = size;
    return w;
}

/* Where the numbers of products begin: of f for b < c, then of g for all b, c. */
INLINE const double *products(const Law *law)
{
    const double *at = law->curves;
    for (int64_t b = 0, d = law->d; b < d; b++) at += 4 * ((SINGLE(b)->breaks + 1) * 3 * d + (GAP(b)->breaks + 1) * d);
    return at;
}

/* Everything that is of one node, and what it sends: few splines, q and, with derivatives, all splines. */
INLINE void at_nodes(const Law *law, const int64_t d, const Graph *graph, const double *x, SplineWork *w, int slopes)
{
    const int64_t n = graph->n, W = w->W;
    memset(w->own, 0, sizeof(double) * n * 3 * d);
    memset(w->sent, 0, sizeof(double) * n * W);
    if (slopes) memset(w->own_by, 0, sizeof(double) * n * 3 * d * d);
    const double *curves = law->curves;
    w->beyond = 0;
    for (int64_t b = 0, at = 0, all = w->M + d; b < d; at += FEW(b)->size, all += SINGLE(b)->size, b++) {
        for (int64_t i = 0; i < n; i++) {
            Point *few = w->few + b * n + i, *single = w->single + b * n + i;
            point(FEW(b), x[i * d + b], few);
            memcpy(w->sent + i * W + at + few->first, few->v, sizeof(few->v));
            for (int k = 0; k < ACTIVE; k++) w->beyond |= few->r[k] != 0;
            if (slopes) {
                point(SINGLE(b), x[i * d + b], single);
                memcpy(w->sent + i * W + all + single->first, single->v, sizeof(single->v));
            }
            double *by = slopes ? w->own_by + (b * n + i) * 3 * d : NULL;
            add_curves(SINGLE(b), curves, 3 * d, x[i * d + b], 1.0, w->own + i * 3 * d, by);
        }
        curves += 4 * ((SINGLE(b)->breaks + 1) * 3 * d + (GAP(b)->breaks + 1) * d);
    }
    for (int64_t i = 0; i < n; i++) memcpy(w->sent + i * W + w->M, w->own + i * 3 * d + 2 * d, sizeof(double) * d);
    if (!w->beyond) return;
    memset(w->rests, 0, sizeof(double) * n * W);
    for (int64_t b = 0, at = 0; b < d; at += FEW(b)->size, b++)
        for (int64_t i = 0; i < n; i++) {
            const Point *few = w->few + b * n + i;
            memcpy(w->rests + i * W + at + few->first, few->r, sizeof(few->r));
        }
}

/* out_i = sum_j A_ij v_j for the first `used` of W columns, in fours. */
INLINE void summed(const Graph *graph, const double *v, int64_t W, int64_t used, double *out)
{
    for (int64_t first = 0; first < used; first += 8)
        for (int64_t i = 0; i < graph->n; i++) {
            Vec low = {0}, high = {0};
            const int two = first + 4 < W;
            for (int32_t e = graph->ptr[i]; e < graph->ptr[i + 1]; e++) {
                const double *row = v + graph->idx[e] * W + first;
                low += graph->weight[e] * CAT(row);
                if (two) high += graph->weight[e] * CAT(row + 4);
            }
            AT(out + i * W + first) = low;
            if (two) AT(out + i * W + first + 4) = high;
        }
}

/* Sums over neighbours: of what they send and, edge by edge, of u, whose derivatives go to own and edges. */
INLINE void over_neighbours(const Law *law, const int64_t d, const Graph *graph, const double *x, SplineWork *w, const Slopes *out)
{
    const int64_t n = graph->n;
    summed(graph, w->sent, w->W, out->columns ? w->W : w->M + d, w->sums);
    if (w->beyond) summed(graph, w->rests, w->W, w->M, w->rest_sums);
    else memset(w->rest_sums, 0, sizeof(double) * n * w->W);
    memset(w->gaps, 0, sizeof(double) * n * d);
    const double *curves = law->curves;
    for (int64_t b = 0; b < d; b++) {
        curves += 4 * (SINGLE(b)->breaks + 1) * 3 * d;
        for (int64_t i = 0; i < n; i++) {
            double sum[MOST_FEATURES] = {0}, own[MOST_FEATURES] = {0};
            for (int32_t e = graph->ptr[i]; e < graph->ptr[i + 1]; e++) {
                const int64_t j = graph->idx[e];
                double slope[MOST_FEATURES] = {0};
                add_curves(GAP(b), curves, d, x[j * d + b] - x[i * d + b], graph->weight[e], sum, out->own ? slope : NULL);
                for (int64_t o = 0; out->own && o < d; o++) {
                    own[o] += slope[o];
                    out->edges[(e * d + o) * d + b] = slope[o] + graph->weight[e] * w->own_by[(b * n + j) * 3 * d + 2 * d + o];
                }
            }
            for (int64_t o = 0; o < d; o++) w->gaps[i * d + o] += sum[o];
            for (int64_t o = 0; out->own && o < d; o++) out->own[(i * d + o) * d + b] = -own[o];
        }
        curves += 4 * (GAP(b)->breaks + 1) * d;
    }
}

/* sum_rs (a_r S_s - a'_r S'_s) C_rs for all d outputs, over the splines a of one place. */
INLINE void add_product(const double *a, const double *rest, int first, const double *S, const double *S_rest, int64_t m, int64_t d,
                        const double *C, double *out, int64_t stride)
{
    for (int r = 0; r < ACTIVE; r++) {
        const double *row = C + (first + r) * m * d;
        for (int64_t s = 0; s < m; s++)
            for (int64_t o = 0; o < d; o++) out[o * stride] += (a[r] * S[s] - rest[r] * S_rest[s]) * row[s * d + o];
    }
}

/* The few splines of one place, one after the other, as sums over neighbours are. */
INLINE void unfolded(const Point *p, int64_t m, double *v, double *r, double *s, double *z)
{
    for (int64_t k = 0; k < m; k++) v[k] = r[k] = s[k] = z[k] = 0;
    for (int k = 0; k < ACTIVE; k++) {
        v[p->first + k] = p->v[k];
        r[p->first + k] = p->r[k];
        s[p->first + k] = p->s[k];
        z[p->first + k] = p->z[k];
    }
}

#define MOST_FEW 64 /* few splines of a feature: a search makes 7, and law_compiled.py refuses more than this */

/* Products of f of node i, added to its rate and to its own derivatives. */
INLINE const double *add_pairs(const Law *law, const int64_t d, const Graph *graph, int64_t i, const SplineWork *w, const Slopes *out)
{
    const int64_t n = graph->n;
    const double *C = products(law);
    for (int64_t b = 0; b < d; b++)
        for (int64_t c = b + 1; c < d; c++) {
            const Point *p = w->few + b * n + i;
            const int64_t m = FEW(c)->size;
            double v[MOST_FEW], r[MOST_FEW], s[MOST_FEW], z[MOST_FEW];
            unfolded(w->few + c * n + i, m, v, r, s, z);
            add_product(p->v, p->r, p->first, v, r, m, d, C, out->rate + i * d, 1);
            if (out->own) {
                add_product(p->s, p->z, p->first, v, r, m, d, C, out->own + i * d * d + b, d);
                add_product(p->v, p->r, p->first, s, z, m, d, C, out->own + i * d * d + c, d);
            }
            C += FEW(b)->size * m * d;
        }
    return C;
}

/* Rates of all nodes from what is of nodes and summed over neighbours, with their own derivatives. */
INLINE void together(const Law *law, const int64_t d, const Graph *graph, SplineWork *w, const Slopes *out)
{
    const int64_t n = graph->n, M = w->M;
    if (out->own) memset(w->half, 0, sizeof(double) * 2 * n * M * d); /* and half_rest, which follows */
    for (int64_t i = 0; i < n; i++) {
        const double degree = graph->degree[i];
        for (int64_t o = 0; o < d; o++) {
            const double *own = w->own + i * 3 * d;
            out->rate[i * d + o] = own[o] + degree * own[d + o] + w->sums[i * w->W + M + o] + w->gaps[i * d + o];
            for (int64_t b = 0; out->own && b < d; b++) {
                const double *by = w->own_by + (b * n + i) * 3 * d;
                out->own[(i * d + o) * d + b] += by[o] + degree * by[d + o];
            }
        }
        const double *C = add_pairs(law, d, graph, i, w, out);
        for (int64_t b = 0; b < d; b++)
            for (int64_t c = 0, at = 0; c < d; at += FEW(c)->size, c++) {
                const Point *p = w->few + b * n + i;
                const int64_t m = FEW(c)->size;
                const double *S = w->sums + i * w->W + at, *R = w->rest_sums + i * w->W + at;
                add_product(p->v, p->r, p->first, S, R, m, d, C, out->rate + i * d, 1);
                if (out->own) {
                    add_product(p->s, p->z, p->first, S, R, m, d, C, out->own + i * d * d + b, d);
                    double *half = w->half + (i * M + at) * d, *rest = w->half_rest + (i * M + at) * d;
                    for (int r = 0; r < ACTIVE; r++)
                        for (int64_t k = 0; k < m * d; k++) {
                            half[k] += p->v[r] * C[(p->first + r) * m * d + k];
                            rest[k] += p->r[r] * C[(p->first + r) * m * d + k];
                        }
                }
                C += FEW(b)->size * m * d;
            }
    }
}

/* What products add to the derivatives by neighbours. */
INLINE void edge_products(const Law *law, const int64_t d, const Graph *graph, const SplineWork *w, const Slopes *out)
{
    const int64_t n = graph->n, M = w->M;
    for (int64_t i = 0; i < n; i++)
        for (int32_t e = graph->ptr[i]; e < graph->ptr[i + 1]; e++)
            for (int64_t c = 0, at = 0; c < d; at += FEW(c)->size, c++) {
                const Point *p = w->few + c * n + graph->idx[e];
                const double *half = w->half + (i * M + at + p->first) * d, *rest = w->half_rest + (i * M + at + p->first) * d;
                for (int64_t o = 0; o < d; o++) {
                    double by = 0;
                    for (int k = 0; k < ACTIVE; k++) by += half[k * d + o] * p->s[k] - rest[k * d + o] * p->z[k];
                    out->edges[(e * d + o) * d + c] += graph->weight[e] * by;
                }
            }
}

/* Every spline at one node, summed over neighbours where it belongs to g: the derivatives by the parameters, in their order. */
INLINE void shared_row(const Law *law, const int64_t d, const Graph *graph, const double *x, const SplineWork *w, int64_t i, double *at)
{
    const int64_t n = graph->n, M = w->M;
    const double *sums = w->sums + i * w->W, *rests = w->rest_sums + i * w->W;
    for (int64_t b = 0; b < d; at += SINGLE(b)->size, b++) {
        const Point *p = w->single + b * n + i;
        for (int k = 0; k < ACTIVE; k++) at[p->first + k] = p->v[k];
    }
    for (int64_t b = 0; b < d; b++)
        for (int64_t c = b + 1; c < d; at += FEW(b)->size * FEW(c)->size, c++) {
            const Point *p = w->few + b * n + i, *q = w->few + c * n + i;
            for (int r = 0; r < ACTIVE; r++)
                for (int s = 0; s < ACTIVE; s++)
                    at[(p->first + r) * FEW(c)->size + q->first + s] = p->v[r] * q->v[s] - p->r[r] * q->r[s];
        }
    for (int64_t b = 0; b < d; at += SINGLE(b)->size, b++) {
        const Point *p = w->single + b * n + i;
        for (int k = 0; k < ACTIVE; k++) at[p->first + k] = graph->degree[i] * p->v[k];
    }
    for (int64_t b = 0, from = M + d; b < d; at += SINGLE(b)->size, from += SINGLE(b)->size, b++)
        memcpy(at, sums + from, sizeof(double) * SINGLE(b)->size);
    for (int64_t b = 0; b < d; b++)
        for (int64_t c = 0, from = 0; c < d; at += FEW(b)->size * FEW(c)->size, from += FEW(c)->size, c++) {
            const Point *p = w->few + b * n + i;
            const int64_t m = FEW(c)->size;
            for (int r = 0; r < ACTIVE; r++)
                for (int64_t s = 0; s < m; s++)
                    at[(p->first + r) * m + s] = p->v[r] * sums[from + s] - p->r[r] * rests[from + s];
        }
    for (int64_t b = 0; b < d; at += GAP(b)->size, b++)
        for (int32_t e = graph->ptr[i]; e < graph->ptr[i + 1]; e++) {
            Point gap;
            point(GAP(b), x[graph->idx[e] * d + b] - x[i * d + b], &gap);
            for (int k = 0; k < ACTIVE; k++) at[gap.first + k] += graph->weight[e] * gap.v[k];
        }
}

INLINE void spline_columns(const Law *law, const int64_t d, const Graph *graph, const double *x, SplineWork *w, double *columns)
{
    const int64_t size = w->size;
    memset(columns, 0, sizeof(double) * graph->n * d * law->P);
    for (int64_t i = 0; i < graph->n; i++) {
        double *first = columns + i * d * law->P;
        shared_row(law, d, graph, x, w, i, first);
        for (int64_t o = 1; o < d; o++) memcpy(first + o * (law->P + size), first, sizeof(double) * size);
    }
}

INLINE void spline_slopes_of(const Law *law, const int64_t d, const Graph *graph, const double *x, SplineWork *w, const Slopes *out)
{
    at_nodes(law, d, graph, x, w, out->own != NULL);
    over_neighbours(law, d, graph, x, w, out);
    together(law, d, graph, w, out);
    if (out->own) edge_products(law, d, graph, w, out);
    if (out->own && out->columns) spline_columns(law, d, graph, x, w, out->columns);
}

/* With a number of features that the compiler knows where there is only one. */
CLONES static void spline_slopes(const Law *law, const Graph *graph, const double *x, SplineWork *w, const Slopes *out)
{
    if (law->d == 1) spline_slopes_of(law, 1, graph, x, w, out);
    else spline_slopes_of(law, law->d, graph, x, w, out);
}
