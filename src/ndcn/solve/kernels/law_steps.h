/* Trajectories of a law: shots over given spans, whole trajectories, and the derivatives of both. */

/* A law on a graph with the memory that its rates need. */
typedef struct {
    const Law *law;
    const Graph *graph;
    Work *work;
    SplineWork *splines;
} Ready;

static int ready(Ready *r, const Law *law, const Graph *graph, int slopes)
{
    *r = (Ready){law, graph, NULL, NULL};
    if (law->splines) r->splines = spline_work_for(law, graph);
    else r->work = work_for(law, graph, slopes);
    return r->work || r->splines;
}

static void done(Ready *r)
{
    free(r->work);
    free(r->splines);
}

static void slopes_at(const Ready *r, const double *x, const Slopes *out)
{
    if (r->splines) spline_slopes(r->law, r->graph, x, r->splines, out);
    else formula_slopes(r->law, r->graph, x, r->work, out);
}

static void rate_at(const Ready *r, const double *x, double *rate)
{
    const Slopes out = {rate, NULL, NULL, NULL, 0};
    slopes_at(r, x, &out);
}

/* A Runge-Kutta method: a (stages, stages), b, and for adaptive steps the weights of the error and of states between. */
typedef struct {
    int64_t stages, order;
    const double *a, *b, *error, *dense; /* dense (stages, 4) */
} Method;

#define CHUNK 512 /* numbers that stay in the first-level cache while all stages are added */

/* Entries of sum_j w_j k_j from `first` to `end`, at most CHUNK of them, k (count, size). */
INLINE void stages_summed(const double *weights, int64_t count, const double *k, int64_t size, int64_t first, int64_t end, double *sum)
{
    memset(sum, 0, sizeof(double) * CHUNK);
    for (int64_t j = 0; j < count; j++) {
        const double weight = weights[j], *one = k + j * size + first;
        if (weight)
            for (int64_t c = 0; c < end - first; c++) sum[c] += weight * one[c];
    }
}

/* Entries of out_q = x + h sum_j w_qj k_j for some rows of weights, k (count, size); the stages are read once for all rows. */
CLONES static void combined_part(const double *x, double h, const double *weights, int64_t rows, int64_t count, const double *k, int64_t size,
                                 double *out, int64_t from, int64_t to)
{
    double sum[CHUNK];
    for (int64_t first = from; first < to; first += CHUNK) {
        const int64_t end = to - first < CHUNK ? to : first + CHUNK;
        for (int64_t q = 0; q < rows; q++) {
            stages_summed(weights + q * count, count, k, size, first, end, sum);
            for (int64_t c = first; c < end; c++) out[q * size + c] = x[c] + h * sum[c - first];
        }
    }
}

static void all_combined(const Graph *graph, const double *x, double h, const double *weights, int64_t rows, int64_t count, const double *k,
                         int64_t size, double *out)
{
    if (graph->threads > 1)
        PARALLEL
        SHARED_FOR
        FOR_PARTS(size) combined_part(x, h, weights, rows, count, k, size, out, from, PART_END(size));
    else combined_part(x, h, weights, rows, count, k, size, out, 0, size);
}

static void combined(const Graph *graph, const double *x, double h, const double *weights, int64_t count, const double *k, int64_t size,
                     double *out)
{
    all_combined(graph, x, h, weights, 1, count, k, size, out);
}

static void one_end(const Ready *r, const Method *m, double *x, double span, int64_t steps, double *k, double *at, int64_t size)
{
    const double h = span / steps;
    for (int64_t s = 0; s < steps; s++) {
        rate_at(r, x, k);
        for (int64_t j = 1; j < m->stages; j++) {
            combined(r->graph, x, h, m->a + j * m->stages, j, k, size, at);
            rate_at(r, at, k + j * size);
        }
        combined(r->graph, x, h, m->b, m->stages, k, size, at);
        memcpy(x, at, sizeof(double) * size);
    }
}

/* Where states x (K, n, d) go within spans (K), in `steps` steps each; in their place. */
EXPORT int ndcn_law_ends(const Law *law, const Graph *graph, const Method *m, int64_t K, double *x, const double *spans, int64_t steps)
{
    Ready r;
    const int64_t size = graph->n * law->d;
    double *memory = malloc(sizeof(double) * (m->stages + 1) * size);
    const int fine = memory && ready(&r, law, graph, 0);
    for (int64_t k = 0; fine && k < K; k++)
        one_end(&r, m, x + k * size, spans[k], steps, memory, memory + m->stages * size, size);
    if (fine) done(&r);
    free(memory);
    return fine ? 0 : -1;
}

