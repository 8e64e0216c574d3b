/* Adaptive steps of a law: the same choice of steps, and the same states between them, as methods/runge_kutta.py. */

/* Where the integration is; Python calls again while it is not at its end, so that it can be interrupted. */
typedef struct {
    double t, h, size;            /* time, next step, error of the last one in units of what is allowed */
    int64_t at;                   /* the next of the times asked for */
    int64_t calls, taken, failed; /* rates, accepted and rejected steps */
} Progress;

enum { DONE, GOING_ON, NO_SMALLER_STEP };

/* The sum of (e / (atol + rtol max(|x|, |y|)))^2 over some entries, where e = h sum_j w_j k_j is the error of a step from x to y. */
CLONES static double errors_squared(const Method *m, double h, const double *k, int64_t size, const double *x, const double *y, int64_t from,
                                    int64_t to, double rtol, double atol)
{
    double sums[8] = {0}, e[CHUNK], sum = 0; /* several, as each addition waits for the one before */
    for (int64_t first = from; first < to; first += CHUNK) {
        const int64_t end = to - first < CHUNK ? to : first + CHUNK;
        stages_summed(m->error, m->stages, k, size, first, end, e);
        int64_t c = first;
        for (; c + 8 <= end; c += 8)
            for (int l = 0; l < 8; l++) {
                const double a = fabs(x[c + l]), b = fabs(y[c + l]), part = h * e[c - first + l] / (atol + rtol * (a > b ? a : b));
                sums[l] += part * part;
            }
        for (; c < end; c++) {
            const double a = fabs(x[c]), b = fabs(y[c]), part = h * e[c - first] / (atol + rtol * (a > b ? a : b));
            sums[0] += part * part;
        }
    }
    for (int l = 0; l < 8; l++) sum += sums[l];
    return sum;
}

/* Tries one step from x to `next`; the stages after the first, which is given, go to k. Returns its error, the root mean square of
   error / (atol + rtol max(|x|, |next|)); `errors` has a number for each part of the nodes. */
static double tried(const Ready *r, const Method *m, double h, const double *x, double *k, double *next, double *errors, int64_t size,
                    double rtol, double atol)
{
    for (int64_t j = 1; j < m->stages; j++) { /* the last stage is at the end of the step */
        combined(r->graph, x, h, m->a + j * m->stages, j, k, size, next);
        rate_at(r, next, k + j * size);
    }
    const Graph *graph = r->graph;
    if (graph->threads > 1)
        PARALLEL
        SHARED_FOR
        FOR_PARTS(size) errors[from / PART] = errors_squared(m, h, k, size, x, next, from, PART_END(size), rtol, atol);
    else FOR_PARTS(size) errors[from / PART] = errors_squared(m, h, k, size, x, next, from, PART_END(size), rtol, atol);
    double sum = 0;
    FOR_PARTS(size) sum += errors[from / PART];
    return sqrt(sum / size);
}

#define TOGETHER 16 /* times whose states are computed while the stages are in the first cache */

/* States at the times asked for within a step from t to t + h. */
static void between(const Graph *graph, const Method *m, double h, const double *x, const double *k, int64_t size, const double *times, int64_t count, double t,
                    double *states)
{
    double weights[TOGETHER * 16];
    for (int64_t q = 0; q < count; q++) {
        const double s = (times[q] - t) / h;
        for (int64_t j = 0; j < m->stages; j++) {
            const double *p = m->dense + 4 * j;
            weights[q % TOGETHER * m->stages + j] = s * (p[0] + s * (p[1] + s * (p[2] + s * p[3])));
        }
        const int64_t rows = q % TOGETHER + 1;
        if (rows == TOGETHER || q + 1 == count) all_combined(graph, x, h, weights, rows, m->stages, k, size, states + (q + 1 - rows) * size);
    }
}

/* From x at p->t, its rate given, to all times (count) or through `most` steps; states there go to `states` (count, n d). */
EXPORT int ndcn_law_solve(const Law *law, const Graph *graph, const Method *m, double rtol, double atol, double t0, int64_t count,
                          const double *times, int64_t most, double *x, double *rate, double *states, Progress *p)
{
    Ready r;
    const int64_t size = graph->n * law->d, stages = m->stages;
    double *memory = malloc(sizeof(double) * ((stages + 1) * size + size / PART + 1));
    if (!memory || !ready(&r, law, graph, 0)) return free(memory), -1;
    double *k = memory, *next = k + stages * size, *errors = next + size;
    memcpy(k, rate, sizeof(double) * size);
    int status = GOING_ON;
    for (int64_t s = 0; s < most && status == GOING_ON; s++) {
        p->size = tried(&r, m, p->h, x, k, next, errors, size, rtol, atol);
        p->calls += stages - 1;
        if (!(p->size <= 1)) { /* NaN too */
            p->failed++;
            const double factor = 0.9 * pow(p->size, -1.0 / m->order);
            p->h *= !isfinite(p->size) ? 0.1 : factor > 0.2 ? factor : 0.2;
            const double least = 1e-14 * fabs(p->t), nothing = 1e-30 * (times[count - 1] - t0);
            if (p->h <= (least > nothing ? least : nothing)) status = NO_SMALLER_STEP;
            continue;
        }
        const double end = p->t + p->h;
        const int64_t first = p->at;
        while (p->at < count && times[p->at] <= end) p->at++;
        between(graph, m, p->h, x, k, size, times + first, p->at - first, p->t, states + first * size);
        p->t = end;
        memcpy(x, next, sizeof(double) * size);
        memcpy(k, k + (stages - 1) * size, sizeof(double) * size);
        p->taken++;
        const double factor = p->size > 0 ? 0.9 * pow(p->size, -1.0 / m->order) : 10.0;
        p->h *= factor < 10.0 ? factor : 10.0;
        if (p->at == count) status = DONE;
    }
    memcpy(rate, k, sizeof(double) * size);
    done(&r);
    free(memory);
    return status;
}
