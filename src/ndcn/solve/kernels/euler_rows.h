/* Rows of a state in registers, for one floating type and one instruction set: loads, stores, sums.

   Included by euler_sets.h, which defines REAL and NAME; LANES is the number of columns in a vector register.

   Layout: a state has n rows of P columns and is stored in panels: all rows of the first WIDE columns, all rows of the next
   WIDE, and so on; if 1 to TAIL columns are left, a last panel has TAIL columns. A row of a wide panel is one cache line,
   and with AVX-512 one vector, so that 20 columns of float take two instructions. Columns past the width are zero and stay
   zero, because the padding of W and b is zero.

   A block of columns is A wide panels and C tails: (2, 0), (1, 1), (1, 0) or (0, 1). A and C are constants wherever they
   are used, so that rows live in registers; for that, too, rows are passed by address and never copied whole. */

#define WIDE ((int)(64 / sizeof(REAL)))
#define TAIL ((int)(16 / sizeof(REAL)))
#define LANES ((int)(BYTES / sizeof(REAL)))
#define PARTS (64 / BYTES) /* vectors of a wide panel */

typedef REAL NAME(vector) __attribute__((vector_size(BYTES), aligned(sizeof(REAL)), may_alias));
typedef REAL NAME(tail) __attribute__((vector_size(16), aligned(sizeof(REAL)), may_alias));
typedef struct {
    NAME(vector) a[2 * PARTS];
    NAME(tail) c;
} NAME(row);
#define VEC NAME(vector)
#define END NAME(tail)
#define ROW NAME(row)
#define EACH(v) for (int v = 0; v < A * PARTS; v++)

/* Call f(A, C, ...) for the block of columns that begins at column c of P; its first panel begins at c * n of a state. */
#define PICK(f, P, c, ...)                                                                                             \
    switch ((P) - (c) >= 2 * WIDE ? 2 : (P) - (c) > WIDE ? 3 : (P) - (c) == WIDE) {                                    \
    case 0: f(0, 1, __VA_ARGS__); break;                                                                               \
    case 1: f(1, 0, __VA_ARGS__); break;                                                                               \
    case 2: f(2, 0, __VA_ARGS__); break;                                                                               \
    default: f(1, 1, __VA_ARGS__);                                                                                     \
    }
#define FOR_BLOCKS(c, P) for (int c = 0; c < (P); c += 2 * WIDE)

/* Where vector v of row i of a block begins, and where its tail does. */
#define AT(x, n, i, v) ((x) + ((size_t)((v) / PARTS) * (n) + (i)) * WIDE + (v) % PARTS * LANES)
#define TAIL_AT(x, n, i) ((x) + (size_t)A * (n)*WIDE + (size_t)(i)*TAIL)

/* Row i of a block of columns; with n = 1 and i = 0 a row whose columns follow each other, as in W. */
INLINE void NAME(load)(const int A, const int C, ROW *row, const REAL *x, size_t n, size_t i)
{
    EACH(v) row->a[v] = *(const VEC *)AT(x, n, i, v);
    if (C) row->c = *(const END *)TAIL_AT(x, n, i);
}

/* The same, with the tails' panel given by itself; the offset is computed once for both. */
INLINE void NAME(load_split)(const int A, const int C, ROW *row, const REAL *x, const REAL *tails, size_t n, size_t i)
{
    size_t offset = i * 16;     /* bytes of a tail; a wide row has four times as many, */
    __asm__("" : "+r"(offset)); /* which addresses can do by themselves if the compiler does not know where it comes from */
    EACH(v) row->a[v] = *(const VEC *)((const char *)AT(x, n, 0, v) + 4 * offset);
    if (C) row->c = *(const END *)((const char *)tails + offset);
}

INLINE void NAME(store)(const int A, const int C, const ROW *row, REAL *x, size_t n, size_t i)
{
    EACH(v) *(VEC *)AT(x, n, i, v) = row->a[v];
    if (C) *(END *)TAIL_AT(x, n, i) = row->c;
}