/* Rates and, if `own` is there, derivatives at states x (K, n, d). */
EXPORT int ndcn_law_slopes(const Law *law, const Graph *graph, int64_t K, const double *x, double *rate, double *own, double *edges,
                           double *columns)
{
    Ready r;
    const int64_t size = graph->n * law->d, d = law->d;
    if (!ready(&r, law, graph, own != NULL)) return -1;
    for (int64_t k = 0; k < K; k++) {
        const Slopes out = {rate + k * size, own ? own + k * size * d : NULL, own ? edges + k * graph->edges * d * d : NULL,
                            columns ? columns + k * size * law->P : NULL, 0};
        slopes_at(&r, x + k * size, &out);
    }
    done(&r);
    return 0;
}

/* The memory of derivatives along one shot, in one piece. */
typedef struct { double *k, *at, *S, *K, *along, *next, *own, *edges, *columns, *product; int64_t factors; } ShotMemory;

static double *shot_memory(const Law *law, const Graph *graph, int64_t stages, int64_t W, ShotMemory *m)
{
    const int64_t size = graph->n * law->d;
    m->factors = factors_of(law, graph);
    const int64_t sizes[] = {stages * size, size, size * W, stages * size * W, size * W, size * W, size * law->d,
                             numbers_of_edges(graph, law->d, m->factors), size * law->P, size * PRODUCT};
    double **parts[] = {&m->k, &m->at, &m->S, &m->K, &m->along, &m->next, &m->own, &m->edges, &m->columns, &m->product};
    int64_t total = 0;
    for (int p = 0; p < 10; p++) total += sizes[p];
    double *memory = malloc(sizeof(double) * total), *at = memory;
    for (int p = 0; memory && p < 10; at += sizes[p], p++) *parts[p] = at;
    return memory;
}

CLONES static void shot_derivatives(const Ready *r, const Method *method, double *x, double span, int64_t steps, int64_t W, const ShotMemory *m)
{
    const int64_t size = r->graph->n * r->law->d, stages = method->stages;
    const double h = span / steps;
    memset(m->S, 0, sizeof(double) * size * W);
    for (int64_t s = 0; s < steps; s++) {
        for (int64_t j = 0; j < stages; j++) {
            const double *a = method->a + j * stages;
            combined(r->graph, x, h, a, j, m->k, size, m->at);
            combined(r->graph, m->S, h, a, j, m->K, size * W, m->along);
            const Slopes out = {m->k + j * size, m->own, m->edges, m->columns, m->factors};
            slopes_at(r, m->at, &out);
            double *K = m->K + j * size * W;
            memset(K, 0, sizeof(double) * size * W);
            const Stage product = {{m->own, m->edges, m->factors}, m->along, m->columns, NULL, 1, 0, 0, K, NULL, m->product, W, r->law->P};
            stage(0, r->law->d, r->graph, &product);
        }
        combined(r->graph, x, h, method->b, stages, m->k, size, m->at);
        memcpy(x, m->at, sizeof(double) * size);
        combined(r->graph, m->S, h, method->b, stages, m->K, size * W, m->next);
        memcpy(m->S, m->next, sizeof(double) * size * W);
    }
}

/* Derivatives by the parameters of where states x (K, n, d) go within spans (K), (K, n d, P); x moves there. */
EXPORT int ndcn_law_shots(const Law *law, const Graph *graph, const Method *method, int64_t K, double *x, const double *spans,
                          int64_t steps, double *out)
{
    Ready r;
    ShotMemory m;
    const int64_t size = graph->n * law->d, P = law->P, W = (P + 3) / 4 * 4;
    double *memory = shot_memory(law, graph, method->stages, W, &m);
    const int fine = memory && ready(&r, law, graph, 1);
    for (int64_t k = 0; fine && k < K; k++) {
        shot_derivatives(&r, method, x + k * size, spans[k], steps, W, &m);
        ungrouped(m.S, size, W, m.next);
        for (int64_t row = 0; row < size; row++) memcpy(out + (k * size + row) * P, m.next + row * W, sizeof(double) * P);
    }
    if (fine) done(&r);
    free(memory);
    return fine ? 0 : -1;
}

