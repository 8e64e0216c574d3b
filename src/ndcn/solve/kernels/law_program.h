/* A formula as instructions, run over a block of nodes or edges at a time, and backwards for its derivatives. */

enum { ADD, SUB, MUL, DIV, NEG, POW, POWI, SQUARE, CUBE, EXP, LOG, LOG1P, SQRT, SIN, COS, TAN, SINH, COSH, TANH, ATAN, SIGMOID, ABS,
       SIGN, RELU };

INLINE int64_t bits_(double x)
{
    int64_t out;
    memcpy(&out, &x, 8);
    return out;
}

INLINE double number_(int64_t bits)
{
    double out;
    memcpy(&out, &bits, 8);
    return out;
}

/* exp by 2^k and a polynomial of the rest, without branches so that it is vectorised; within 2 units of the last digit. */
INLINE double exp_(double x)
{
    const double shift = 6755399441055744.0; /* 1.5 2^52: adding it rounds to a whole number */
    const double y = x < -745.2 ? -745.2 : x > 709.9 ? 709.9 : x;
    const double t = y * 1.4426950408889634074 + shift, k = t - shift;
    const double r = (y - k * 0.693145751953125) - k * 1.42860682030941723212e-6;
    double p = 1.6059043836821613e-10;
    p = p * r + 2.08767569878681e-09;
    p = p * r + 2.505210838544172e-08;
    p = p * r + 2.755731922398589e-07;
    p = p * r + 2.7557319223985893e-06;
    p = p * r + 2.48015873015873e-05;
    p = p * r + 1.984126984126984e-04;
    p = p * r + 1.388888888888889e-03;
    p = p * r + 8.333333333333333e-03;
    p = p * r + 4.1666666666666664e-02;
    p = p * r + 1.6666666666666666e-01;
    p = p * r + 0.5;
    p = p * r + 1.0;
    p = p * r + 1.0;
    /* 2^k in two factors, as 2^1024 and 2^-1075 are no normal numbers */
    const double u = k * 0.5 + shift;
    const int64_t first = bits_(u) - bits_(shift), second = bits_(t) - bits_(shift) - first;
    const double a = number_((first + 1023) << 52), b = number_((second + 1023) << 52);
    const double value = p * a * b;
    return x > 709.79 ? INFINITY : x < -745.2 ? 0.0 : x == x ? value : x;
}

/* log by the exponent and 2 atanh((m - 1) / (m + 1)), m within sqrt(1/2) .. sqrt(2): the first term left out is 1e-18. */
INLINE double log_(double x)
{
    const int tiny = x < 1e-300;
    const double y = tiny ? x * 18014398509481984.0 : x; /* 2^54 */
    const int64_t bits = bits_(y);
    double e = number_((int64_t)((uint64_t)bits >> 52) | 0x4330000000000000) - 4503599627371519.0 - (tiny ? 54 : 0); /* 2^52 + 1023 */
    double m = number_((bits & 0xfffffffffffff) | 0x3ff0000000000000);
    const int large = m > 1.4142135623730951;
    m = large ? 0.5 * m : m;
    e = large ? e + 1 : e;
    const double s = (m - 1) / (m + 1), z = s * s;
    double p = 1.0 / 21;
    p = p * z + 1.0 / 19;
    p = p * z + 1.0 / 17;
    p = p * z + 1.0 / 15;
    p = p * z + 1.0 / 13;
    p = p * z + 1.0 / 11;
    p = p * z + 1.0 / 9;
    p = p * z + 1.0 / 7;
    p = p * z + 1.0 / 5;
    p = p * z + 1.0 / 3;
    const double value = e * 0.693145751953125 + (e * 1.42860682030941723212e-6 + (2 * s + 2 * s * z * p));
    return x > 0 ? (x < INFINITY ? value : x) : x == 0 ? -INFINITY : NAN;
}

/* log(1 + x): what rounding takes from 1 + x is given back as a factor (Kahan). */
INLINE double log1p_(double x)
{
    const double u = 1 + x, d = u - 1;
    return d == 0 || x == INFINITY ? x : log_(u) * (x / d);
}

/* sin and cos by quarter turns and polynomials of the rest (fdlibm's, within 1 unit of the last digit). Of k quarter turns up to 2^20 the
   first two parts, of 33 bits each, are exact. */