INLINE void NAME(clear)(const int A, const int C, ROW *row)
{
    EACH(v) row->a[v] = (VEC){0};
    if (C) row->c = (END){0};
}

/* sum += s row; s is made a vector once, of which the tail takes the first part. */
INLINE void NAME(add)(const int A, const int C, ROW *sum, REAL s, const ROW *row)
{
    const VEC all = s - (VEC){0};
    EACH(v) sum->a[v] += all * row->a[v];
    if (C) sum->c += *(const END *)&all * row->c;
}

INLINE void NAME(scale)(const int A, const int C, ROW *row, REAL s)
{
    EACH(v) row->a[v] *= s;
    if (C) row->c *= s;
}

/* 0 where negative; keeps NaN, unlike a maximum. */
INLINE void NAME(relu)(const int A, const int C, ROW *row)
{
    EACH(v) row->a[v] = (VEC)((__typeof__(row->a[v] < 0))row->a[v] & ~(row->a[v] < 0));
    if (C) row->c = (END)((__typeof__(row->c < 0))row->c & ~(row->c < 0));
}

/* 0 where the slope is not positive. */
INLINE void NAME(mask)(const int A, const int C, ROW *row, const ROW *slope)
{
    EACH(v) row->a[v] = (VEC)((__typeof__(row->a[v] > 0))row->a[v] & (slope->a[v] > 0));
    if (C) row->c = (END)((__typeof__(row->c > 0))row->c & (slope->c > 0));
}

/* sum_r[:] += y[r, k] w[k, :] over k < K, for R rows; the rows of y are `stride` apart, those of w are P apart. */
INLINE void NAME(product)(const int R, const int A, const int C, int K, const REAL *y, int stride, const REAL *w, int P,
                          ROW sum[])
{
    for (int k = 0; k < K; k++) {
        ROW row;
        NAME(load)(A, C, &row, w + (size_t)k * P, 1, 0);
        for (int r = 0; r < R; r++) NAME(add)(A, C, &sum[r], y[(size_t)r * stride + k], &row);
    }
}

/* out[o, :] += sum_r y[r, o] x[r, :] for O consecutive o and rows i, i + 1, ... of x. */
INLINE void NAME(outer)(const int A, const int C, const int O, int rows, const REAL *y, int stride, const REAL *x, size_t n,
                        size_t i, REAL *out, int P)
{
    ROW sum[ROWS];
    for (int o = 0; o < O; o++) NAME(load)(A, C, &sum[o], out + (size_t)o * P, 1, 0);
    for (int r = 0; r < rows; r++) {
        ROW row;
        NAME(load)(A, C, &row, x, n, i + r);
        for (int o = 0; o < O; o++) NAME(add)(A, C, &sum[o], y[(size_t)r * stride + o], &row);
    }
    for (int o = 0; o < O; o++) NAME(store)(A, C, &sum[o], out + (size_t)o * P, 1, 0);
}

/* The same for any number of o. */
INLINE void NAME(outers)(const int A, const int C, int count, int rows, const REAL *y, int stride, const REAL *x, size_t n,
                         size_t i, REAL *out, int P)
{
    int o = 0;
    for (; o + ROWS <= count; o += ROWS) NAME(outer)(A, C, ROWS, rows, y + o, stride, x, n, i, out + (size_t)o * P, P);
    for (; o < count; o++) NAME(outer)(A, C, 1, rows, y + o, stride, x, n, i, out + (size_t)o * P, P);
}

/* part[r] += products of row i + r of x with R, in TAIL sums; each row for itself, whatever the number of rows. */
INLINE void NAME(dot)(const int A, const int C, int rows, const REAL *x, size_t n, size_t i, const REAL *R, END *part)
{
    for (int r = 0; r < rows; r++) {
        END sum = part[r];
        for (int v = 0; v < A; v++)
            for (int q = 0; q < WIDE; q += TAIL)
                sum += *(const END *)(x + (v * n + i + r) * WIDE + q) * *(const END *)(R + v * WIDE + q);
        if (C) sum += *(const END *)TAIL_AT(x, n, i + r) * *(const END *)(R + A * WIDE);
        part[r] = sum;
    }
}
