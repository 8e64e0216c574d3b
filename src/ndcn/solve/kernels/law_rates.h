/* Rates of a law given by programs, at all nodes, and their derivatives. */

/* Numbers that a rate and its derivatives need on the way; q sums of the neighbour alone, m of both ends. */
typedef struct {
    int q, m;
    int64_t registers;          /* of the largest program, and */
    Block *r, *g;               /* these, of each thread */
    double *sent, *sums;        /* (q, n): pre(x_j); (q + m, n): their sums */
    double *sent_by, *sent_byp; /* (q, n, d), (q, n, P) */
    double *sums_byp;           /* (q + m, n, P) */
    double *ends_own;           /* (m, n, d) */
    double *ends_by;            /* (m, edges, d), times A_ij */
    double *post_by;            /* (d, q + m, n) */
} Work;

static int most_registers(const Law *law)
{
    int most = 0;
    for (const Program *p = &law->pre, *all[] = {p, &law->edge, &law->post}, **k = all; k < all + 3; k++)
        if (registers(*k) > most) most = registers(*k);
    return most;
}

/* All of it in one piece, NULL if there is no memory; `slopes` if derivatives are wanted too. */
static Work *work_for(const Law *law, const Graph *graph, int slopes)
{
    const size_t q = law->pre.outputs, m = law->edge.outputs, n = graph->n, E = graph->edges, d = law->d, P = law->P;
    const size_t registers = (size_t)most_registers(law), blocks = registers * B * graph->threads;
    const size_t rates = 2 * q * n + m * n;
    const size_t extra = slopes ? q * n * (d + P) + (q + m) * n * P + m * n * d + m * E * d + d * (q + m) * n : 0;
    Work *work = malloc(sizeof(Work) + 64 + sizeof(double) * (2 * blocks + rates + extra));
    if (!work) return NULL;
    double *next = (double *)(((uintptr_t)(work + 1) + 63) & ~(uintptr_t)63);
    work->q = (int)q;
    work->m = (int)m;
#define TAKE(field, size) work->field = (void *)next, next += (size)
    work->registers = (int64_t)registers;
    TAKE(r, blocks);
    TAKE(g, blocks);
    TAKE(sent, q * n);
    TAKE(sums, (q + m) * n);
    if (slopes) {
        TAKE(sent_by, q * n * d);
        TAKE(sent_byp, q * n * P);
        TAKE(sums_byp, (q + m) * n * P);
        TAKE(ends_own, m * n * d);
        TAKE(ends_by, m * E * d);
        TAKE(post_by, d * (q + m) * n);
    }
    return work;
}

/* A block of one feature from node `first` on; the last one is repeated. */
INLINE void load(double *block, const double *x, int64_t stride, int64_t count)
{
    for (int64_t l = 0; l < count; l++) block[l] = x[l * stride];
    for (int64_t l = count; l < B; l++) block[l] = block[count - 1];
}

INLINE void load_ends(const Graph *graph, int64_t d, const double *x, int64_t first, int64_t count, Block *r)
{
    const int32_t *row = graph->row + first, *idx = graph->idx + first;
    for (int64_t a = 0; a < d; a++) {
        for (int64_t l = 0; l < count; l++) r[a][l] = x[row[l] * d + a];
        for (int64_t l = 0; l < count; l++) r[d + a][l] = x[idx[l] * d + a];
        for (int64_t l = count; l < B; l++) r[a][l] = r[a][count - 1], r[d + a][l] = r[d + a][count - 1];
    }
}

/* out_i += the sum of A_ij v_ij over the edges of a block that are i's; out has so many numbers for each node. */
INLINE void add_to_nodes(const Graph *graph, int64_t first, int64_t count, const double *v, double *out, int64_t stride)
{
    double products[B];
    const double *weighted = v;
    if (!graph->ones) {
        for (int64_t l = 0; l < count; l++) products[l] = graph->weight[first + l] * v[l];
        weighted = products;
    }
    for (int64_t l = 0; l < count;) {
        const int64_t i = graph->row[first + l], left = graph->ptr[i + 1] - first, end = left < count ? left : count;
        double even = 0, odd = 0;
        for (; l + 1 < end; l += 2) even += weighted[l], odd += weighted[l + 1];
        if (l < end) even += weighted[l++];
        out[i * stride] += even + odd;
    }
}