#define FEW_TURNS 1e6
INLINE double turned_(double x, int64_t quarters)
{
    const double shift = 6755399441055744.0, t = x * 0.63661977236758134308 + shift, k = t - shift;
    const double r = ((x - k * 1.57079632673412561417) - k * 6.07710050630396597660e-11) - k * 2.02226624879595063154e-21;
    const int64_t q = bits_(t) - bits_(shift) + quarters;
    const double z = r * r;
    double s = 1.58969099521155010221e-10, c = -1.13596475577881948265e-11;
    s = s * z - 2.50507602534068634195e-08;
    s = s * z + 2.75573137070700676789e-06;
    s = s * z - 1.98412698298579493134e-04;
    s = s * z + 8.33333333332248946124e-03;
    s = s * z - 1.66666666666666324348e-01;
    c = c * z + 2.08757232129817482790e-09;
    c = c * z - 2.75573143513906633035e-07;
    c = c * z + 2.48015872894767294178e-05;
    c = c * z - 1.38888888888741095749e-03;
    c = c * z + 4.16666666666666019037e-02;
    const double odd = r + r * (z * s), even = 1 - (0.5 * z - z * z * c);
    const double value = q & 1 ? even : odd;
    return q & 2 ? -value : value;
}

INLINE int few_turns_(const double *a)
{
    int far = 0;
    EACH far |= !(fabs(a[l]) < FEW_TURNS);
    return !far;
}

INLINE void sin_(const double *restrict a, double *restrict o)
{
    if (few_turns_(a)) EACH o[l] = turned_(a[l], 0);
    else EACH o[l] = sin(a[l]);
}

INLINE void cos_(const double *restrict a, double *restrict o)
{
    if (few_turns_(a)) EACH o[l] = turned_(a[l], 1);
    else EACH o[l] = cos(a[l]);
}

/* x^h; 0 for x < 0, where it is not real. */
INLINE double power_(double x, double h)
{
    const double value = exp_(h * log_(x < 0 ? 0.0 : x));
    return h == 0 ? 1.0 : x == x ? value : x;
}

/* tanh by a quotient of polynomials near 0 (Cephes), by exp elsewhere. */
INLINE double tanh_(double x)
{
    const double z = fabs(x), s = x * x;
    const double e = exp_(2 * (z < 20 ? z : 20));
    const double far = 1 - 2 / (e + 1);
    const double P = (-9.64399179425052238628e-1 * s - 9.92877231001918586564e1) * s - 1.61468768441708447952e3;
    const double Q = ((s + 1.12811678491632931402e2) * s + 2.23548839060100448583e3) * s + 4.84406305325125486048e3;
    const double near = x + x * (s * P / Q);
    return z < 0.625 ? near : x < 0 ? -far : x == x ? far : x;
}

INLINE double sigmoid_(double x) { return 1 / (1 + exp_(-x)); }
INLINE double finite_(double x) { return x - x == 0 ? x : 0.0; }

/* The register of one instruction. */
INLINE void forward_one(int op, const double *restrict a, const double *restrict b, double *restrict o)
{
    switch (op) {
    case ADD: EACH o[l] = a[l] + b[l]; break;
    case SUB: EACH o[l] = a[l] - b[l]; break;
    case MUL: EACH o[l] = a[l] * b[l]; break;
    case DIV: EACH o[l] = a[l] / b[l]; break;
    case NEG: EACH o[l] = -a[l]; break;
    case POW: EACH o[l] = power_(a[l], b[l]); break;
    case POWI: EACH o[l] = pow(a[l], b[l]); break;
    case SQUARE: EACH o[l] = a[l] * a[l]; break;
    case CUBE: EACH o[l] = a[l] * a[l] * a[l]; break;
    case EXP: EACH o[l] = exp_(a[l]); break;
    case LOG: EACH o[l] = log_(a[l]); break;
    case LOG1P: EACH o[l] = log1p_(a[l]); break;
    case SQRT: EACH o[l] = sqrt(a[l]); break;
    case SIN: sin_(a, o); break;
    case COS: cos_(a, o); break;
    case TAN: EACH o[l] = tan(a[l]); break;
    case SINH: EACH o[l] = sinh(a[l]); break;
    case COSH: EACH o[l] = cosh(a[l]); break;
    case TANH: EACH o[l] = tanh_(a[l]); break;
    case ATAN: EACH o[l] = atan(a[l]); break;
    case SIGMOID: EACH o[l] = sigmoid_(a[l]); break;
    case ABS: EACH o[l] = fabs(a[l]); break;
    case SIGN: EACH o[l] = a[l] > 0 ? 1.0 : a[l] < 0 ? -1.0 : 0.0; break;
    case RELU: EACH o[l] = a[l] < 0 ? 0.0 : a[l]; break;
    }
}

