/* The error of a trajectory's outputs and its gradient, for one floating type; see euler_rows.h for VEC and LANES. */

#define INTS __typeof__((VEC){0} < (VEC){0})
#define MANY 512 /* columns that are handled at once, so that their errors at all times stay in the cache */

/* The sum of penalty(e) over `count` errors, which are replaced by weight * penalty'(e).
   kind: 0 for |e|, 1 for e^2, 2 for Huber's: e^2 / 2 up to 1, then |e| - 1/2. */
INLINE double NAME(penalty)(const int kind, int count, REAL weight, REAL *e)
{
    VEC total = {0};
    for (int q = 0; q < count; q += LANES) {
        const VEC v = *(const VEC *)(e + q);
        const VEC sign = __builtin_convertvector((v < 0) - (v > 0), VEC); /* a comparison that holds is -1 */
        const INTS far = v * sign > 1;
        VEC value = v * sign, slope = sign;
        if (kind == 1) {
            value = v * v;
            slope = 2 * v;
        } else if (kind == 2) {
            slope = (VEC)(((INTS)sign & far) | ((INTS)v & ~far));
            value = slope * (v - (REAL)0.5 * slope);
        }
        total += value;
        *(VEC *)(e + q) = weight * slope;
    }
    double sum = 0;
    for (int l = 0; l < LANES; l++) sum += total[l];
    return sum * weight;
}

/* out[q] += sum_k M[row, k] from[k, q] for `count` columns; rows of `from` are `stride` apart. */
INLINE void NAME(combine)(const int32_t *ptr, const int32_t *idx, const REAL *val, int row, const REAL *from,
                          size_t stride, int count, REAL *out)
{
    for (int e = ptr[row]; e < ptr[row + 1]; e++) {
        const REAL *here = from + idx[e] * stride, factor = val[e];
        for (int q = 0; q < count; q++) out[q] += factor * here[q];
    }
}

/* Columns from..to of what follows; returns their share of the error. scratch: T x MANY. */
static double NAME(error_columns)(size_t from, size_t to, int T, int count, size_t all, int d, int kind, const int32_t *const *at,
                                  const REAL *const *val, REAL *U, REAL *V, const REAL *bias, const REAL *target,
                                  const uint8_t *seen, const REAL *weights, REAL *scratch)
{
    double total = 0;
    for (size_t c = from; c < to; c += MANY) {
        const int width = to - c < MANY ? (int)(to - c) : MANY;
        for (int t = 0; t < T; t++) {
            REAL *e = scratch + (size_t)t * MANY;
            const REAL *wanted = target + t * all + c;
            for (int q = 0; q < MANY; q++) e[q] = 0; /* past the width, too: the penalty goes by whole vectors */
            if (val[0])
                NAME(combine)(at[0], at[1], val[0], t, U + c, all, width, e);
            else
                for (int q = 0; q < width; q++) e[q] = U[t * all + c + q];
            if (V) NAME(combine)(at[4], at[5], val[2], t, V + c, all, width, e);
            if (d == 1)
                for (int q = 0; q < width; q++) e[q] += bias[0] - wanted[q];
            else
                for (int q = 0; q < width; q++) e[q] += bias[(c + q) % d] - wanted[q];
            if (seen)
                for (int q = 0; q < width; q++) e[q] = seen[t * all + c + q] ? e[q] : 0;
            total += kind == 0   ? NAME(penalty)(0, width, weights[t], e)
                     : kind == 1 ? NAME(penalty)(1, width, weights[t], e)
                                 : NAME(penalty)(2, width, weights[t], e);
        }
        for (int k = 0; k < count; k++) {
            REAL *u = U + k * all + c, *v = V ? V + k * all + c : 0;
            for (int q = 0; q < width; q++) u[q] = val[0] ? 0 : scratch[(size_t)k * MANY + q];
            if (val[0]) NAME(combine)(at[2], at[3], val[1], k, scratch, MANY, width, u);
            if (!V) continue;
            for (int q = 0; q < width; q++) v[q] = 0;
            NAME(combine)(at[6], at[7], val[3], k, scratch, MANY, width, v);
        }
    }
    return total;
}

/* sum_t weights[t] sum penalty(M U + N V + bias - target) over entries that were seen (all if that is null), returned; U
   and V are replaced by its gradients. U, V: count x n x d, V may be null. target: T x n x d. M, MT, N, NT: T x count in
   CSR and transposed; M may be null for the identity. scratch: threads x T x MANY, sums: threads. */
EXPORT double NAME(error)(int T, int count, int n, int d, int kind, int threads, const int32_t *m_ptr, const int32_t *m_idx,
                          const REAL *m_val, const int32_t *mt_ptr, const int32_t *mt_idx, const REAL *mt_val,
                          const int32_t *n_ptr, const int32_t *n_idx, const REAL *n_val, const int32_t *nt_ptr,
                          const int32_t *nt_idx, const REAL *nt_val, REAL *U, REAL *V, const REAL *bias, const REAL *target,
                          const uint8_t *seen, const REAL *weights, REAL *scratch, double *sums)
{
    const int32_t *const at[8] = {m_ptr, m_idx, mt_ptr, mt_idx, n_ptr, n_idx, nt_ptr, nt_idx};
    const REAL *const val[4] = {m_val, mt_val, n_val, nt_val};
    for (int t = 0; t < threads; t++) sums[t] = 0;
    PARALLEL
    {
        const int t = THREAD, team = TEAM;
        sums[t] = NAME(error_columns)((size_t)part(n, t, team) * d, (size_t)part(n, t + 1, team) * d, T, count, (size_t)n * d, d, kind, at,
                                      val, U, V, bias, target, seen, weights, scratch + (size_t)t * T * MANY);
    }
    double total = 0;
    for (int t = 0; t < threads; t++) total += sums[t];
    return total;
}

#undef INTS
#undef MANY