/* out_i = sum_j A_ij v_j at some nodes, LANES rows side by side, as each addition waits for the one before; rows of like length come after each
   other, so that the ends of their loops are foreseen. With indices in the order in which they are read, a sum of 100,000 nodes of degree 10
   takes 0.65 ms, 0.77 with four rows of the CSR side by side. */
INLINE void neighbours_of(const int ones, const Graph *graph, int64_t from, int64_t to, const double *restrict v, double *restrict out)
{
    const int32_t *ptr = graph->ptr, *order = graph->order;
    int64_t p = from;
    const int32_t *idx = graph->lanes + graph->lane_ptr[p / LANES];
    const double *weight = ones ? NULL : graph->lane_weight + graph->lane_ptr[p / LANES];
#define TERM(e) ((ones ? 1.0 : weight[e]) * v[idx[e]])
#define ONWARDS(count) (idx += (count), weight = ones ? NULL : weight + (count))
    for (; p + LANES <= to; p += LANES) {
        const int32_t *i = order + p, shortest = ptr[i[0] + 1] - ptr[i[0]];
        double sums[LANES] = {0};
        for (int32_t e = 0; e < shortest; e++) {
            for (int l = 0; l < LANES; l++) sums[l] += TERM(l);
            ONWARDS(LANES);
        }
        for (int l = 0; l < LANES; l++) {
            const int32_t rest = ptr[i[l] + 1] - ptr[i[l]] - shortest;
            double sum = sums[l];
            for (int32_t e = 0; e < rest; e++) sum += TERM(e);
            out[i[l]] = sum;
            ONWARDS(rest);
        }
    }
    for (; p < to; p++) {
        const int32_t count = ptr[order[p] + 1] - ptr[order[p]];
        double sum = 0;
        for (int32_t e = 0; e < count; e++) sum += TERM(e);
        out[order[p]] = sum;
        ONWARDS(count);
    }
#undef TERM
#undef ONWARDS
}

INLINE void neighbours(const Graph *graph, int64_t from, int64_t to, const double *v, double *out)
{
    if (graph->ones) neighbours_of(1, graph, from, to, v, out);
    else neighbours_of(0, graph, from, to, v, out);
}

#define BLOCKS(from, to) for (int64_t first = (from), count = B; first < (to) && (count = (to) - first < B ? (to) - first : B); first += B)

/* What some nodes send to their neighbours, and its derivatives. */
CLONES static void sent(const Law *law, const Graph *graph, const double *x, Work *w, int slopes, int64_t from, int64_t to)
{
    const Program *p = &law->pre;
    const int64_t n = graph->n, d = law->d, P = law->P;
    if (!p->outputs) return;
    spread_scalars(p, law->scalars, w->r);
    BLOCKS(from, to) {
        for (int a = 0; a < d; a++) load(w->r[a], x + first * d + a, d, count);
        run(p, w->r);
        for (int k = 0; k < p->outputs; k++) {
            memcpy(w->sent + k * n + first, w->r[p->out[k]], sizeof(double) * count);
            if (!slopes) continue;
            run_back(p, w->r, k, w->g);
            for (int a = 0; a < d; a++)
                for (int l = 0; l < count; l++) w->sent_by[(k * n + first + l) * d + a] = finite_(w->g[a][l]);
            for (int c = 0; c < P; c++)
                if (law->pre_by[k * P + c])
                    for (int l = 0; l < count; l++) w->sent_byp[(k * P + c) * n + first + l] = finite_(w->g[d + c][l]);
        }
    }
}

/* A block of edges in pieces: so many edges of each of some rows side by side (LANES of them or one), the first edge of each row, then the second. */
typedef struct {
    Block *r, weights;
    int filled, used;
    struct { const int32_t *nodes; int lanes, count; } pieces[B];
} Edges;

