/* Steps of one number type. `width` is that of h; u, a and weights have a row of `width` for each gate of the cell. */

static REAL NAME(sigmoid)(REAL x) { return 1 / (1 + EXP(-x)); }

/* a = b + W h */
static void NAME(product)(int64_t rows, int64_t width, const REAL *W, const REAL *b, const REAL *h, REAL *a)
{
    for (int64_t i = 0; i < rows; i++) {
        REAL sum = 0;
        for (int64_t j = 0; j < width; j++)
            sum += W[i * width + j] * h[j];
        a[i] = b[i] + sum;
    }
}

/* States s_k = cell(u_k, s_k-1) for k = 1 .. count; `a` has room for the gates of one step. */
EXPORT void NAME(forward)(int64_t cell, int64_t count, int64_t width, const REAL *u, const REAL *start, const REAL *W,
                          const REAL *b, REAL *a, REAL *states)
{
    const int64_t H = width, rows = H * (cell == RNN ? 1 : cell == GRU ? 3 : 4), size = cell == LSTM ? 2 * H : H;
    for (int64_t k = 0; k < count; k++, u += rows) {
        const REAL *h = k ? states + (k - 1) * size : start;
        REAL *s = states + k * size;
        NAME(product)(rows, H, W, b, h, a);
        for (int64_t i = 0; i < H; i++) {
            if (cell == RNN) {
                s[i] = TANH(u[i] + a[i]);
            } else if (cell == GRU) {
                const REAL r = NAME(sigmoid)(u[i] + a[i]), z = NAME(sigmoid)(u[H + i] + a[H + i]);
                const REAL new = TANH(u[2 * H + i] + r * a[2 * H + i]);
                s[i] = new + z * (h[i] - new);
            } else {
                const REAL in = NAME(sigmoid)(u[i] + a[i]), forget = NAME(sigmoid)(u[H + i] + a[H + i]);
                const REAL new = TANH(u[2 * H + i] + a[2 * H + i]), out = NAME(sigmoid)(u[3 * H + i] + a[3 * H + i]);
                s[H + i] = forget * h[H + i] + in * new;
                s[i] = out * TANH(s[H + i]);
            }
        }
    }
}

/* From the gradients of all states to those of u, the first state, W and b, which are 0 at first; gates are computed anew.
   `a` and `ga` have room for the gates of one step; `pull`, 0 at first, is the gradient of a state and ends as that of the first. */
EXPORT void NAME(backward)(int64_t cell, int64_t count, int64_t width, const REAL *u, const REAL *start, const REAL *W,
                           const REAL *b, const REAL *states, const REAL *grads, REAL *a, REAL *ga, REAL *pull, REAL *gu,
                           REAL *gW, REAL *gb)
{
    const int64_t H = width, rows = H * (cell == RNN ? 1 : cell == GRU ? 3 : 4), size = cell == LSTM ? 2 * H : H;
    for (int64_t k = count - 1; k >= 0; k--) {
        const REAL *h = k ? states + (k - 1) * size : start, *s = states + k * size, *v = u + k * rows;
        REAL *g = gu + k * rows;
        for (int64_t i = 0; i < size; i++)
            pull[i] += grads[k * size + i];
        NAME(product)(rows, H, W, b, h, a);
        for (int64_t i = 0; i < H; i++) {
            const REAL p = pull[i];
            if (cell == RNN) {
                ga[i] = g[i] = p * (1 - s[i] * s[i]);
                pull[i] = 0;
            } else if (cell == GRU) {
                const REAL r = NAME(sigmoid)(v[i] + a[i]), z = NAME(sigmoid)(v[H + i] + a[H + i]), m = a[2 * H + i];
                const REAL new = TANH(v[2 * H + i] + r * m), gn = p * (1 - z) * (1 - new * new);
                ga[i] = g[i] = gn * m * r * (1 - r);
                ga[H + i] = g[H + i] = p * (h[i] - new) * z * (1 - z);
                g[2 * H + i] = gn;
                ga[2 * H + i] = gn * r;
                pull[i] = p * z;
            } else {
                const REAL in = NAME(sigmoid)(v[i] + a[i]), forget = NAME(sigmoid)(v[H + i] + a[H + i]);
                const REAL new = TANH(v[2 * H + i] + a[2 * H + i]), out = NAME(sigmoid)(v[3 * H + i] + a[3 * H + i]);
                const REAL c = TANH(s[H + i]), q = pull[H + i] + p * out * (1 - c * c);
                ga[i] = g[i] = q * new * in * (1 - in);
                ga[H + i] = g[H + i] = q * h[H + i] * forget * (1 - forget);
                ga[2 * H + i] = g[2 * H + i] = q * in * (1 - new * new);
                ga[3 * H + i] = g[3 * H + i] = p * c * out * (1 - out);
                pull[i] = 0;
                pull[H + i] = q * forget;
            }
        }
        for (int64_t i = 0; i < rows; i++) {
            gb[i] += ga[i];
            for (int64_t j = 0; j < H; j++) {
                gW[i * H + j] += ga[i] * h[j];
                pull[j] += W[i * H + j] * ga[i];
            }
        }
    }
}