static int all_finite(const double *x, int64_t size)
{
    double sum = 0;
    for (int64_t c = 0; c < size; c++) sum += x[c] - x[c];
    return sum == 0;
}

/* RK4 from x (n, d) through intervals; states after each go to `states` (intervals, n, d). 1 if they explode. */
EXPORT int ndcn_law_roll(const Law *law, const Graph *graph, int64_t intervals, const int64_t *steps, const double *h, double *x,
                         double *states)
{
    static const double a[16] = {0, 0, 0, 0, 0.5, 0, 0, 0, 0, 0.5, 0, 0, 0, 0, 1}, b[4] = {1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6};
    const Method rk4 = {4, 4, a, b, NULL, NULL};
    Ready r;
    const int64_t size = graph->n * law->d;
    double *memory = malloc(sizeof(double) * 5 * size);
    if (!memory || !ready(&r, law, graph, 0)) return free(memory), -1;
    int exploded = 0;
    for (int64_t k = 0; k < intervals && !exploded; k++) {
        one_end(&r, &rk4, x, h[k] * steps[k], steps[k], memory, memory + 4 * size, size);
        memcpy(states + k * size, x, sizeof(double) * size);
        exploded = !all_finite(x, size);
    }
    done(&r);
    free(memory);
    return exploded;
}

/* One step of ``ndcn_law_record``. */
CLONES static void recorded_step(const Ready *r, double h, double *x, double *k, double *at, double *own, double *edges, int64_t factors,
                                 double *columns, int64_t W, double *S, Tangents t)
{
    static const double ahead[4] = {0.5, 0.5, 1, 0}, weight[4] = {1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6};
    const int64_t d = r->law->d, size = r->graph->n * d;
    double *from = S, *next = t.one;
    memcpy(t.sum, S, sizeof(double) * size * W);
    for (int j = 0; j < 4; j++) {
        const Slopes out = {k + j * size, own + j * size * d, edges + j * numbers_of_edges(r->graph, d, factors), columns, factors};
        slopes_at(r, j ? at : x, &out);
        const Stage product = {{out.own, out.edges, factors}, from, columns, S, weight[j] * h, 1, ahead[j] * h,
                               t.sum, j < 3 ? next : NULL, t.product, W, r->law->P};
        stage(0, d, r->graph, &product);
        from = next;
        next = next == t.one ? t.two : t.one;
        for (int64_t c = 0; j < 3 && c < size; c++) at[c] = x[c] + ahead[j] * h * k[j * size + c];
    }
    combined(r->graph, x, h, weight, 4, k, size, at);
    memcpy(x, at, sizeof(double) * size);
    memcpy(S, t.sum, sizeof(double) * size * W);
}

/* The `factors` that ``ndcn_law_record`` may be given, or 0. */
EXPORT int ndcn_law_factors(const Law *law, const Graph *graph) { return (int)factors_of(law, graph); }

/* ``ndcn_law_roll`` with the Jacobians of all stages, and derivatives of the states by the parameters, (intervals, n d, W). */
EXPORT int ndcn_law_record(const Law *law, const Graph *graph, int64_t intervals, const int64_t *steps, const double *h, double *x,
                           double *states, double *own, double *edges, int64_t factors, int64_t W, double *sensitivities)
{
    Ready r;
    const int64_t d = law->d, size = graph->n * d, P = law->P, stages = 4 * numbers_of_edges(graph, d, factors);
    const size_t tangent = tangent_numbers(size, W);
    double *memory = malloc(sizeof(double) * (5 * size + size * P + size * W + tangent));
    if (!memory || !ready(&r, law, graph, 1)) return free(memory), -1;
    double *columns = memory + 5 * size, *S = columns + size * P;
    memset(S, 0, sizeof(double) * size * W);
    const Tangents t = tangents(S + size * W, size, W);
    int exploded = 0;
    for (int64_t k = 0; k < intervals && !exploded; k++) {
        for (int64_t s = 0; s < steps[k]; s++, own += 4 * size * d, edges += stages)
            recorded_step(&r, h[k], x, memory, memory + 4 * size, own, edges, factors, columns, W, S, t);
        memcpy(states + k * size, x, sizeof(double) * size);
        ungrouped(S, size, W, sensitivities + k * size * W);
        exploded = !all_finite(x, size);
    }
    done(&r);
    free(memory);
    return exploded;
}