/* Adds functions of both ends of the edges to the sums of their rows, and makes room for others. */
INLINE void add_edges(const Law *law, const Graph *graph, const Work *w, Edges *b)
{
    run(&law->edge, b->r);
    for (int k = 0; k < w->m; k++) {
        double *sums = w->sums + (w->q + k) * graph->n, *v = b->r[law->edge.out[k]], products[B];
        if (!graph->ones) {
            EACH products[l] = b->weights[l] * v[l];
            v = products;
        }
        for (int c = 0; c < b->used; c++) {
            const int32_t *i = b->pieces[c].nodes;
            const int lanes = b->pieces[c].lanes, count = b->pieces[c].count;
            if (lanes == 1) {
                double sum = sums[*i];
                for (int e = 0; e < count; e++) sum += v[e];
                sums[*i] = sum;
            } else {
                double sum[LANES];
                for (int l = 0; l < LANES; l++) sum[l] = sums[i[l]];
                for (int e = 0; e < count; e++)
                    for (int l = 0; l < LANES; l++) sum[l] += v[e * LANES + l];
                for (int l = 0; l < LANES; l++) sums[i[l]] = sum[l];
            }
            v += count * lanes;
        }
    }
    b->filled = b->used = 0;
}

/* Takes `count` edges of each of some rows, 1 or LANES of them, from edge `at` of graph->lanes on. */
INLINE void take_edges(const int lanes, const Law *law, const int64_t d, const Graph *graph, const double *x, const Work *w, Edges *b, const int32_t *i,
                       int64_t at, int32_t count)
{
    while (count > 0) {
        const int room = (B - b->filled) / lanes, some = count < room ? count : room;
        if (!room) {
            add_edges(law, graph, w, b);
            continue;
        }
        b->pieces[b->used].nodes = i;
        b->pieces[b->used].lanes = lanes;
        b->pieces[b->used++].count = some;
        const int32_t *idx = graph->lanes + at;
        for (int64_t a = 0; a < d; a++) {
            double *restrict own = b->r[a] + b->filled, *restrict other = b->r[d + a] + b->filled, here[LANES];
            for (int l = 0; l < lanes; l++) here[l] = x[i[l] * d + a];
            for (int e = 0; e < some; e++)
                for (int l = 0; l < lanes; l++) own[e * lanes + l] = here[l], other[e * lanes + l] = x[idx[e * lanes + l] * d + a];
        }
        if (!graph->ones) memcpy(b->weights + b->filled, graph->lane_weight + at, sizeof(double) * lanes * some);
        count -= some;
        at += lanes * some;
        b->filled += lanes * some;
    }
}

/* Sums over the neighbours of some nodes of functions of both ends. */
INLINE void sums_of_ends(const Law *law, const int64_t d, const Graph *graph, const double *x, const Work *w, int64_t from, int64_t to)
{
    Edges b = {.r = w->r};
    for (int k = 0; k < w->m; k++) memset(w->sums + (w->q + k) * graph->n + from, 0, sizeof(double) * (to - from));
    spread_scalars(&law->edge, law->scalars, b.r);
    for (int k = 0; k < 2 * d; k++) EACH b.r[k][l] = 1.0; /* places that are not filled are computed too */
    int64_t at = graph->lane_ptr[from / LANES];
    for (int64_t p = from; p < to; p += LANES) {
        const int32_t *i = graph->order + p, shortest = p + LANES <= to ? graph->ptr[i[0] + 1] - graph->ptr[i[0]] : 0;
        take_edges(LANES, law, d, graph, x, w, &b, i, at, shortest);
        at += LANES * shortest;
        for (int l = 0; l < LANES && p + l < to; l++) {
            const int32_t rest = graph->ptr[i[l] + 1] - graph->ptr[i[l]] - shortest;
            take_edges(1, law, d, graph, x, w, &b, i + l, at, rest);
            at += rest;
        }
    }
    if (b.used) add_edges(law, graph, w, &b);
}