/* Adds to da and db (which may be the same) what a register's derivative g gives them; o is the register's value. */
INLINE void backward_one(int op, const double *a, const double *b, const double *o, const double *g, double *da, double *db)
{
    double t[B];
    switch (op) {
    case ADD: EACH da[l] += g[l]; EACH db[l] += g[l]; break;
    case SUB: EACH da[l] += g[l]; EACH db[l] -= g[l]; break;
    case MUL: EACH da[l] += g[l] * b[l]; EACH db[l] += g[l] * a[l]; break;
    case DIV: EACH da[l] += finite_(g[l] / b[l]); EACH db[l] -= finite_(g[l] * o[l] / b[l]); break;
    case NEG: EACH da[l] -= g[l]; break;
    case POW:
        EACH da[l] += a[l] > 0 ? finite_(g[l] * b[l] * o[l] / a[l]) : a[l] == 0 && b[l] == 1 ? g[l] : 0.0;
        EACH db[l] += a[l] > 0 ? finite_(g[l] * o[l] * log_(a[l])) : 0.0;
        break;
    case POWI: EACH da[l] += b[l] == 0 ? 0.0 : finite_(g[l] * b[l] * pow(a[l], b[l] - 1)); break; /* b is a whole constant */
    case SQUARE: EACH da[l] += 2 * g[l] * a[l]; break;
    case CUBE: EACH da[l] += 3 * g[l] * a[l] * a[l]; break;
    case EXP: EACH da[l] += finite_(g[l] * o[l]); break;
    case LOG: EACH da[l] += finite_(g[l] / a[l]); break;
    case LOG1P: EACH da[l] += finite_(g[l] / (1 + a[l])); break;
    case SQRT: EACH da[l] += finite_(g[l] / (2 * o[l])); break;
    case SIN: cos_(a, t); EACH da[l] += g[l] * t[l]; break;
    case COS: sin_(a, t); EACH da[l] -= g[l] * t[l]; break;
    case TAN: EACH da[l] += finite_(g[l] * (1 + o[l] * o[l])); break;
    case SINH: EACH da[l] += finite_(g[l] * cosh(a[l])); break;
    case COSH: EACH da[l] += finite_(g[l] * sinh(a[l])); break;
    case TANH: EACH da[l] += g[l] * (1 - o[l] * o[l]); break;
    case ATAN: EACH da[l] += g[l] / (1 + a[l] * a[l]); break;
    case SIGMOID: EACH da[l] += g[l] * o[l] * (1 - o[l]); break;
    case ABS: EACH da[l] += a[l] > 0 ? g[l] : a[l] < 0 ? -g[l] : 0.0; break;
    case SIGN: break;
    case RELU: EACH da[l] += a[l] > 0 ? g[l] : 0.0; break;
    }
}

INLINE int registers(const Program *p) { return p->inputs + p->scalars + p->count; }

/* The scalars of a program in all places of their blocks; nothing overwrites them later. */
INLINE void spread_scalars(const Program *p, const double *scalars, Block *r)
{
    for (int k = 0; k < p->scalars; k++) EACH r[p->inputs + k][l] = scalars[k];
}

INLINE void run(const Program *p, Block *r)
{
    Block *o = r + p->inputs + p->scalars;
    for (int k = 0; k < p->count; k++) forward_one(p->code[3 * k], r[p->code[3 * k + 1]], r[p->code[3 * k + 2]], o[k]);
}

/* g: derivatives of one output by all registers; r are their values. */
INLINE void run_back(const Program *p, Block *r, int output, Block *g)
{
    memset(g, 0, sizeof(Block) * registers(p));
    EACH g[p->out[output]][l] = 1.0;
    const int first = p->inputs + p->scalars;
    for (int k = p->out[output] - first; k >= 0; k--) {
        const int a = p->code[3 * k + 1], b = p->code[3 * k + 2];
        backward_one(p->code[3 * k], r[a], r[b], r[first + k], g[first + k], g[a], g[b]);
    }
}