/* Sums over the neighbours of some nodes of functions of both ends, and their derivatives. */
INLINE void ends(const Law *law, const Graph *graph, const double *x, Work *w, int64_t from, int64_t to)
{
    const Program *p = &law->edge;
    const int64_t n = graph->n, d = law->d, P = law->P, q = w->q;
    if (!p->outputs) return;
    const size_t some = sizeof(double) * (to - from);
    for (int k = 0; k < w->m; k++) {
        memset(w->sums + (q + k) * n + from, 0, some);
        memset(w->ends_own + (k * n + from) * d, 0, some * d);
        for (int c = 0; c < P; c++) memset(w->sums_byp + ((q + k) * P + c) * n + from, 0, some);
    }
    spread_scalars(p, law->scalars, w->r);
    BLOCKS(graph->ptr[from], graph->ptr[to]) {
        const double *weight = graph->weight + first;
        load_ends(graph, d, x, first, count, w->r);
        run(p, w->r);
        for (int k = 0; k < p->outputs; k++) {
            add_to_nodes(graph, first, count, w->r[p->out[k]], w->sums + (q + k) * n, 1);
            run_back(p, w->r, k, w->g);
            for (int a = 0; a < d; a++) {
                double *by = w->ends_by + (k * graph->edges + first) * d + a;
                EACH w->g[a][l] = finite_(w->g[a][l]);
                add_to_nodes(graph, first, count, w->g[a], w->ends_own + k * n * d + a, d);
                for (int l = 0; l < count; l++) by[l * d] = weight[l] * finite_(w->g[d + a][l]);
            }
            for (int c = 0; c < P; c++) {
                if (!law->edge_by[k * P + c]) continue;
                double *by = w->g[2 * d + c];
                EACH by[l] = finite_(by[l]);
                add_to_nodes(graph, first, count, by, w->sums_byp + ((q + k) * P + c) * n, 1);
            }
        }
    }
}

/* The derivatives of a block of rates of feature o. */
INLINE void block_slopes(const Law *law, const Graph *graph, Work *w, int o, int64_t first, int64_t count, const Slopes *out)
{
    const Program *p = &law->post;
    const int64_t n = graph->n, d = law->d, P = law->P, sums = w->q + w->m;
    Block *g = w->g;
    run_back(p, w->r, o, g);
    for (int k = 0; k < sums; k++) memcpy(w->post_by + (o * sums + k) * n + first, g[d + 1 + k], sizeof(double) * count);
    for (int b = 0; b < d; b++)
        for (int l = 0; l < count; l++) {
            double by = finite_(g[b][l]);
            for (int k = 0; k < w->m; k++) by += g[d + 1 + w->q + k][l] * w->ends_own[(k * n + first + l) * d + b];
            out->own[((first + l) * d + o) * d + b] = by;
        }
    for (int c = 0; out->columns && c < P; c++) {
        double *by = g[p->inputs + c];
        EACH by[l] = finite_(by[l]);
        for (int k = 0; k < sums; k++) {
            if (!(k < w->q ? law->pre_by[k * P + c] : law->edge_by[(k - w->q) * P + c])) continue;
            const double *sum = w->sums_byp + (k * P + c) * n + first;
            for (int l = 0; l < count; l++) by[l] += g[d + 1 + k][l] * sum[l];
        }
        for (int l = 0; l < count; l++) out->columns[((first + l) * d + o) * P + c] = by[l];
    }
}

/* The derivatives of the rates of some nodes by the states of their neighbours. */
INLINE void edge_slopes(const Law *law, const Graph *graph, const Work *w, const Slopes *out, int64_t from, int64_t to)
{
    const int64_t n = graph->n, E = graph->edges, d = law->d, sums = w->q + w->m;
    for (int64_t o = 0; o < d; o++)
        for (int64_t b = 0; b < d; b++)
            for (int64_t i = from; i < to; i++)
                for (int32_t e = graph->ptr[i]; e < graph->ptr[i + 1]; e++) {
                    double by = 0, ends = 0;
                    for (int k = 0; k < w->q; k++)
                        by += w->post_by[(o * sums + k) * n + i] * w->sent_by[(k * n + graph->idx[e]) * d + b];
                    for (int k = 0; k < w->m; k++) ends += w->post_by[(o * sums + w->q + k) * n + i] * w->ends_by[(k * E + e) * d + b];
                    out->edges[(e * d + o) * d + b] = graph->weight[e] * by + ends;
                }
}

/* Rates of some nodes and, if `out->own` is there, their derivatives, once all have sent. */
CLONES static void received(const Law *law, const Graph *graph, const double *x, Work *w, const Slopes *out, int64_t from, int64_t to)
{
    const Program *p = &law->post;
    const int64_t n = graph->n, d = law->d, P = law->P;
    const int slopes = out->own != NULL;
    for (int k = 0; k < w->q; k++) {
        neighbours(graph, from, to, w->sent + k * n, w->sums + k * n);
        for (int c = 0; slopes && c < P; c++)
            if (law->pre_by[k * P + c]) neighbours(graph, from, to, w->sent_byp + (k * P + c) * n, w->sums_byp + (k * P + c) * n);
    }
    if (slopes) ends(law, graph, x, w, from, to);
    else if (w->m && d == 1) sums_of_ends(law, 1, graph, x, w, from, to);
    else if (w->m) sums_of_ends(law, d, graph, x, w, from, to);
    spread_scalars(p, law->scalars, w->r);
    BLOCKS(from, to) {
        for (int a = 0; a < d; a++) load(w->r[a], x + first * d + a, d, count);
        load(w->r[d], graph->degree + first, 1, count);
        for (int k = 0; k < w->q + w->m; k++) load(w->r[d + 1 + k], w->sums + k * n + first, 1, count);
        run(p, w->r);
        for (int o = 0; o < d; o++) {
            const double *rate = w->r[p->out[o]];
            for (int l = 0; l < count; l++) out->rate[(first + l) * d + o] = rate[l];
            if (slopes) block_slopes(law, graph, w, o, first, count, out);
        }
    }
    if (slopes && !out->factors) edge_slopes(law, graph, w, out, from, to);
    for (int64_t k = 0; slopes && k < out->factors; k++) {
        const size_t some = sizeof(double) * (to - from);
        for (int64_t o = 0; o < d; o++) memcpy(out->edges + (o * w->q + k) * n + from, w->post_by + (o * w->q + k) * n + from, some);
        memcpy(out->edges + (w->q * n + k * n + from) * d, w->sent_by + (k * n + from) * d, some * d);
    }
}

/* Pairs of factors of the Jacobian of a law all of whose sums are of functions of the neighbour alone; 0 where entries are fewer numbers. */
static int64_t factors_of(const Law *law, const Graph *graph)
{
    const int64_t q = law->splines || law->edge.outputs ? 0 : law->pre.outputs;
    return q && numbers_of_edges(graph, law->d, q) < numbers_of_edges(graph, law->d, 0) ? q : 0;
}

static void parts_of_slopes(const Law *law, const Graph *graph, const double *x, const Work *w, const Slopes *out)
{
    Work mine = *w;
    mine.r += THREAD * w->registers;
    mine.g += THREAD * w->registers;
    SHARED_FOR
    FOR_PARTS(graph->n) sent(law, graph, x, &mine, out->own != NULL, from, PART_END(graph->n));
    SHARED_FOR
    FOR_PARTS(graph->n) received(law, graph, x, &mine, out, from, PART_END(graph->n));
}

/* Rates at one state x (n, d) and, if `out->own` is there, their derivatives. */
static void formula_slopes(const Law *law, const Graph *graph, const double *x, const Work *w, const Slopes *out)
{
    if (graph->threads > 1)
        PARALLEL
        parts_of_slopes(law, graph, x, w, out);
    else parts_of_slopes(law, graph, x, w, out);
}
