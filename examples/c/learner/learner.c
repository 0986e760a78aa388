/* QRC(lambda) on the device: one sample in, one step of learning, and the sample is gone.
 * Written by rillax from the settings of a learner.
 */
#include "learner.h"

#include <float.h>
#include <math.h>
#include <string.h>

typedef learner_real real;
#ifdef LEARNER_DOUBLE
#define REAL(x) x
#define MATH(function) function
#define TINY DBL_MIN
#define EPSILON DBL_EPSILON
typedef uint64_t bits_of_real;
#else
#define REAL(x) x##f
#define MATH(function) function##f
#define TINY FLT_MIN
#define EPSILON FLT_EPSILON
typedef uint32_t bits_of_real;
#endif

#define REASON REAL(1000000000000.0)   /* no TD error or value is as large, unless something has run away */
#define LARGEST REAL(1000000000000000.0) /* no reading counts for more */

/* ---- settings ---- */

#define DISCOUNT REAL(0.99) /* gamma */
#define TRACE_DECAY REAL(0.9405) /* gamma lambda */
#define REGULARISATION REAL(1.0) /* beta */
#define EPSILON_START REAL(1.0)
#define EPSILON_END REAL(0.01)
#define EPSILON_FRAMES 6000
#define LEARNER_KIND 0x29D53060u

enum {
    ENCODER_INPUTS = 3,
    ENCODER_WIDTH = 16,
    CELL_INPUTS = 16,
    CELL_UNITS = 32,
    HEAD_INPUTS = 64,
    HEAD_WIDTH = 16,
    FEATURES = 16,
    LEARNER_WIDEST = 64
};

/* The gradient of each layer's sum, on the way back. */
typedef struct {
    learner_real encoder[16];
    cell_slope cell;
    learner_real head[16];
} body_slope;

/* ---- vectors ---- */

/* A compiler may not reorder a sum. In this many parts it may add them side by side. */
enum { LANES = 16 };

static real sum_of_lanes(const real lane[LANES])
{
    real eight[8], four[4];
    for (int k = 0; k < 8; k++)
        eight[k] = lane[k] + lane[k + 8];
    for (int k = 0; k < 4; k++)
        four[k] = eight[k] + eight[k + 4];
    return (four[0] + four[2]) + (four[1] + four[3]);
}

static real dot(int n, const real *restrict a, const real *restrict b)
{
    real lane[LANES] = {0}, rest = 0;
    int i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int k = 0; k < LANES; k++)
            lane[k] += a[i + k] * b[i + k];
    for (; i < n; i++)
        rest += a[i] * b[i];
    return sum_of_lanes(lane) + rest;
}

static void zero(int n, real *restrict a)
{
    for (int i = 0; i < n; i++)
        a[i] = 0;
}

static void copy(int n, real *restrict to, const real *restrict from)
{
    for (int i = 0; i < n; i++)
        to[i] = from[i];
}

static int all_finite(int n, const real *a)
{
    for (int i = 0; i < n; i++)
        if (!isfinite(a[i]))
            return 0;
    return 1;
}

/* The next number, or the last one for good. */
static int32_t one_more(int32_t count)
{
    return count < INT32_MAX ? count + 1 : count;
}

static real clip(real x, real least, real most)
{
    return x < least ? least : x > most ? most : x;
}

/* The sum of |a|: whatever runs away shows in it. */
static real size_of(int n, const real *a)
{
    real size = 0;
    for (int i = 0; i < n; i++)
        size += MATH(fabs)(a[i]);
    return size;
}

/* ---- dense layers ---- */

/* y = W x */
static void product(int rows, int columns, const real *restrict weight, const real *restrict x,
                    real *restrict y)
{
    for (int i = 0; i < rows; i++)
        y[i] = dot(columns, weight + i * columns, x);
}

/* y = W x + b */
static void dense(int rows, int columns, const real *restrict weight, const real *restrict bias,
                  const real *restrict x, real *restrict y)
{
    product(rows, columns, weight, x, y);
    for (int i = 0; i < rows; i++)
        y[i] += bias[i];
}

/* dL/dx = W^T dL/dy */
static void dense_back(int rows, int columns, const real *restrict weight, const real *restrict g,
                       real *restrict g_x)
{
    const int fours = rows - rows % 4;
    zero(columns, g_x);
    for (int i = 0; i < fours; i += 4) { /* four at a time: g_x is read and written less often */
        const real *a = weight + i * columns, *b = a + columns, *c = b + columns, *d = c + columns;
        for (int j = 0; j < columns; j++)
            g_x[j] += g[i] * a[j] + g[i + 1] * b[j] + g[i + 2] * c[j] + g[i + 3] * d[j];
    }
    for (int i = fours; i < rows; i++)
        for (int j = 0; j < columns; j++)
            g_x[j] += g[i] * weight[i * columns + j];
}

/* LayerNorm in place, without scale or bias; returns the factor 1/sqrt(variance + 1e-5). */
static real layer_norm(int n, real *restrict y)
{
    real mean = 0, variance = 0;
    for (int i = 0; i < n; i++)
        mean += y[i];
    mean /= (real)n;
    for (int i = 0; i < n; i++) {
        y[i] -= mean;
        variance += y[i] * y[i];
    }
    const real factor = 1 / MATH(sqrt)(variance / (real)n + REAL(1e-5));
    for (int i = 0; i < n; i++)
        y[i] *= factor;
    return factor;
}

/* dL/dy, given what layer_norm made of y, its factor, and dL/d(normed); in place. */
static void layer_norm_back(int n, const real *restrict normed, real factor, real *restrict g)
{
    real mean = 0, along = 0;
    for (int i = 0; i < n; i++) {
        mean += g[i];
        along += g[i] * normed[i];
    }
    mean /= (real)n;
    along /= (real)n;
    for (int i = 0; i < n; i++)
        g[i] = factor * (g[i] - mean - normed[i] * along);
}

/* ---- elementary functions: in single precision without branches, so that loops vectorise ---- */

#ifndef LEARNER_DOUBLE
typedef union {
    real value;
    uint32_t bits;
} pieces;

/* An integer near x, and at the same time, in the last bits, that integer plus 0x4B400000. */
static pieces rounded(real x)
{
    const pieces shifted = {x + 12582912.0f};
    return shifted;
}

/* e^x - 1 for |x| < ln(2) / 2 */
static real near_zero(real x)
{
    real p = 1.9875691500e-4f;
    p = p * x + 1.3981999507e-3f;
    p = p * x + 8.3334519073e-3f;
    p = p * x + 4.1665795894e-2f;
    p = p * x + 1.6666665459e-1f;
    p = p * x + 5.0000001201e-1f;
    return p * x * x + x;
}

/* 2^n and e^rest - 1, where x = n ln(2) + rest. */
static real two_to_the(real x, real *rest)
{
    const real within = clip(x, -87, 88);
    const pieces near = rounded(1.44269504088896341f * within);
    const real n = near.value - 12582912.0f;
    pieces power;
    power.bits = (near.bits - 0x4B400000u + 127u) << 23;
    *rest = near_zero((within - n * 0.693359375f) + n * 2.12194440e-4f);
    return power.value;
}
#endif


static real exponential(real x)
{
#ifdef LEARNER_DOUBLE
    return exp(x);
#else
    real rest;
    const real power = two_to_the(x, &rest);
    return power + power * rest;
#endif
}


static real exponential_less_1(real x)
{
#ifdef LEARNER_DOUBLE
    return expm1(x);
#else
    real rest;
    const real power = two_to_the(x, &rest);
    return (power - 1) + power * rest;
#endif
}


static void cosine_and_sine(int n, const real *restrict x, real *restrict cosine,
                            real *restrict sine)
{
#ifdef LEARNER_DOUBLE
    for (int i = 0; i < n; i++) {
        cosine[i] = cos(x[i]);
        sine[i] = sin(x[i]);
    }
#else
    real most = 0;
    for (int i = 0; i < n; i++) { /* x = quarter pi / 2 + rest */
        const pieces near = rounded(0.636619772367581343f * x[i]);
        const real quarter = near.value - 12582912.0f;
        real rest = x[i] - quarter * 1.5703125f;
        rest -= quarter * 4.837512969970703125e-4f;
        rest -= quarter * 7.54978995489188216e-8f;
        const real square = rest * rest;
        real c = 2.443315711809948e-5f, s = -1.9515295891e-4f;
        c = c * square - 1.388731625493765e-3f;
        c = c * square + 4.166664568298827e-2f;
        c = c * square * square - 0.5f * square + 1;
        s = s * square + 8.3321608736e-3f;
        s = s * square - 1.6666654611e-1f;
        s = s * square * rest + rest;
        const real along = near.bits & 1u ? s : c, across = near.bits & 1u ? c : s;
        cosine[i] = (near.bits + 1u) & 2u ? -along : along;
        sine[i] = near.bits & 2u ? -across : across;
    }
    for (int i = 0; i < n; i++)
        most = x[i] > most ? x[i] : most;
    if (most > 1000) /* where so many digits of pi do not do */
        for (int i = 0; i < n; i++) {
            cosine[i] = cosf(x[i]);
            sine[i] = sinf(x[i]);
        }
#endif
}

static void leaky_relu(int n, const real *restrict y, real *restrict f)
{
    for (int i = 0; i < n; i++)
        f[i] = y[i] >= 0 ? y[i] : REAL(0.01) * y[i];
}

/* dL/dy = dL/df f'(y) */
static void leaky_relu_back(int n, const real *restrict y, const real *restrict f,
                            const real *restrict g, real *restrict g_y)
{
    (void)f;
    for (int i = 0; i < n; i++)
        g_y[i] = y[i] >= 0 ? g[i] : REAL(0.01) * g[i];
}

/* ---- random numbers, as JAX draws them ---- */

/* Threefry-2x32 (Salmon et al., 2011) of the counter (0, count). */
static void threefry(const uint32_t key[2], uint32_t count, uint32_t out[2])
{
    static const int rotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
    const uint32_t keys[3] = {key[0], key[1], key[0] ^ key[1] ^ 0x1BD11BDAu};
    uint32_t a = keys[0], b = count + keys[1];
    for (int i = 0; i < 5; i++) {
        for (int j = 0; j < 4; j++) {
            const int turn = rotations[i % 2][j];
            a += b;
            b = ((b << turn) | (b >> (32 - turn))) ^ a;
        }
        a += keys[(i + 1) % 3];
        b += keys[(i + 2) % 3] + (uint32_t)(i + 1);
    }
    out[0] = a;
    out[1] = b;
}

/* A key for what follows, and one to use now. */
static void split(uint32_t key[2], uint32_t now[2])
{
    uint32_t following[2];
    threefry(key, 0, following);
    threefry(key, 1, now);
    key[0] = following[0];
    key[1] = following[1];
}

/* The i-th of the numbers of a key, uniform on [0, 1). */
static real uniform(const uint32_t key[2], int i)
{
    uint32_t bits[2];
    threefry(key, (uint32_t)i, bits);
#ifdef LEARNER_DOUBLE
    const uint64_t both = ((uint64_t)bits[0] << 32) | bits[1];
    return (real)(both >> 12) * REAL(0x1p-52);
#else
    return (real)((bits[0] ^ bits[1]) >> 9) * REAL(0x1p-23);
#endif
}

/* ---- cell: recurrent trace units (Elelimy et al., 2024) ---- */

static void cell_coefficients(const cell_weights *restrict w, cell_pass *restrict p)
{
    for (int k = 0; k < CELL_UNITS; k++) {
        p->nu[k] = exponential(clip(w->nu_log[k], REAL(-30.0), REAL(10.0)));
        p->omega[k] = exponential(clip(w->theta_log[k], REAL(-30.0), REAL(10.0)));
    }
    for (int k = 0; k < CELL_UNITS; k++) {
        const real loss = -exponential_less_1(-p->nu[k]); /* 1 - r; exact next to r = 1 */
        p->r[k] = 1 - loss;
        p->gamma[k] = MATH(sqrt)(loss * (2 - loss));
    }
    cosine_and_sine(CELL_UNITS, p->omega, p->cosine, p->sine);
    for (int k = 0; k < CELL_UNITS; k++) {
        p->lambda_real[k] = p->r[k] * p->cosine[k];
        p->lambda_imag[k] = p->r[k] * p->sine[k];
    }
}

/* u = B x */
static void cell_drive(const cell_weights *restrict w, const real *restrict x,
                          cell_pass *restrict p)
{
    product(CELL_UNITS, CELL_INPUTS, w->B_real, x, p->u_real);
    product(CELL_UNITS, CELL_INPUTS, w->B_imag, x, p->u_imag);
}

/* h and what is read of it. */
static void cell_read(const real *h, cell_pass *p)
{
    copy(2 * CELL_UNITS, p->h, h);
    leaky_relu(2 * CELL_UNITS, p->h, p->features);
}

static void cell_advance(const cell_weights *restrict w, cell_memory *restrict m,
                            const real *restrict x, int fresh, cell_pass *restrict p)
{
    real h[2 * CELL_UNITS];
    cell_coefficients(w, p);
    cell_drive(w, x, p);
    if (fresh) {
        zero(CELL_UNITS, m->h_real);
        zero(CELL_UNITS, m->h_imag);
        zero(CELL_UNITS, m->nu_real);
        zero(CELL_UNITS, m->nu_imag);
        zero(CELL_UNITS, m->theta_real);
        zero(CELL_UNITS, m->theta_imag);
        zero(CELL_UNITS, m->turn_imag);
        for (int k = 0; k < CELL_UNITS; k++)
            m->turn_real[k] = 1;
        zero(CELL_UNITS * CELL_INPUTS, m->E_real);
        zero(CELL_UNITS * CELL_INPUTS, m->E_imag);
    }
    copy(CELL_UNITS, m->previous_real, m->h_real);
    copy(CELL_UNITS, m->previous_imag, m->h_imag);
    for (int k = 0; k < CELL_UNITS; k++) {
        const real a = p->lambda_real[k], b = p->lambda_imag[k];
        const real real_part = a * m->h_real[k] - b * m->h_imag[k];
        const real imag_part = a * m->h_imag[k] + b * m->h_real[k];
        const real dgamma = p->nu[k] * p->r[k] * p->r[k] / p->gamma[k];

        /* S <- lambda S + d(lambda)/dpsi h + d(gamma)/dpsi u */
        const real nu = m->nu_real[k], theta = m->theta_real[k];
        m->nu_real[k] = a * nu - b * m->nu_imag[k] - p->nu[k] * real_part;
        m->nu_imag[k] = a * m->nu_imag[k] + b * nu - p->nu[k] * imag_part;
        m->nu_real[k] += dgamma * p->u_real[k];
        m->nu_imag[k] += dgamma * p->u_imag[k];
        m->theta_real[k] = a * theta - b * m->theta_imag[k] - p->omega[k] * imag_part;
        m->theta_imag[k] = a * m->theta_imag[k] + b * theta + p->omega[k] * real_part;
        m->h_real[k] = real_part + p->gamma[k] * p->u_real[k];
        m->h_imag[k] = imag_part + p->gamma[k] * p->u_imag[k];

        /* turn <- turn exp(i Omega), held at length one by a step of Newton's method */
        const real turned = m->turn_real[k] * p->cosine[k] - m->turn_imag[k] * p->sine[k];
        const real across = m->turn_real[k] * p->sine[k] + m->turn_imag[k] * p->cosine[k];
        const real length = REAL(1.5) - REAL(0.5) * (turned * turned + across * across);
        m->turn_real[k] = length * turned;
        m->turn_imag[k] = length * across;
    }
    copy(CELL_UNITS, h, m->h_real);
    copy(CELL_UNITS, h + CELL_UNITS, m->h_imag);
    cell_read(h, p);

    /* E <- r E + gamma conj(turn) x */
    for (int k = 0; k < CELL_UNITS; k++) {
        const real keep = p->r[k];
        const real real_drive = p->gamma[k] * m->turn_real[k];
        const real imag_drive = -p->gamma[k] * m->turn_imag[k];
        real *restrict E_real = m->E_real + k * CELL_INPUTS;
        real *restrict E_imag = m->E_imag + k * CELL_INPUTS;
        for (int j = 0; j < CELL_INPUTS; j++) {
            E_real[j] = keep * E_real[j] + real_drive * x[j];
            E_imag[j] = keep * E_imag[j] + imag_drive * x[j];
        }
    }
}

static void cell_recall(const cell_weights *w, const cell_memory *m, const real *x,
                           cell_pass *p)
{
    real h[2 * CELL_UNITS];
    cell_coefficients(w, p);
    (void)x;
    copy(CELL_UNITS, h, m->h_real);
    copy(CELL_UNITS, h + CELL_UNITS, m->h_imag);
    cell_read(h, p);
}

/* One step on x from the memory as it is; now holds the coefficients. */
static void cell_peek(const cell_weights *restrict w, const cell_memory *restrict m,
                         const cell_pass *restrict now, const real *restrict x,
                         cell_pass *restrict p)
{
    real h[2 * CELL_UNITS];
    cell_drive(w, x, p);
    for (int k = 0; k < CELL_UNITS; k++) {
        const real a = now->lambda_real[k], b = now->lambda_imag[k];
        h[k] = a * m->h_real[k] - b * m->h_imag[k] + now->gamma[k] * p->u_real[k];
        h[CELL_UNITS + k] = a * m->h_imag[k] + b * m->h_real[k] + now->gamma[k] * p->u_imag[k];
    }
    cell_read(h, p);
}

/* dL/dh, and dL/dx by this step alone: gamma B^T dL/dh. */
static void cell_back(const cell_weights *restrict w, const cell_pass *restrict now,
                         const cell_pass *restrict p, const real *restrict g_features,
                         cell_slope *restrict s, real *restrict g_x)
{
    leaky_relu_back(2 * CELL_UNITS, p->h, p->features, g_features, s->g);
    zero(CELL_INPUTS, g_x);
    for (int k = 0; k < CELL_UNITS; k++) {
        const real g_real = now->gamma[k] * s->g[k], g_imag = now->gamma[k] * s->g[CELL_UNITS + k];
        const real *B_real = w->B_real + k * CELL_INPUTS, *B_imag = w->B_imag + k * CELL_INPUTS;
        for (int j = 0; j < CELL_INPUTS; j++)
            g_x[j] += g_real * B_real[j] + g_imag * B_imag[j];
    }
}

/* Through all of time. */
static void cell_past(const cell_weights *restrict w, const cell_memory *restrict m,
                         const cell_pass *restrict p, cell_slope *restrict s)
{
    (void)w;
    (void)p;
    for (int k = 0; k < CELL_UNITS; k++) {
        const real g_real = s->g[k], g_imag = s->g[CELL_UNITS + k];
        s->nu[k] = g_real * m->nu_real[k] + g_imag * m->nu_imag[k];
        s->theta[k] = g_real * m->theta_real[k] + g_imag * m->theta_imag[k];
    }
}

static real cell_size(const cell_slope *s)
{
    return size_of(CELL_UNITS, s->nu) + size_of(CELL_UNITS, s->theta);
}

/* What one step from the state (h_real, h_imag) has to do with nu_log and theta_log. */
static void cell_own(const cell_pass *restrict now,
                        const real *restrict h_real, const real *restrict h_imag,
                        const cell_pass *restrict p, cell_slope *restrict s)
{
    for (int k = 0; k < CELL_UNITS; k++) {
        const real a = now->lambda_real[k], b = now->lambda_imag[k];
        const real g_real = s->g[k], g_imag = s->g[CELL_UNITS + k];
        const real real_part = a * h_real[k] - b * h_imag[k];
        const real imag_part = a * h_imag[k] + b * h_real[k];
        real own_nu = -now->nu[k] * (g_real * real_part + g_imag * imag_part);
        own_nu += now->nu[k] * now->r[k] * now->r[k] / now->gamma[k]
                  * (g_real * p->u_real[k] + g_imag * p->u_imag[k]);
        s->nu[k] = own_nu;
        s->theta[k] = now->omega[k] * (g_imag * real_part - g_real * imag_part);
    }
}

/* The peek's own step, and through it (lambda^T g) the whole past. */
static void cell_past_of_peek(const cell_weights *restrict w,
                                 const cell_memory *restrict m,
                                 const cell_pass *restrict now, const cell_pass *restrict p,
                                 cell_slope *restrict s)
{
    (void)w;
    cell_own(now, m->h_real, m->h_imag, p, s);
    for (int k = 0; k < CELL_UNITS; k++) {
        const real a = now->lambda_real[k], b = now->lambda_imag[k];
        const real g_real = s->g[k], g_imag = s->g[CELL_UNITS + k];
        const real t_real = a * g_real + b * g_imag, t_imag = a * g_imag - b * g_real;
        s->nu[k] += t_real * m->nu_real[k] + t_imag * m->nu_imag[k];
        s->theta[k] += t_real * m->theta_real[k] + t_imag * m->theta_imag[k];
    }
}

/* ---- the body of a network: encoder, recurrent layers, head ---- */

static void encode(const body_weights *w, const real *seen, body_pass *p)
{
    copy(LEARNER_INPUTS, p->seen, seen);
    dense(ENCODER_WIDTH, ENCODER_INPUTS, w->encoder_weight, w->encoder_bias, p->seen, p->encoder_normed);
    p->encoder_factor = layer_norm(ENCODER_WIDTH, p->encoder_normed);
    leaky_relu(ENCODER_WIDTH, p->encoder_normed, p->encoder);
}

static void read(const body_weights *w, body_pass *p)
{
    dense(HEAD_WIDTH, HEAD_INPUTS, w->head_weight, w->head_bias, p->cell.features, p->head_normed);
    p->head_factor = layer_norm(HEAD_WIDTH, p->head_normed);
    leaky_relu(HEAD_WIDTH, p->head_normed, p->head);
}

/* Take in an observation; from a blank memory, if the episode is fresh. */
static void advance(const body_weights *w, body_memory *m, const real *seen, int fresh,
                    body_pass *p)
{
    encode(w, seen, p);
    cell_advance(&w->cell, &m->cell, p->encoder, fresh, &p->cell);
    read(w, p);
}

/* What advance computed, once more: after load, or where learn is called twice. */
static void recall(const body_weights *w, const body_memory *m, const real *seen, body_pass *p)
{
    encode(w, seen, p);
    cell_recall(&w->cell, &m->cell, p->encoder, &p->cell);
    read(w, p);
}

/* What an observation would become if memory took it in. */
static void peek(const body_weights *w, const body_memory *m, const body_pass *now,
                 const real *seen, body_pass *p)
{
    encode(w, seen, p);
    cell_peek(&w->cell, &m->cell, &now->cell, p->encoder, &p->cell);
    read(w, p);
}

/* From dL/dfeatures to every layer. Between layers a gradient reaches one step back. */
static void back(const body_weights *w, const body_pass *now, const body_pass *p,
                 const real *g_features, body_slope *s)
{
    real a[LEARNER_WIDEST], b[LEARNER_WIDEST];
    leaky_relu_back(HEAD_WIDTH, p->head_normed, p->head, g_features, s->head);
    layer_norm_back(HEAD_WIDTH, p->head_normed, p->head_factor, s->head);
    dense_back(HEAD_WIDTH, HEAD_INPUTS, w->head_weight, s->head, a);
    cell_back(&w->cell, &now->cell, &p->cell, a, &s->cell, b);
    leaky_relu_back(ENCODER_WIDTH, p->encoder_normed, p->encoder, b, s->encoder);
    layer_norm_back(ENCODER_WIDTH, p->encoder_normed, p->encoder_factor, s->encoder);
}

/* What comes on the way back of parameters that are vectors. */
static void past(const body_weights *w, const body_memory *m, const body_pass *p, body_slope *s)
{
    cell_past(&w->cell, &m->cell, &p->cell, &s->cell);
}

/* The same for a peek; now is what the memory was read as before it. */
static void past_of_peek(const body_weights *w, const body_memory *m, const body_pass *now,
                         const body_pass *p, body_slope *s)
{
    cell_past_of_peek(&w->cell, &m->cell, &now->cell, &p->cell, &s->cell);
}

/* The sum of the gradients of all vectors, without their signs. */
static real size(const body_slope *s)
{
    return size_of(ENCODER_WIDTH, s->encoder)
           + size_of(HEAD_WIDTH, s->head)
           + cell_size(&s->cell);
}

/* ---- the step-size rule ---- */

#define LARGEST_SQUARE REAL(1e+36) /* a second moment stays finite */
#define LARGEST_GRADIENT REAL(1000000000000000.0) /* a larger one counts as none */


/* What a rule needs to know of this step. */
typedef struct {
    real td_error;
    real decay; /* gamma lambda; or 0, where the trace starts anew */
    real scale; /* the size of the step, where it is known before the trace is */
    real present; /* the weight of this step's gradient, beside the trace */
    real ahead;   /* the weight of the peek's gradient */
    real beta;    /* the weight of the parameters themselves */
} step;

/* z <- gamma lambda z + g, and w <- w + scale (delta z + present g - ahead g'). */
static void values_row(const step *by, int n, real *restrict w, real *restrict z,
                       const real *restrict g, const real *restrict g_next)
{
    const real decay = by->decay;
    const real td_error = by->td_error, present = by->present, ahead = by->ahead;
    const real scale = by->scale;
    for (int i = 0; i < n; i++) {
        z[i] = decay * z[i] + g[i];
        const real d = td_error * z[i] + present * g[i] - ahead * g_next[i];
        w[i] += scale * d;
    }
}

/* A dense layer, whose gradient is dL/dy times x: Delta w. */
static void dense_values(const step *by, int rows, int columns,
                 real *restrict w, real *restrict w_bias,
                 real *restrict z, real *restrict z_bias,
                 const real *restrict x, const real *restrict g,
                 const real *restrict x_next, const real *restrict g_next)
{
    real row[LEARNER_WIDEST];
    real row_next[LEARNER_WIDEST];
    for (int i = 0; i < rows; i++) {
        for (int j = 0; j < columns; j++)
            row[j] = g[i] * x[j];
        for (int j = 0; j < columns; j++)
            row_next[j] = g_next[i] * x_next[j];
        values_row(by, columns, w + i * columns, z + i * columns, row, row_next);
    }
    values_row(by, rows, w_bias, z_bias, g, g_next);
}

/* dL/dpsi = dL/dh S, through all of time: Delta w. */
static void cell_values(const step *by, cell_weights *restrict w, cell_weights *restrict z,
                            const cell_memory *restrict m, const cell_pass *restrict p,
                            const real *restrict x, const cell_slope *restrict s,
                            const cell_pass *restrict p_next, const real *restrict x_next,
                            const cell_slope *restrict s_next)
{
    real d_real[CELL_INPUTS], d_imag[CELL_INPUTS];
    real n_real[CELL_INPUTS], n_imag[CELL_INPUTS];
    (void)p_next;
    (void)x;
    for (int k = 0; k < CELL_UNITS; k++) {
        const real g_real = s->g[k], g_imag = s->g[CELL_UNITS + k];
        const real *E_real = m->E_real + k * CELL_INPUTS, *E_imag = m->E_imag + k * CELL_INPUTS;
        /* E turns with the unit; turning g back instead costs one number per unit. */
        const real back_real = m->turn_real[k] * g_real + m->turn_imag[k] * g_imag;
        const real back_imag = m->turn_real[k] * g_imag - m->turn_imag[k] * g_real;
        for (int j = 0; j < CELL_INPUTS; j++) {
            d_real[j] = back_real * E_real[j] + back_imag * E_imag[j];
            d_imag[j] = back_imag * E_real[j] - back_real * E_imag[j];
        }

        /* The peek's own step, and through it (lambda^T g) the whole past. */
        const real y_real = s_next->g[k], y_imag = s_next->g[CELL_UNITS + k];
        const real own_real = p->gamma[k] * y_real, own_imag = p->gamma[k] * y_imag;
        const real a = p->lambda_real[k], b = p->lambda_imag[k];
        const real t_real = a * y_real + b * y_imag, t_imag = a * y_imag - b * y_real;
        const real turned_real = m->turn_real[k] * t_real + m->turn_imag[k] * t_imag;
        const real turned_imag = m->turn_real[k] * t_imag - m->turn_imag[k] * t_real;
        for (int j = 0; j < CELL_INPUTS; j++) {
            n_real[j] = own_real * x_next[j];
            n_imag[j] = own_imag * x_next[j];
            n_real[j] += turned_real * E_real[j] + turned_imag * E_imag[j];
            n_imag[j] += turned_imag * E_real[j] - turned_real * E_imag[j];
        }
        values_row(by, CELL_INPUTS, w->B_real + k * CELL_INPUTS, z->B_real + k * CELL_INPUTS, d_real, n_real);
        values_row(by, CELL_INPUTS, w->B_imag + k * CELL_INPUTS, z->B_imag + k * CELL_INPUTS, d_imag, n_imag);
    }
    values_row(by, CELL_UNITS, w->nu_log, z->nu_log, s->nu, s_next->nu);
    values_row(by, CELL_UNITS, w->theta_log, z->theta_log, s->theta, s_next->theta);
}

/* Every row of a network but for its output layer: Delta w. */
static void body_values(const step *by, body_weights *w, body_weights *z, const body_memory *m,
                         const body_pass *p, const body_slope *s,
                         const body_pass *p_next, const body_slope *s_next)
{
    dense_values(by, ENCODER_WIDTH, ENCODER_INPUTS, w->encoder_weight, w->encoder_bias, z->encoder_weight, z->encoder_bias, p->seen, s->encoder, p_next->seen, s_next->encoder);
    cell_values(by, &w->cell, &z->cell, &m->cell, &p->cell, p->encoder, &s->cell, &p_next->cell, p_next->encoder, &s_next->cell);
    dense_values(by, HEAD_WIDTH, HEAD_INPUTS, w->head_weight, w->head_bias, z->head_weight, z->head_bias, p->cell.features, s->head, p_next->cell.features, s_next->head);
}

/* z <- gamma lambda z + g, and w <- w + scale (delta z + present g - beta w). */
static void errors_row(const step *by, int n, real *restrict w, real *restrict z,
                       const real *restrict g)
{
    const real decay = by->decay;
    const real td_error = by->td_error, present = by->present, beta = by->beta;
    const real scale = by->scale;
    for (int i = 0; i < n; i++) {
        z[i] = decay * z[i] + g[i];
        const real d = td_error * z[i] + present * g[i] - beta * w[i];
        w[i] += scale * d;
    }
}

/* A dense layer, whose gradient is dL/dy times x: Delta theta. */
static void dense_errors(const step *by, int rows, int columns,
                 real *restrict w, real *restrict w_bias,
                 real *restrict z, real *restrict z_bias,
                 const real *restrict x, const real *restrict g)
{
    real row[LEARNER_WIDEST];
    for (int i = 0; i < rows; i++) {
        for (int j = 0; j < columns; j++)
            row[j] = g[i] * x[j];
        errors_row(by, columns, w + i * columns, z + i * columns, row);
    }
    errors_row(by, rows, w_bias, z_bias, g);
}

/* dL/dpsi = dL/dh S, through all of time: Delta theta. */
static void cell_errors(const step *by, cell_weights *restrict w, cell_weights *restrict z,
                            const cell_memory *restrict m, const cell_pass *restrict p,
                            const real *restrict x, const cell_slope *restrict s)
{
    real d_real[CELL_INPUTS], d_imag[CELL_INPUTS];
    (void)x;
    (void)p;
    for (int k = 0; k < CELL_UNITS; k++) {
        const real g_real = s->g[k], g_imag = s->g[CELL_UNITS + k];
        const real *E_real = m->E_real + k * CELL_INPUTS, *E_imag = m->E_imag + k * CELL_INPUTS;
        /* E turns with the unit; turning g back instead costs one number per unit. */
        const real back_real = m->turn_real[k] * g_real + m->turn_imag[k] * g_imag;
        const real back_imag = m->turn_real[k] * g_imag - m->turn_imag[k] * g_real;
        for (int j = 0; j < CELL_INPUTS; j++) {
            d_real[j] = back_real * E_real[j] + back_imag * E_imag[j];
            d_imag[j] = back_imag * E_real[j] - back_real * E_imag[j];
        }
        errors_row(by, CELL_INPUTS, w->B_real + k * CELL_INPUTS, z->B_real + k * CELL_INPUTS, d_real);
        errors_row(by, CELL_INPUTS, w->B_imag + k * CELL_INPUTS, z->B_imag + k * CELL_INPUTS, d_imag);
    }
    errors_row(by, CELL_UNITS, w->nu_log, z->nu_log, s->nu);
    errors_row(by, CELL_UNITS, w->theta_log, z->theta_log, s->theta);
}

/* Every row of a network but for its output layer: Delta theta. */
static void body_errors(const step *by, body_weights *w, body_weights *z, const body_memory *m,
                         const body_pass *p, const body_slope *s)
{
    dense_errors(by, ENCODER_WIDTH, ENCODER_INPUTS, w->encoder_weight, w->encoder_bias, z->encoder_weight, z->encoder_bias, p->seen, s->encoder);
    cell_errors(by, &w->cell, &z->cell, &m->cell, &p->cell, p->encoder, &s->cell);
    dense_errors(by, HEAD_WIDTH, HEAD_INPUTS, w->head_weight, w->head_bias, z->head_weight, z->head_bias, p->cell.features, s->head);
}

enum { NORMALISED = 3 }; /* inputs that have statistics */
#define INPUT_BOUND REAL(100.0) /* the largest normalised value */

/* ---- running statistics (Elsayed et al., 2024) ---- */

enum { WORD = 1073741824 }; /* a counter has two words, the lower one from 0 to WORD - 1 */

/* Mean and (population) variance of the samples so far. Each has a second word: what it is more
   than the first, too little for that to hold. */
typedef struct {
    real mean, mean_low, variance, variance_low;
} running;

static real as_real(int32_t high, int32_t low)
{
    return (real)high * (real)WORD + (real)low;
}

static void one_more_sample(int32_t *high, int32_t *low)
{
    *low += 1;
    if (*low >= WORD) {
        *low = 0;
        *high = one_more(*high);
    }
}

/* A number in two words, and x; what the sum rounds away goes into the second word. */
static void add(real *high, real *low, real x)
{
    const real more = *low + x, total = *high + more;
    *low = more - (total - *high);
    *high = total;
}

/* The largest distance from the mean that a sample counts for, after n of them. */
static real loud(const running *so_far, real n)
{
    if (n < 1)
        return LARGEST;
    const real guess = (1 + so_far->mean * so_far->mean) / n;
    const real variance = so_far->variance > 0 ? so_far->variance : 0;
    return clip(INPUT_BOUND * MATH(sqrt)(variance + guess), 1, LARGEST);
}

/* The n-th sample, of Welford's recursion. */
static void update(running *so_far, real x, real before_it, real n)
{
    const real most = loud(so_far, before_it);
    const real weight = 1 / n;
    const real before = clip((x - so_far->mean) - so_far->mean_low, -most, most);
    const real moved = before * weight;
    const real change = (before * (before - moved) - so_far->variance) * weight;
    add(&so_far->mean, &so_far->mean_low, moved);
    add(&so_far->variance, &so_far->variance_low, change);
}

/* The sample standard deviation; 1 until there are two samples. */
static real deviation(real variance, real n)
{
    const real positive = variance > 0 ? variance : 0;
    return MATH(sqrt)((n < 2 ? 1 : positive * n / (n - 1)) + REAL(1e-8));
}

static real bounded(real x)
{
    return clip(x, -INPUT_BOUND, INPUT_BOUND);
}

/* Inputs in units of what was seen so far, themselves included; kept in the statistics or not.
   They are unchanged until there are two. */
static void normalise(learner *self, int kept, real *seen)
{
    int32_t high = self->observations_high, low = self->observations_low;
    const real before = as_real(high, low);
    one_more_sample(&high, &low);
    const real n = as_real(high, low);
    for (int i = 0; i < NORMALISED; i++) {
        const real x = seen[i];
        running now = {self->observations_mean[i], self->observations_mean_low[i],
                       self->observations_variance[i], self->observations_variance_low[i]};
        update(&now, x, before, n);
        seen[i] = bounded((x - (n < 2 ? 0 : now.mean)) / deviation(now.variance, n));
        if (kept) {
            self->observations_mean[i] = now.mean;
            self->observations_mean_low[i] = now.mean_low;
            self->observations_variance[i] = now.variance;
            self->observations_variance_low[i] = now.variance_low;
        }
    }
    if (kept) {
        self->observations_high = high;
        self->observations_low = low;
    }
}

/* The discounted return of this episode, and its statistics. */
typedef struct {
    real discounted_return;
    running returns;
    int32_t high, low;
} reward_scale;

/* The reward over the deviation of the discounted return, and the scale that has counted it. */
static real scale_reward(const learner *self, real reward, int done, reward_scale *after)
{
    const running before = {self->return_mean, self->return_mean_low, self->return_variance,
                            self->return_variance_low};
    const real samples = as_real(self->return_high, self->return_low);
    const real most = loud(&before, samples), x = clip(reward, -LARGEST, LARGEST);
    const real so_far = DISCOUNT * self->discounted_return + clip(x, -most, most);
    after->returns = before;
    after->high = self->return_high;
    after->low = self->return_low;
    one_more_sample(&after->high, &after->low);
    const real n = as_real(after->high, after->low);
    update(&after->returns, so_far, samples, n);
    after->discounted_return = done ? 0 : so_far;
    return bounded(x / deviation(after->returns.variance, n));
}

static void keep_reward_scale(learner *self, const reward_scale *scale)
{
    self->discounted_return = scale->discounted_return;
    self->return_mean = scale->returns.mean;
    self->return_mean_low = scale->returns.mean_low;
    self->return_variance = scale->returns.variance;
    self->return_variance_low = scale->returns.variance_low;
    self->return_high = scale->high;
    self->return_low = scale->low;
}

/* ---- what the networks take in ---- */

/* An observation as the networks see it; kept in the
   statistics or not. */
static void observe(learner *self, const real *observation, int kept, real *seen)
{
    copy(LEARNER_OBSERVATIONS, seen, observation);
    for (int i = 0; i < NORMALISED; i++)
        seen[i] = clip(seen[i], -LARGEST, LARGEST);
    normalise(self, kept, seen);
}

/* ---- epsilon-greedy actions ---- */

/* The share of random actions, which falls in a straight line. */
static real epsilon(const learner *self, int32_t step)
{
    (void)self;
    const int32_t passed = step < EPSILON_FRAMES ? step : EPSILON_FRAMES;
    const real left = 1 - (real)passed / (real)EPSILON_FRAMES;
    return (EPSILON_START - EPSILON_END) * left + EPSILON_END;
}

static int largest(const real *values)
{
    int best = 0;
    for (int a = 1; a < LEARNER_ACTIONS; a++)
        best = values[a] > values[best] ? a : best;
    return best;
}

/* An action, and whether none has a larger value. */
static int epsilon_greedy(const learner *self, const uint32_t key[2], int32_t *action)
{
    const int best = largest(self->values);
    const int random = (int)(uniform(key, 1) * (real)LEARNER_ACTIONS);
    *action = uniform(key, 0) < epsilon(self, self->step) ? random : best;
    return self->values[*action] >= self->values[best];
}

/* ---- QRC(lambda): act and learn ---- */

int learner_act(learner *self, const learner_real *observation)
{
    uint32_t key[2];
    real seen[LEARNER_INPUTS];
    if (!all_finite(LEARNER_OBSERVATIONS, observation))
        return LEARNER_NOT_FINITE;
    split(self->key, key);
    observe(self, observation, 1, seen);
    copy(LEARNER_INPUTS, self->observation, seen);
    advance(&self->q.w.body, &self->q.memory, seen, self->fresh, &self->q_pass);
    advance(&self->h.w.body, &self->h.memory, seen, self->fresh, &self->h_pass);
    dense(LEARNER_ACTIONS, FEATURES, self->q.w.out_weight, self->q.w.out_bias,
          self->q_pass.head, self->values);
    self->greedy = epsilon_greedy(self, key, &self->action);
    self->fresh = 0;
    self->acted = 1;
    self->ready = 1;
    return self->action;
}

/* The max of the next values; its gradient is shared by those that are equal. */
static real bootstrap(const real *values, real *g)
{
    const real most = values[largest(values)];
    int equal = 0;
    for (int a = 0; a < LEARNER_ACTIONS; a++)
        equal += values[a] == most;
    for (int a = 0; a < LEARNER_ACTIONS; a++)
        g[a] = values[a] == most ? 1 / (real)equal : 0;
    return most;
}

int learner_learn(learner *self, learner_real reward, const learner_real *next, int terminated,
                  int truncated)
{
    const int done = terminated || truncated;
    real seen[LEARNER_INPUTS], chosen[LEARNER_ACTIONS], g_next[LEARNER_ACTIONS];
    real values_next[LEARNER_ACTIONS], g_features[FEATURES];
    reward_scale scale;
    body_pass ahead;
    body_slope q_slope, h_slope, slope_next;
    if (!self->acted)
        return LEARNER_NO_ACTION;
    if (!isfinite(reward) || !all_finite(LEARNER_OBSERVATIONS, next))
        return LEARNER_NOT_FINITE;
    if (!self->ready) {
        recall(&self->q.w.body, &self->q.memory, self->observation, &self->q_pass);
        recall(&self->h.w.body, &self->h.memory, self->observation, &self->h_pass);
        dense(LEARNER_ACTIONS, FEATURES, self->q.w.out_weight, self->q.w.out_bias,
              self->q_pass.head, self->values);
    }
    reward = scale_reward(self, reward, done, &scale);
    observe(self, next, 0, seen);

    /* delta = r + gamma max q(o', a') - q(o, a), where q(o', .) is a peek */
    peek(&self->q.w.body, &self->q.memory, &self->q_pass, seen, &ahead);
    dense(LEARNER_ACTIONS, FEATURES, self->q.w.out_weight, self->q.w.out_bias,
          ahead.head, values_next);
    const real discount = terminated ? 0 : DISCOUNT;
    const real q_next = bootstrap(values_next, g_next);
    const real q = self->values[self->action];
    const real *h_row = self->h.w.out_weight + self->action * FEATURES;
    const real h = self->h.w.out_bias[self->action] + dot(FEATURES, h_row, self->h_pass.head);
    step by = {0};
    by.td_error = reward + discount * q_next - q;
    by.decay = self->cut ? 0 : TRACE_DECAY;

    /* grad q, grad h, and the gradient of the peek */
    for (int a = 0; a < LEARNER_ACTIONS; a++)
        chosen[a] = a == self->action;
    back(&self->q.w.body, &self->q_pass, &self->q_pass,
         self->q.w.out_weight + self->action * FEATURES, &q_slope);
    back(&self->h.w.body, &self->h_pass, &self->h_pass, h_row, &h_slope);
    dense_back(LEARNER_ACTIONS, FEATURES, self->q.w.out_weight, g_next, g_features);
    back(&self->q.w.body, &self->q_pass, &ahead, g_features, &slope_next);
    past(&self->q.w.body, &self->q.memory, &self->q_pass, &q_slope);
    past(&self->h.w.body, &self->h.memory, &self->h_pass, &h_slope);
    past_of_peek(&self->q.w.body, &self->q.memory, &self->q_pass, &ahead, &slope_next);

    self->value = q;
    self->fresh = done;
    self->acted = 0;
    self->ready = 0;
    const real numbers[3] = {by.td_error, q, h};
    const real vectors = size(&q_slope) + size(&h_slope) + size(&slope_next);
    const real ends = size_of(LEARNER_ACTIONS, chosen) * 2 + size_of(LEARNER_ACTIONS, g_next);
    if (!(size_of(3, numbers) + vectors + ends < REASON)) { /* or if it is NaN */
        self->td_error = NAN; /* no step, and all else as in learner_skip */
        self->epsilon = epsilon(self, self->step);
        self->cut = self->cut || done || !self->greedy;
        return LEARNER_REFUSED;
    }
    self->trace_of_h = by.decay * self->trace_of_h + h;

    /* Delta w = delta z_w - h grad q - z_h grad delta */
    by.present = self->trace_of_h - h;
    by.ahead = self->trace_of_h * discount;
    by.scale = REAL(0.001);
    body_values(&by, &self->q.w.body, &self->q.z.body, &self->q.memory, &self->q_pass, &q_slope,
                &ahead, &slope_next);
    dense_values(&by, LEARNER_ACTIONS, FEATURES, self->q.w.out_weight, self->q.w.out_bias,
                 self->q.z.out_weight, self->q.z.out_bias, self->q_pass.head, chosen,
                 ahead.head, g_next);

    /* Delta theta = delta z_theta - h grad h - beta theta */
    by.present = -h;
    by.beta = REGULARISATION;
    by.scale = REAL(0.0001);
    body_errors(&by, &self->h.w.body, &self->h.z.body, &self->h.memory, &self->h_pass, &h_slope);
    dense_errors(&by, LEARNER_ACTIONS, FEATURES, self->h.w.out_weight, self->h.w.out_bias,
                 self->h.z.out_weight, self->h.z.out_bias, self->h_pass.head, chosen);

    self->td_error = by.td_error;
    self->cut = done || !self->greedy;
    self->step = one_more(self->step);
    self->epsilon = epsilon(self, self->step);
    keep_reward_scale(self, &scale);
    return LEARNER_OK;
}

/* ---- bytes ---- */

enum { HEADER = 16, CHECKSUM = 4 };

/* CRC-32, four bits at a time. */
static uint32_t checksum(size_t length, const unsigned char *bytes)
{
    static const uint32_t table[16] = {
        0x00000000, 0x1DB71064, 0x3B6E20C8, 0x26D930AC, 0x76DC4190, 0x6B6B51F4,
        0x4DB26158, 0x5005713C, 0xEDB88320, 0xF00F9344, 0xD6D6A3E8, 0xCB61B38C,
        0x9B64C2B0, 0x86D3D2D4, 0xA00AE278, 0xBDBDF21C};
    uint32_t crc = 0xFFFFFFFFu;
    for (size_t i = 0; i < length; i++) {
        crc = table[(crc ^ bytes[i]) & 15u] ^ (crc >> 4);
        crc = table[(crc ^ (uint32_t)(bytes[i] >> 4)) & 15u] ^ (crc >> 4);
    }
    return crc ^ 0xFFFFFFFFu;
}

/* Little-endian, whatever the machine. */
static void put(unsigned char *to, uint64_t value, int size)
{
    for (int i = 0; i < size; i++)
        to[i] = (unsigned char)(value >> (8 * i));
}

static uint64_t get(const unsigned char *from, int size)
{
    uint64_t value = 0;
    for (int i = 0; i < size; i++)
        value |= (uint64_t)from[i] << (8 * i);
    return value;
}

static real get_real(const unsigned char *from)
{
    const bits_of_real bits = (bits_of_real)get(from, sizeof(real));
    real value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void put_header(unsigned char *to)
{
    memcpy(to, "RLXC", 4);
    put(to + 4, LEARNER_VERSION, 4);
    put(to + 8, LEARNER_KIND, 4);
    put(to + 12, sizeof(real), 4);
}

/* ---- the state as bytes ---- */

/* Real numbers come first in the struct, then integers, with nothing between them. */
typedef char reals_are_first
    [offsetof(learner, observations_high) == LEARNER_REALS * sizeof(real) ? 1 : -1];
typedef char integers_follow
    [offsetof(learner, key[1]) - offsetof(learner, observations_high)
     == (LEARNER_INTEGERS - 1) * 4 ? 1 : -1];

size_t learner_bytes(void)
{
    return HEADER + LEARNER_REALS * sizeof(real) + LEARNER_INTEGERS * 4 + CHECKSUM;
}

size_t learner_size(void)
{
    return sizeof(learner);
}

int learner_save(const learner *self, unsigned char *bytes, size_t length)
{
    const unsigned char *from = (const unsigned char *)self;
    unsigned char *to = bytes + HEADER;
    if (length < learner_bytes())
        return LEARNER_TOO_SHORT;
    put_header(bytes);
    for (size_t i = 0; i < LEARNER_REALS; i++, from += sizeof(real), to += sizeof(real)) {
        bits_of_real bits;
        memcpy(&bits, from, sizeof bits);
        put(to, bits, sizeof bits);
    }
    for (size_t i = 0; i < LEARNER_INTEGERS; i++, from += 4, to += 4) {
        uint32_t bits;
        memcpy(&bits, from, 4);
        put(to, bits, 4);
    }
    put(to, checksum((size_t)(to - bytes), bytes), CHECKSUM);
    return LEARNER_OK;
}

/* Whether an integer is one that the learner could have. */
static int in_range(const unsigned char *integers)
{
    static const struct {
        int32_t at, least, most;
    } ranges[] = {
        {0, 0, INT32_MAX}, /* observations_high */
        {1, 0, 1073741823}, /* observations_low */
        {2, 0, INT32_MAX}, /* return_high */
        {3, 0, 1073741823}, /* return_low */
        {4, 0, 1}, /* action */
        {5, 0, 1}, /* greedy */
        {6, 0, 1}, /* cut */
        {7, 0, 1}, /* fresh */
        {8, 0, 1}, /* acted */
        {9, 0, INT32_MAX}, /* step */
    };
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
        const uint32_t bits = (uint32_t)get(integers + 4 * ranges[i].at, 4);
        int32_t value;
        memcpy(&value, &bits, 4);
        if (value < ranges[i].least || value > ranges[i].most)
            return 0;
    }
    return 1;
}

int learner_load(learner *self, const unsigned char *bytes, size_t length)
{
    unsigned char header[HEADER], *to = (unsigned char *)self;
    const unsigned char *from = bytes + HEADER;
    const size_t reals = LEARNER_REALS * sizeof(real);
    if (length < learner_bytes())
        return LEARNER_TOO_SHORT;
    put_header(header);
    if (memcmp(header, bytes, HEADER) != 0)
        return LEARNER_FOREIGN;
    const size_t content = learner_bytes() - CHECKSUM;
    if (get(bytes + content, CHECKSUM) != checksum(content, bytes) || !in_range(from + reals))
        return LEARNER_DAMAGED;
    for (size_t i = 0; i < LEARNER_REALS; i++)
        if (!isfinite(get_real(from + i * sizeof(real))))
            return LEARNER_NOT_FINITE;
    for (size_t i = 0; i < LEARNER_REALS; i++, from += sizeof(real), to += sizeof(real)) {
        const real value = get_real(from);
        memcpy(to, &value, sizeof value);
    }
    for (size_t i = 0; i < LEARNER_INTEGERS; i++, from += 4, to += 4) {
        const uint32_t bits = (uint32_t)get(from, 4);
        memcpy(to, &bits, 4);
    }
    self->ready = 0;
    return LEARNER_OK;
}

int learner_skip(learner *self, int done)
{
    self->acted = 0;
    if (done) {
        self->fresh = 1;
        self->cut = 1;
    }
    return LEARNER_OK;
}

void learner_metrics(const learner *self, learner_real metrics[3])
{
    metrics[0] = self->td_error;
    metrics[1] = self->value;
    metrics[2] = self->epsilon;
}

/* ---- the learner as it was exported ---- */

static const real q_w_body_encoder_weight[48] = {
    9.1027796e-02f, -3.2262635e-01f, -4.5718822e-01f, -1.8395725e-01f, -3.9572757e-01f, 1.3021857e-01f, 3.9263138e-01f, 2.2039264e-01f,
    -3.133839e-01f, 4.302419e-01f, -4.412404e-03f, 2.004689e-01f, -1.3511096e-01f, -2.2500259e-01f, 1.2584594e-01f, 3.1508967e-01f,
    -9.3757e-02f, -3.4754312e-01f, 3.8722873e-01f, 2.360722e-01f, -3.804801e-01f, 3.6416075e-01f, 2.42408e-01f, -5.569381e-01f,
    -4.9619466e-01f, 2.3926364e-02f, 5.1066273e-01f, -3.616105e-01f, -7.127708e-02f, -8.7422855e-02f, 1.856761e-01f, -6.8246005e-03f,
    -5.575229e-01f, 3.4211126e-01f, 4.541435e-01f, 3.7122953e-01f, 5.2951515e-01f, -1.7757024e-01f, 1.6044164e-01f, -2.1861736e-03f,
    5.2105206e-01f, 5.6058395e-01f, 6.0458947e-02f, 1.8027233e-01f, -3.589603e-01f, -1.0882291e-01f, -1.9315949e-01f, 1.8966082e-01f};
static const real q_w_body_cell_nu_log[32] = {
    -4.295681e-01f, -5.050286e-01f, -1.6761122e+00f, -1.5606865e+00f, -1.1931461e+00f, -1.738028e+00f, -3.442915e+00f, -1.7071111e+00f,
    -1.2664018e+00f, -1.9820011e+00f, -1.1510305e+00f, -5.4717267e-01f, -2.1233757e+00f, -4.414442e+00f, -2.7687452e+00f, -1.2559656e+00f,
    -5.9569126e-01f, -8.594389e-01f, -9.652543e-01f, -2.789194e+00f, -2.8416655e+00f, -1.279011e+00f, -1.0219455e+00f, -1.910984e+00f,
    -2.5064225e+00f, -2.953768e+00f, -6.4342856e-01f, -2.127512e+00f, -2.3370295e+00f, -9.454324e-01f, -1.5881332e+00f, -2.7814057e+00f};
static const real q_w_body_cell_theta_log[32] = {
    6.777677e-01f, 2.959412e-01f, 8.481583e-01f, -5.8957014e-02f, 1.1552558e+00f, -1.2234726e+00f, 1.2017938e+00f, 4.447708e-01f,
    -1.2444475e+00f, 1.6188043e+00f, 1.4373144e+00f, 1.4858962e+00f, 1.7324891e+00f, 1.0688431e+00f, 1.4103534e+00f, -3.727618e-01f,
    9.0634304e-01f, 1.533141e+00f, 2.4684832e-01f, -1.8425562e+00f, 8.7652767e-01f, 4.240445e-01f, 1.4689976e+00f, 5.6560844e-01f,
    8.743423e-01f, 1.7492725e+00f, 1.8211269e+00f, 2.407574e-01f, -1.5837524e+00f, 1.7423954e+00f, 9.9717236e-01f, 1.6489066e-01f};
static const real q_w_body_cell_B_real[512] = {
    5.539744e-01f, 5.015012e-02f, 1.3209699e-01f, 2.1813032e-01f, 1.5205166e-01f, 2.9566485e-01f, 1.6096631e-02f, 2.728865e-01f,
    3.0934915e-01f, 5.1993933e-02f, -3.102824e-01f, 1.4125076e-01f, -5.8451824e-02f, 3.6817026e-01f, 2.620731e-01f, -2.868616e-01f,
    -4.3295556e-01f, 3.1953225e-01f, 3.9262167e-01f, 3.7313916e-02f, -3.1738675e-01f, 4.5897607e-02f, -2.6148856e-01f, -7.4112095e-02f,
    7.802688e-02f, 2.7841926e-01f, -2.7398995e-01f, -4.0580422e-01f, 7.576791e-02f, 2.4364702e-01f, -3.1395935e-02f, 3.646743e-01f,
    2.3592165e-02f, 1.8034679e-01f, -3.932368e-01f, 1.4333148e-01f, 5.6743704e-02f, -1.487574e-01f, -6.199506e-01f, 7.006114e-02f,
    -3.3127964e-01f, -1.4592203e-01f, 4.3458027e-01f, -4.643283e-02f, 2.807901e-01f, 6.937597e-02f, 9.408305e-02f, -3.9885547e-02f,
    -1.6321735e-01f, 2.339955e-02f, 1.7800531e-01f, 7.018075e-01f, -2.997192e-01f, 1.3255899e-01f, -1.0002183e-01f, -2.1101423e-01f,
    -3.377521e-01f, 1.777942e-01f, 1.5279564e-01f, 1.5796481e-01f, 9.045085e-02f, -3.5635582e-01f, 2.635802e-01f, 5.8273506e-01f,
    1.2771255e-01f, 2.026661e-01f, 9.048842e-02f, 4.9850166e-01f, 2.5247753e-01f, 1.015776e-02f, -3.318052e-01f, 1.16761215e-01f,
    -2.7654633e-01f, -3.885789e-01f, 6.216834e-01f, -1.0621509e-02f, -4.1504425e-01f, -2.4432532e-01f, 2.2761214e-01f, -4.189714e-01f,
    1.0986687e-01f, -1.6299184e-01f, 1.0887186e-01f, -2.6195452e-01f, 1.8317166e-01f, -2.8138274e-01f, -4.7673765e-01f, -6.796197e-02f,
    2.7962136e-01f, -2.6777726e-01f, 3.4726372e-01f, -1.8189923e-01f, 3.3842215e-01f, -5.9438594e-02f, 3.1723835e-02f, 4.3392077e-01f,
    -1.9917001e-01f, 2.511518e-02f, 2.0140063e-02f, 4.233483e-01f, 1.8237923e-01f, -7.701407e-02f, -2.6359144e-01f, -2.265281e-01f,
    -1.465898e-01f, 3.1460482e-01f, 3.5317978e-01f, -2.8498524e-01f, 3.6875162e-01f, 1.2498909e-02f, 4.0336657e-02f, -1.3943729e-01f,
    3.375292e-01f, 2.4812397e-02f, 8.485428e-02f, 9.554049e-02f, 3.8600028e-01f, -1.6168836e-01f, -4.150878e-02f, -3.2725754e-01f,
    1.9669537e-01f, -8.298069e-02f, 1.3310432e-01f, -1.8068058e-02f, 1.1356328e-01f, -2.9216352e-01f, 2.9542008e-02f, -3.8962436e-01f,
    2.2652927e-01f, 1.3095082e-01f, 3.4131336e-01f, 2.0571783e-02f, 8.848501e-02f, -1.7499876e-01f, 8.664186e-02f, 2.3403358e-01f,
    -2.3893933e-01f, 8.1320666e-02f, -1.7003478e-01f, -4.1173244e-01f, 3.8535096e-02f, 2.2647747e-01f, -4.8232502e-01f, -6.882563e-01f,
    1.8236803e-01f, 2.9766798e-02f, 3.5063976e-01f, -2.0564508e-01f, 5.6925064e-01f, 3.4468565e-02f, 1.6134296e-01f, -2.7814466e-01f,
    4.2142284e-01f, -4.6493077e-01f, 3.695806e-01f, 3.7931353e-01f, 7.877822e-02f, 2.1010088e-02f, 2.5010068e-02f, -5.160685e-02f,
    -1.8630433e-01f, 1.8510887e-01f, -1.1774742e-01f, -3.7052536e-03f, -1.8269885e-01f, -2.1516228e-01f, -1.3477872e-01f, 1.13261394e-01f,
    -1.2987198e-01f, 1.8969221e-01f, -1.3197044e-01f, 9.367655e-02f, 2.69414e-01f, -1.2498201e-01f, 1.2852778e-01f, 7.9164885e-02f,
    2.0680326e-01f, 9.074641e-02f, -2.5126237e-01f, -8.924742e-03f, 2.803131e-02f, -8.802002e-02f, -1.4654183e-02f, -2.552505e-01f,
    -4.2612693e-01f, 3.2939938e-01f, -1.9062035e-02f, -3.907392e-02f, 3.378814e-01f, -3.7899192e-02f, 1.2761752e-02f, -1.848648e-01f,
    3.9235315e-01f, -1.9262317e-01f, -3.845979e-01f, -3.2368472e-01f, 2.383258e-01f, 1.667151e-02f, 1.3037509e-01f, -2.5501467e-02f,
    -5.1286913e-02f, -3.947544e-01f, -2.2745915e-01f, -1.4806566e-01f, -1.130782e-01f, -5.454048e-01f, 2.4287349e-01f, 4.0849265e-02f,
    -4.1769335e-01f, -4.6859273e-01f, -6.172317e-02f, -4.5448415e-02f, 8.833924e-02f, -6.414939e-02f, -1.3894256e-02f, -2.4205098e-01f,
    -1.2588982e-01f, -3.2043508e-01f, -1.6133694e-01f, -2.5568947e-01f, -1.2166394e-01f, -1.4639236e-01f, 1.7974174e-02f, -1.1159011e-01f,
    1.5214586e-01f, 2.610447e-01f, 2.0237903e-01f, 6.608068e-02f, -1.1765043e-01f, -7.623628e-02f, -7.0953645e-02f, 3.6633065e-01f,
    -2.0905052e-01f, -2.2432518e-01f, 7.0156395e-02f, -2.304296e-01f, -2.0367078e-01f, 2.124349e-01f, -1.7116323e-01f, -3.7956867e-01f,
    1.110877e-01f, -9.5912874e-02f, 7.697157e-02f, 5.756979e-02f, -3.3540463e-01f, 5.554114e-01f, -3.541697e-01f, -4.4273117e-01f,
    3.0310366e-02f, -2.1821138e-01f, 1.3698444e-01f, -1.4026621e-01f, -1.2294007e-01f, -4.8633805e-01f, -2.282506e-02f, -1.2956311e-01f,
    2.631699e-01f, 1.3612615e-01f, -5.844883e-01f, 2.039136e-01f, 9.8724635e-03f, 1.5214936e-01f, -2.4275272e-01f, -1.5424237e-01f,
    -8.78714e-02f, -2.9815668e-01f, 7.547865e-02f, -2.0557103e-01f, -1.0678702e-01f, 1.0672781e-01f, 4.267912e-01f, -2.0700303e-01f,
    -3.5251787e-01f, -4.2055672e-01f, 9.51262e-02f, 4.1046947e-02f, -4.087993e-01f, 1.3540266e-02f, 3.33504e-02f, 1.2856163e-01f,
    6.8427525e-02f, 3.526442e-01f, -2.3721926e-01f, -5.4727364e-03f, 3.6152986e-01f, 2.9314584e-01f, -3.440112e-01f, -9.7907335e-02f,
    -1.4924484e-01f, 2.535137e-01f, -3.2793996e-01f, 1.742114e-01f, 9.649115e-02f, 4.565732e-02f, -2.6556563e-01f, 5.6574155e-02f,
    2.97289e-01f, 1.7393101e-02f, 7.4467055e-02f, 1.2775151e-01f, 4.7258966e-02f, -1.6638584e-01f, 2.3953299e-01f, -1.5895708e-01f,
    9.0499826e-02f, 4.836755e-01f, -9.016017e-02f, 3.595682e-01f, -1.3772967e-01f, 2.7573067e-01f, 1.8111843e-01f, 2.5771478e-02f,
    -2.051001e-01f, 7.902783e-02f, -4.3137392e-01f, -1.643391e-01f, 3.201015e-01f, -2.9711962e-01f, -2.3562095e-01f, 2.760217e-01f,
    -1.2172634e-01f, -1.21357426e-01f, -1.9681394e-01f, 1.472052e-02f, -6.692671e-02f, -4.5804211e-01f, 2.5784996e-01f, 1.1364925e-01f,
    5.2695587e-02f, -5.898287e-01f, -1.1695732e-01f, 3.614908e-01f, -7.5312406e-02f, 4.5550165e-01f, -2.5181407e-01f, 5.0836075e-02f,
    3.8107656e-02f, -1.8639731e-01f, -2.0881209e-01f, -1.718401e-01f, -4.0042248e-02f, -1.7920727e-01f, 9.158976e-02f, 3.959856e-01f,
    -1.8446687e-01f, -2.4333318e-01f, -1.23940066e-01f, -1.03247605e-01f, -1.0286163e-01f, 1.09149955e-01f, 2.6583996e-01f, 9.343172e-03f,
    -5.317318e-03f, 7.001615e-02f, -4.7281435e-01f, -3.6315313e-01f, 4.1650817e-01f, 3.8250122e-02f, 2.0971777e-01f, -2.2316055e-02f,
    -2.3810978e-01f, 1.2585798e-01f, 2.6052373e-02f, 1.2216409e-02f, 1.3777077e-01f, 9.910216e-02f, 1.4033596e-01f, -1.1997866e-01f,
    -2.4813882e-01f, 2.7160746e-01f, -1.0349661e-01f, 2.654567e-01f, -2.910311e-01f, -3.2957396e-01f, -2.373042e-01f, -1.9892582e-01f,
    6.147519e-01f, -4.4108295e-01f, 7.4907616e-02f, 6.145761e-02f, -1.4834733e-01f, 3.8830826e-01f, 1.325613e-01f, 1.4616822e-01f,
    -7.5958736e-02f, 7.358071e-02f, 2.4021955e-01f, -2.988413e-01f, -2.9301558e-02f, 1.06781e-01f, -6.2634736e-01f, 3.4605888e-01f,
    3.765467e-01f, 3.0358157e-01f, 6.422276e-01f, 3.0533513e-01f, -1.04737245e-01f, 6.857932e-01f, -1.24431424e-01f, -2.3183703e-01f,
    -3.600772e-01f, -7.978732e-02f, 9.529326e-02f, 2.1116482e-01f, -4.3994966e-01f, -7.259979e-02f, -1.4029458e-02f, 7.731912e-02f,
    -3.1816018e-01f, -8.981218e-02f, -6.536541e-02f, -5.1843137e-01f, 2.5181448e-01f, -2.1493334e-01f, 5.9576113e-02f, 1.09113805e-01f,
    -3.4190232e-01f, 2.551672e-01f, 2.901372e-01f, -1.1382237e-01f, -6.1070096e-01f, 4.2635596e-01f, 1.7944422e-01f, -2.8107527e-01f,
    1.6429324e-01f, -4.883754e-02f, 1.1297133e-01f, -1.9001679e-01f, 3.2421757e-02f, -3.5253927e-01f, 1.6976257e-01f, -2.3173302e-01f,
    -2.6591796e-01f, 1.9800766e-01f, 2.7189445e-01f, 1.17625944e-01f, 1.2854962e-01f, -2.346272e-01f, -3.2766396e-01f, -1.643468e-01f,
    -1.8705009e-01f, 2.4908137e-01f, -3.080842e-02f, 3.5150942e-01f, 1.3960372e-01f, 8.235015e-02f, 1.3923936e-01f, 4.413966e-01f,
    1.8960375e-01f, -9.712588e-03f, -3.8901363e-02f, 2.1293373e-01f, -2.5249392e-02f, -2.7450833e-01f, -1.4393568e-01f, -1.0662058e-01f,
    -2.3439221e-01f, 3.0272814e-02f, 4.79002e-01f, -1.2442423e-01f, -4.108411e-01f, 2.1345885e-02f, 7.0872074e-01f, 9.551296e-03f,
    4.6198437e-04f, -6.946639e-02f, -3.290597e-01f, -3.4350917e-01f, -3.8385588e-01f, 3.0574518e-01f, -2.1319759e-01f, -4.2220604e-01f,
    -4.3410778e-02f, 1.2086343e-01f, 6.443211e-02f, -5.315217e-02f, -8.587869e-02f, -1.7663418e-01f, 1.2872502e-01f, 2.5881177e-01f,
    3.402703e-01f, -4.425818e-01f, -2.9173717e-01f, -2.3573035e-01f, 2.718529e-01f, 1.7398235e-01f, -2.931278e-01f, -2.2915435e-01f,
    -1.3569199e-01f, 1.7141171e-01f, -1.6059661e-01f, -2.414693e-02f, 3.7156618e-01f, 5.765647e-01f, 1.0930077e-01f, -4.726684e-02f,
    -2.9719716e-01f, 1.7923619e-01f, 2.7988833e-01f, -2.2271565e-01f, 2.4646053e-01f, 3.0168995e-01f, -7.012155e-02f, 3.4844406e-02f,
    -4.786599e-01f, -1.0608272e-01f, 2.9767904e-01f, 8.245326e-03f, 5.534897e-02f, 1.4241447e-01f, -1.1420623e-01f, 1.7958102e-01f};
static const real q_w_body_cell_B_imag[512] = {
    -6.492938e-02f, 3.62659e-01f, 3.628101e-01f, -4.0470738e-02f, 3.6873543e-01f, -3.5140315e-01f, -3.288232e-01f, 1.8657993e-01f,
    7.3772795e-02f, -2.7531266e-02f, -3.4487966e-01f, 2.0854712e-01f, 2.0958453e-03f, 2.5709745e-01f, -9.775237e-03f, 2.0565677e-01f,
    2.8530726e-01f, -6.6319786e-02f, -3.301621e-01f, -9.6593894e-02f, -7.811525e-02f, -1.6276855e-02f, -2.0759076e-01f, 2.0766677e-01f,
    1.9788211e-02f, 3.8581654e-01f, -1.6818546e-01f, 7.512617e-02f, 4.0362772e-01f, 3.6219004e-01f, -3.304155e-01f, -1.2892239e-01f,
    -1.0526e-01f, 4.639114e-02f, 2.1480174e-01f, -1.2438408e-01f, 6.6230536e-02f, -1.8655907e-01f, 6.1584376e-03f, -2.4097396e-01f,
    2.5171155e-01f, 6.8080497e-01f, -2.3658104e-01f, -3.0059883e-01f, 2.8801024e-01f, 7.987164e-03f, 2.5581044e-01f, -2.4116124e-01f,
    -5.4714218e-02f, -1.4421129e-01f, -1.1940297e-01f, -4.163253e-01f, -4.6703786e-01f, 1.5505426e-01f, 7.756796e-02f, 1.23016e-01f,
    2.3240265e-02f, -8.353319e-02f, -1.8536331e-01f, -4.141895e-02f, -1.2850302e-01f, 1.1981587e-01f, -4.5522866e-01f, -2.428649e-01f,
    1.6331606e-01f, 1.2208135e-01f, 3.569286e-01f, 2.1505612e-01f, -3.624498e-01f, -3.1357676e-01f, -8.788261e-02f, 1.1270743e-02f,
    -1.3360758e-01f, 5.034907e-02f, 3.3699328e-01f, 4.427912e-01f, -2.6568325e-02f, 3.3088207e-01f, -2.9687712e-01f, -1.5507731e-01f,
    -9.7036995e-02f, -2.762672e-02f, -2.544034e-02f, -3.6518887e-01f, 9.505818e-02f, -9.500714e-02f, 9.140684e-02f, -1.9928497e-01f,
    2.1770248e-01f, -1.1657477e-02f, 1.8116213e-01f, 3.4180138e-01f, 1.5529636e-01f, 1.0354083e-01f, -1.0438862e-01f, 1.06733285e-01f,
    -1.1035273e-01f, -2.658522e-01f, 2.510152e-01f, -3.088309e-01f, 4.168698e-01f, -3.8665345e-01f, 3.241618e-02f, -3.093818e-01f,
    -6.0556215e-01f, -1.9104943e-01f, 1.9997934e-01f, -2.4272366e-01f, 1.6024167e-02f, 2.3169163e-01f, 6.639256e-02f, 1.20379776e-01f,
    1.5593904e-01f, -4.3444443e-02f, -2.8364697e-01f, 9.266008e-02f, 7.0717126e-02f, -2.575825e-01f, -3.09359e-01f, -4.3866333e-02f,
    -1.8114148e-01f, 8.40976e-02f, 7.994451e-02f, -4.387346e-02f, 1.7200148e-01f, 4.0328076e-01f, -6.149869e-02f, 7.364889e-02f,
    5.5060997e-03f, -1.963264e-01f, -7.9371594e-02f, -3.311853e-01f, -3.0179155e-01f, -3.2808995e-01f, 6.8178535e-02f, -2.9217312e-01f,
    4.9562922e-01f, 1.3319049e-02f, 3.2433283e-02f, -2.786671e-01f, -2.3038974e-01f, 1.3634774e-01f, -2.6079568e-01f, -1.0529673e-01f,
    -1.4712802e-01f, -1.4431375e-01f, -2.8627917e-01f, 5.3467375e-01f, -1.1146048e-01f, -4.9990878e-01f, -4.6130446e-01f, -1.601785e-01f,
    -6.555353e-03f, 1.30552035e-02f, 1.0986887e-02f, 2.5419733e-01f, 4.2123553e-01f, -7.100256e-02f, 4.2488638e-01f, 4.166932e-02f,
    9.59959e-02f, 4.329176e-01f, -1.866996e-01f, -6.487298e-02f, 2.399325e-01f, -2.4123065e-02f, -1.10559694e-01f, 7.103807e-02f,
    -5.6752406e-02f, 2.2981882e-01f, 1.198074e-01f, -2.5996229e-02f, -2.630187e-01f, -2.945908e-01f, 9.337033e-02f, 5.563939e-01f,
    4.4321913e-02f, -3.044782e-02f, 1.6581748e-01f, -2.753649e-01f, -1.7320845e-01f, -3.901191e-02f, 1.3431908e-01f, -3.1446016e-01f,
    1.0755169e-01f, 2.9731795e-01f, 8.7640956e-02f, 1.2383073e-01f, -1.7779608e-01f, 4.522155e-01f, -2.2548269e-01f, -1.0229304e-01f,
    -2.3428999e-01f, -1.5049539e-02f, 1.4876905e-01f, -2.6824803e-03f, -9.2590585e-02f, -3.7856105e-01f, -3.8181448e-01f, -1.6289014e-01f,
    -4.4540998e-01f, 7.6732556e-03f, 1.3832709e-01f, 1.8639688e-01f, -1.329781e-01f, 1.1179544e-01f, 3.3017034e-03f, -1.2119717e-01f,
    -1.3192123e-01f, -1.9778259e-01f, -3.1583637e-01f, -4.492658e-01f, 1.6747119e-01f, -3.5683575e-01f, -1.570489e-01f, 4.5827944e-02f,
    2.3370644e-01f, 2.515681e-01f, -1.9891557e-01f, -6.3822255e-02f, 2.7496916e-01f, 1.0272266e-01f, -2.5578895e-01f, 3.9467475e-01f,
    3.6427227e-04f, -2.5560772e-01f, -6.659112e-02f, 1.4926639e-01f, 2.5150195e-01f, -1.1093078e-01f, -9.3255445e-02f, -5.6318104e-01f,
    -3.5450152e-01f, -7.0125274e-02f, -5.9430856e-01f, 4.9201265e-01f, 6.0755968e-02f, -9.554772e-03f, -1.0242901e-01f, 4.056416e-01f,
    -2.0324944e-01f, 1.3521664e-01f, -2.2718026e-01f, -1.1951299e-01f, -1.076178e-02f, -2.4751559e-01f, -4.419371e-02f, 2.9122984e-01f,
    4.1819686e-01f, 2.7206728e-01f, -1.5318441e-01f, 4.328925e-01f, 3.9577913e-01f, 4.5691562e-01f, 5.8514744e-02f, -3.2360825e-01f,
    -1.3967903e-01f, 1.7254092e-01f, -2.4436589e-01f, 3.127232e-01f, 6.523575e-02f, 1.7401652e-01f, -4.561815e-01f, 4.2247684e-03f,
    -1.0636267e-01f, 6.508257e-02f, -2.0534286e-01f, -6.985135e-02f, -7.2877294e-01f, -4.403766e-01f, -5.4538175e-02f, -2.6262668e-01f,
    -1.5146258e-01f, -9.883154e-02f, -2.5232363e-01f, -1.1412937e-02f, 5.2417975e-02f, 6.674383e-01f, 1.9202106e-01f, 9.290977e-02f,
    -2.3291141e-01f, 2.2205208e-01f, 1.8618251e-01f, -1.7868906e-01f, 9.2969e-03f, 1.4590153e-01f, 2.789933e-01f, 5.7639137e-02f,
    -3.6217156e-01f, -1.8391818e-01f, 6.02721e-01f, -3.5232276e-01f, 3.375138e-01f, 1.07484974e-01f, -1.6379447e-01f, -1.8069848e-01f,
    -1.842729e-02f, -8.158271e-02f, 8.63094e-03f, 1.8119244e-01f, 7.215104e-02f, 1.9603911e-01f, -3.401124e-01f, 4.12403e-01f,
    2.1950643e-01f, 3.9152595e-01f, -2.7942494e-02f, -2.8006237e-02f, -2.6537842e-01f, -4.1582334e-01f, -9.277599e-02f, -2.1253818e-01f,
    -1.5950783e-01f, 2.8223613e-02f, 9.099891e-02f, -5.091604e-02f, -3.966966e-01f, 4.333664e-02f, -1.7025542e-01f, -2.4168584e-01f,
    1.764591e-01f, 2.0313455e-01f, 2.8430057e-01f, 2.8379e-01f, -5.1843975e-02f, -2.171288e-01f, 1.4344676e-01f, -2.7109822e-02f,
    5.6041177e-02f, 1.667919e-01f, 3.9953053e-01f, -1.0617714e-01f, 3.3186534e-01f, 2.704473e-01f, -8.766896e-02f, 5.079944e-01f,
    -1.3666813e-02f, -3.9892775e-01f, 2.2350734e-01f, 1.3090087e-01f, 1.8608071e-01f, 7.5090855e-02f, -1.3553423e-01f, -4.8111428e-02f,
    3.0388772e-01f, 4.2698833e-01f, 8.631257e-02f, 2.068548e-01f, -1.065863e-01f, -2.0811458e-01f, 5.532701e-03f, 2.4638693e-01f,
    7.6285e-02f, 4.175257e-02f, -1.2571669e-01f, 5.7212776e-01f, 2.3597494e-02f, 2.0617525e-01f, -3.6744124e-01f, -2.1709633e-01f,
    3.38569e-01f, -3.870482e-01f, -2.7944696e-01f, -2.1948868e-02f, -3.1060004e-01f, 2.2077139e-01f, 2.4556799e-01f, -3.2945302e-01f,
    2.8637406e-01f, 1.9822948e-01f, 3.081034e-01f, 2.074875e-01f, -3.15083e-01f, 2.3392871e-01f, 2.957327e-01f, 9.039519e-02f,
    -3.0043265e-01f, 6.350453e-01f, -1.625583e-01f, -6.606185e-01f, 4.0578955e-01f, 2.4614276e-01f, -2.685963e-01f, -1.1804606e-01f,
    2.1003346e-01f, -2.2734392e-01f, 5.3989244e-01f, 5.827998e-02f, -1.4168979e-01f, -1.1743342e-01f, -2.859299e-01f, -2.6525208e-01f,
    -1.5426984e-01f, -4.0880698e-01f, 1.08671255e-01f, -5.4158404e-02f, 1.7388482e-01f, -4.7545597e-02f, 3.0855396e-01f, -1.3916553e-02f,
    3.720416e-02f, -4.6430105e-01f, -1.4355522e-01f, -1.4016217e-01f, -1.954021e-01f, 1.1876196e-01f, -1.6208635e-01f, -4.4792244e-01f,
    -6.4745665e-02f, -3.8564253e-01f, -1.2453331e-01f, -6.206101e-02f, -4.4165183e-02f, 1.9384664e-01f, 2.1131419e-01f, -2.5583392e-01f,
    4.327701e-01f, 3.140234e-01f, -6.5486634e-01f, 1.9773087e-01f, -2.9076883e-01f, 1.2210811e-01f, 9.967737e-02f, 1.9337316e-01f,
    -4.9117643e-01f, 3.1521407e-01f, -2.872903e-01f, -4.5953742e-01f, 4.9123275e-01f, -2.872657e-01f, 1.5158498e-01f, 2.4737176e-02f,
    2.0685133e-01f, 2.9705778e-01f, 1.0233319e-01f, 3.468858e-01f, 2.7004661e-02f, -4.2848295e-01f, -1.5884526e-01f, -3.3718637e-01f,
    -3.1393226e-02f, 2.7605674e-01f, 2.780009e-01f, 2.8324077e-01f, -1.5987183e-03f, 1.6888346e-01f, -6.356158e-02f, -7.657826e-02f,
    3.874686e-01f, -8.200979e-02f, -1.3296123e-01f, 1.3509724e-01f, -2.975177e-01f, 1.0824815e-01f, 2.4517608e-01f, 2.554556e-01f,
    -2.4015291e-01f, 5.7264954e-01f, -3.023409e-01f, -4.1759986e-01f, 1.6710599e-01f, 2.5221086e-01f, -2.357857e-01f, 1.8652496e-01f,
    3.0257642e-01f, 1.2872484e-01f, 2.1624178e-01f, 1.061641e-01f, -5.7229213e-02f, -1.2727341e-01f, -1.3105345e-01f, 2.0333278e-01f,
    -1.0669798e-01f, -1.5146773e-01f, 2.2894561e-01f, 4.3154806e-02f, 3.8953513e-01f, 6.311443e-01f, -1.8957554e-01f, 4.3730655e-01f,
    2.4121036e-01f, 3.98513e-01f, 3.9009976e-01f, 2.4430418e-01f, -5.2697156e-02f, 4.6400532e-01f, -4.101019e-02f, -1.38322e-01f,
    -1.8768477e-01f, -2.533232e-01f, 1.0817481e-01f, 2.4013221e-01f, 1.9517595e-01f, -1.8114646e-01f, 1.912349e-01f, -1.7889959e-01f,
    1.5098077e-01f, -6.54356e-02f, -4.42013e-02f, -3.6416882e-01f, 1.8043978e-02f, -5.166619e-01f, 7.5924665e-02f, 7.281915e-01f,
    4.770006e-02f, 5.1590294e-01f, -3.4576556e-01f, -1.2623882e-01f, 7.14122e-02f, -1.2212111e-01f, 3.2723513e-01f, -2.9179862e-02f};
static const real q_w_body_head_weight[1024] = {
    6.290957e-02f, 7.25331e-02f, -8.060709e-02f, -7.560408e-02f, -8.6077094e-02f, 1.0047969e-01f, 1.4369607e-02f, -4.8083633e-02f,
    -2.9583275e-03f, -4.172632e-02f, 3.933403e-02f, 4.337263e-02f, -6.228e-02f, 8.379638e-03f, -7.486522e-02f, -5.6533247e-02f,
    5.3687125e-02f, 1.02826715e-01f, 1.11293614e-01f, -4.7608286e-02f, 5.332935e-02f, 1.08887225e-01f, 5.1469654e-02f, -1.2172073e-02f,
    6.752816e-02f, 4.6052933e-02f, -6.100723e-02f, 8.622441e-02f, -6.547758e-02f, -3.2785296e-02f, -4.6742737e-02f, -9.2555046e-02f,
    -5.3412855e-02f, 1.2970775e-02f, 4.1596234e-02f, 1.1729807e-01f, -3.5170645e-02f, -5.380115e-02f, 9.636843e-02f, -3.4788817e-02f,
    2.4170041e-02f, -1.0682562e-01f, -1.1231804e-01f, 9.316602e-02f, 6.525418e-02f, -1.757288e-02f, -5.388406e-02f, -1.5313327e-02f,
    7.837346e-02f, -9.986523e-02f, 1.09060824e-01f, -2.7629793e-02f, -5.5119246e-02f, 6.625253e-02f, 4.2635232e-02f, -1.1687309e-02f,
    -1.1627796e-01f, -3.0164063e-02f, -6.4080864e-02f, -7.970303e-03f, -5.3276062e-02f, 7.7032536e-02f, -8.706391e-03f, 9.489539e-02f,
    -8.4114075e-04f, -5.7714432e-02f, -1.1691305e-01f, -8.946383e-02f, 6.0254633e-02f, -8.630216e-02f, -2.9740155e-02f, -9.349555e-02f,
    -4.0774167e-02f, -4.7126293e-02f, 7.110676e-02f, -9.283194e-02f, -4.1755527e-02f, -1.7135948e-02f, -2.7704418e-02f, 1.1672705e-02f,
    4.0753037e-02f, -5.3614914e-02f, 2.9080212e-03f, 3.703639e-02f, -4.766646e-02f, -1.15133494e-01f, 6.405169e-02f, -1.0432553e-01f,
    -7.922885e-02f, -4.2897254e-02f, 1.5184343e-02f, -2.5622249e-02f, 1.0505366e-01f, -8.241534e-04f, 1.0748628e-01f, 5.854553e-02f,
    -1.0022324e-01f, 9.818259e-02f, 1.1855501e-01f, 7.51532e-02f, -7.4426234e-02f, 7.0954174e-02f, 4.610744e-02f, 6.1914444e-02f,
    1.9444823e-02f, 4.468599e-02f, 1.7409921e-03f, -3.6526114e-02f, -1.715669e-02f, 3.2702953e-02f, 3.553611e-02f, 1.1557144e-01f,
    -9.0910256e-02f, -1.1720407e-01f, 3.5327524e-02f, -3.1363964e-02f, -9.7977996e-02f, -1.1756581e-01f, -5.8948934e-02f, -1.0940498e-01f,
    -1.2265706e-01f, -1.2291893e-01f, 1.18716896e-01f, 2.625963e-02f, 1.208359e-02f, -1.2393424e-01f, 1.20718986e-01f, -1.0939965e-01f,
    6.1573386e-03f, -2.641362e-02f, -9.8949045e-02f, 1.0310122e-01f, -1.1355412e-01f, 9.944132e-02f, -1.296097e-02f, -7.0441574e-02f,
    5.9086144e-02f, 4.0775716e-02f, 9.5200926e-02f, 7.184768e-02f, -8.870295e-02f, 5.759123e-02f, -4.0804088e-02f, 1.2757063e-02f,
    1.0591984e-02f, 4.4356585e-02f, 1.1810315e-01f, -4.091993e-02f, -1.2978137e-02f, -1.09469295e-01f, 4.658133e-03f, 1.10129386e-01f,
    1.4193565e-02f, -1.0016075e-01f, 6.742188e-02f, 3.348005e-02f, -1.5437752e-02f, -4.146436e-02f, 4.5954853e-02f, -4.656017e-02f,
    -9.6065074e-02f, 6.464127e-02f, 1.0979381e-01f, 9.430933e-02f, -1.365602e-03f, -6.568873e-02f, -2.3100734e-02f, -2.6092619e-02f,
    -7.105753e-02f, 1.2346262e-01f, 1.1143461e-01f, -9.552997e-02f, -2.6557177e-02f, -1.1326036e-01f, 2.9996991e-02f, 9.865397e-02f,
    -4.807636e-02f, 6.882444e-02f, 2.115509e-02f, -1.7752111e-02f, -3.318289e-02f, 1.924038e-02f, 8.423218e-02f, -1.2390196e-01f,
    -1.2390247e-01f, -3.58302e-02f, 5.9895456e-02f, -2.5544316e-02f, 2.6989967e-02f, 4.876268e-02f, -2.6504517e-02f, -9.047222e-02f,
    -1.26338e-03f, 8.62166e-02f, 2.1912128e-02f, -2.62478e-03f, -1.0736138e-01f, -1.1859375e-01f, 5.745077e-02f, -3.8762689e-03f,
    -3.9451897e-02f, 5.8638215e-02f, 4.320562e-03f, 3.5455942e-02f, -5.9675425e-02f, 5.7436705e-02f, -4.1341633e-02f, 2.0956397e-02f,
    -8.607167e-02f, 4.990813e-02f, 8.155134e-02f, 4.8962325e-02f, 9.822562e-02f, 4.9419403e-03f, -7.641974e-02f, 7.395139e-02f,
    6.8446934e-02f, -2.4070382e-02f, 5.239579e-02f, -6.829822e-02f, 3.3998787e-02f, -7.68891e-02f, -2.0596474e-02f, -7.9630435e-02f,
    7.549736e-02f, 4.8315823e-03f, -1.1231393e-02f, -7.998356e-02f, 2.4424434e-02f, 1.23282164e-01f, 1.2305647e-01f, 9.773645e-02f,
    1.17943704e-01f, 2.5372028e-02f, -1.9444823e-03f, -4.98285e-02f, 9.0432584e-02f, 5.9128135e-02f, -7.103503e-02f, -5.9266686e-03f,
    -9.275803e-02f, -5.4044604e-02f, -7.085073e-02f, 8.628994e-03f, -5.3173006e-02f, -9.024125e-02f, 1.18905336e-01f, 2.044943e-02f,
    -5.5113494e-02f, 2.567926e-02f, 9.6057415e-02f, 1.731664e-02f, 3.902173e-02f, 1.1768192e-02f, 5.3763926e-02f, 1.0486817e-01f,
    -8.344829e-02f, -2.0131558e-02f, -5.6259423e-02f, 4.1778088e-03f, 1.15335226e-01f, -8.2193226e-02f, 2.657482e-02f, 7.66432e-02f,
    -1.0173845e-01f, 4.8264742e-02f, 1.054872e-01f, 7.71932e-02f, 1.2175959e-01f, -8.332026e-02f, -6.4460635e-03f, 5.5195987e-02f,
    -2.0234168e-02f, -8.662605e-02f, 1.2172979e-01f, 3.377241e-02f, -8.438647e-02f, -8.48991e-02f, -9.433389e-03f, 2.2341043e-02f,
    -2.4125576e-03f, 6.0515046e-02f, 1.9658476e-02f, -4.9257576e-03f, 2.3074448e-02f, 1.7814696e-02f, -3.414297e-02f, -6.836653e-02f,
    -5.101323e-03f, -8.967179e-02f, -5.635014e-02f, -2.1350443e-02f, 6.749225e-02f, -1.1560565e-01f, 1.1677533e-02f, -5.733916e-02f,
    8.153167e-02f, -7.7359766e-02f, 1.1833489e-01f, -1.1482304e-01f, -1.0384962e-01f, -4.3423712e-02f, 1.1852732e-01f, 1.023075e-02f,
    1.098575e-01f, 2.81173e-03f, 1.0515934e-01f, -4.452303e-02f, -2.0068794e-02f, 1.1785212e-01f, 1.6632855e-02f, -2.0735562e-02f,
    -3.000155e-02f, 1.6974747e-02f, -9.705305e-03f, 1.8038988e-02f, 2.324748e-02f, 4.25829e-02f, -3.1621873e-02f, -1.0118905e-01f,
    9.8094165e-02f, -1.13113046e-01f, -1.1028898e-01f, 2.6541978e-02f, 1.2401241e-01f, 1.0236004e-01f, 1.7736614e-02f, 7.6363504e-02f,
    6.5212846e-03f, 1.1900002e-01f, 7.167995e-03f, 9.0376616e-02f, -9.156823e-02f, 2.5948793e-02f, 2.3538291e-02f, 1.2188715e-01f,
    7.6516956e-02f, -7.1168035e-02f, 2.8693557e-02f, -1.735428e-02f, 1.0612634e-01f, 1.1816332e-01f, -6.411347e-02f, -5.4365218e-02f,
    -7.707524e-02f, 3.333953e-02f, -2.8243065e-03f, 3.4605026e-02f, 1.1193618e-01f, 7.929352e-02f, -4.2450905e-02f, -1.1009002e-01f,
    8.797163e-02f, -5.2078605e-02f, -1.9582003e-02f, 3.0561954e-02f, 1.18985325e-01f, -1.0718194e-01f, 8.740121e-02f, 1.1902395e-01f,
    -1.9704103e-03f, 5.9391975e-02f, -7.603115e-02f, 8.9749455e-02f, 5.431491e-02f, 7.632303e-02f, 2.66622e-02f, 2.101168e-02f,
    -7.351792e-02f, -5.7932198e-02f, -5.4719746e-02f, 3.179121e-02f, -1.2161797e-01f, -1.2047216e-01f, -8.525559e-02f, -1.13131434e-01f,
    -1.7483115e-02f, -4.6136796e-02f, 1.2148553e-01f, -9.997815e-03f, 1.605305e-02f, 1.1536184e-01f, 6.749302e-03f, -3.7847042e-02f,
    -8.442554e-02f, -1.667732e-02f, 2.6711851e-02f, -6.7370504e-02f, -7.097101e-02f, 7.3301435e-02f, 5.802098e-02f, 4.978016e-02f,
    1.7354786e-02f, -5.6013405e-02f, 1.1680633e-02f, 1.1971265e-02f, 1.1629066e-01f, 1.1922774e-01f, -6.48081e-02f, -4.805845e-02f,
    3.8133085e-02f, -5.7635635e-02f, -7.076213e-02f, 1.1574334e-01f, 1.0951048e-01f, 5.106187e-02f, -9.128016e-02f, 6.1822236e-02f,
    -7.938665e-02f, -4.1900605e-02f, 2.0626366e-02f, -1.6847253e-04f, -5.363366e-02f, -1.1834791e-01f, 9.568909e-02f, 2.7976334e-03f,
    1.2020528e-02f, -1.0319701e-01f, 5.5209726e-02f, -3.3214092e-03f, 5.655712e-02f, 9.140402e-03f, 1.0378891e-01f, 2.4714619e-02f,
    -4.8707187e-02f, 4.0726542e-02f, -1.1544335e-01f, -1.04833126e-01f, 8.636415e-02f, -1.1438727e-02f, 9.812528e-02f, 7.0182025e-02f,
    1.8149644e-02f, -9.603009e-02f, 5.364129e-02f, -3.1239867e-02f, 1.1289358e-01f, -1.1709294e-01f, -3.7104905e-02f, -8.595917e-02f,
    5.7201356e-02f, -8.278206e-02f, -8.815631e-02f, 1.3740778e-02f, -3.594783e-02f, 1.0660359e-01f, 4.733473e-02f, -2.2817552e-03f,
    4.4729024e-02f, 9.180492e-02f, -2.3861498e-02f, -2.1170497e-02f, -9.806478e-02f, -7.80997e-02f, 1.16212994e-01f, 1.128439e-01f,
    7.3574185e-02f, 2.6899904e-02f, -7.2046846e-02f, -1.4570683e-02f, -2.18423e-02f, -6.60339e-03f, 4.4132233e-02f, 2.9610842e-02f,
    -1.1981523e-01f, -8.266017e-02f, 4.5805067e-02f, 2.9242963e-02f, -1.08320415e-01f, -7.091951e-02f, 3.6563635e-02f, 7.5259775e-02f,
    6.050074e-02f, 1.067597e-01f, -1.1914074e-03f, 4.9235374e-02f, -1.1965781e-02f, -7.2841674e-02f, -7.2739124e-03f, 4.73758e-02f,
    5.9542358e-02f, -1.0783449e-01f, 8.411014e-02f, 1.12547606e-01f, -3.7211478e-03f, -1.2298241e-01f, 3.1177223e-02f, 6.638646e-03f,
    -4.8864365e-02f, -8.9517355e-02f, -1.2054771e-01f, 3.616801e-02f, -1.2211388e-01f, -2.0742089e-02f, 3.0037224e-02f, 1.0349703e-01f,
    1.01453334e-01f, 1.0932863e-01f, -3.3169508e-02f, 5.2428067e-02f, -6.833553e-02f, 1.675272e-02f, -1.2071419e-01f, -2.9635787e-02f,
    1.0627037e-01f, 1.0780215e-01f, 7.489586e-02f, 3.7935406e-02f, 7.243532e-02f, 1.11019194e-01f, 1.0222134e-01f, -3.6116272e-02f,
    8.4373415e-02f, 1.1868662e-01f, -2.8489977e-02f, 9.719822e-02f, 2.8081506e-02f, -9.044716e-02f, -1.1566192e-02f, 1.1110318e-01f,
    -8.270481e-02f, -1.0482958e-01f, -3.0864954e-02f, 1.1223528e-01f, 1.036793e-03f, 8.364609e-02f, 7.4441165e-02f, 4.36503e-02f,
    -1.1808339e-01f, 6.884676e-02f, -1.0235459e-02f, -5.213618e-04f, 5.5646688e-02f, 6.016037e-02f, -7.016149e-02f, 1.0659084e-01f,
    -1.10016435e-01f, -1.4985293e-02f, 2.3977637e-02f, 9.351668e-02f, 2.5789082e-02f, -3.9943933e-02f, -1.132592e-01f, -6.0317427e-02f,
    -6.59346e-02f, -1.0468444e-01f, -6.2072307e-02f, 6.0020834e-02f, -7.817313e-02f, -4.0476203e-02f, -2.7552426e-02f, -1.17483616e-01f,
    1.188747e-01f, 5.844304e-02f, -1.23849094e-01f, -8.1275314e-02f, 2.8576553e-03f, 1.722017e-02f, -3.4964353e-02f, -2.8080225e-02f,
    1.5050024e-02f, -1.1386737e-01f, 3.0635089e-02f, 6.496301e-02f, -5.246705e-02f, 5.896604e-02f, -6.1911315e-02f, -1.1722037e-01f,
    1.2017122e-01f, 4.2925596e-02f, 2.143532e-02f, -1.2251252e-01f, 1.0987902e-01f, 5.2347064e-02f, 1.0379672e-02f, -3.499061e-02f,
    4.9037546e-02f, 4.2214006e-02f, 4.242432e-02f, -1.0301322e-01f, 8.467069e-02f, 1.2349209e-01f, -3.272736e-02f, 1.0249829e-01f,
    -9.1887265e-02f, -1.0968119e-02f, -1.1843118e-01f, 8.620682e-02f, -1.2275112e-01f, 9.94733e-03f, 5.67528e-02f, 9.288141e-02f,
    -2.7262688e-02f, -9.0626836e-02f, 8.379674e-02f, 1.1225489e-01f, 1.1803493e-01f, 1.012398e-01f, -5.6983143e-02f, -2.646038e-02f,
    -3.1242639e-02f, 9.246066e-02f, 1.2161881e-02f, -7.16472e-02f, -1.7789602e-03f, 5.8220625e-02f, 1.5629977e-02f, -1.1254662e-01f,
    -1.699239e-03f, 6.7266524e-02f, -3.274867e-02f, -9.071979e-02f, -9.711519e-02f, -7.563949e-02f, -2.6267767e-03f, -1.13889635e-01f,
    -4.060626e-03f, -5.1901996e-02f, 7.5528055e-02f, 8.433518e-02f, -2.5608838e-02f, 2.7492344e-02f, -3.1006485e-02f, -1.0601106e-01f,
    -7.548997e-02f, -1.1887589e-01f, -1.1611533e-01f, -1.08499825e-02f, 1.2018922e-01f, 3.183362e-02f, -1.2406862e-01f, 2.597022e-02f,
    1.1549455e-01f, -7.543701e-02f, 8.265442e-02f, 1.1252576e-01f, -9.3349814e-04f, -6.928763e-02f, 5.160895e-02f, 1.2120965e-01f,
    1.3180703e-02f, -9.178999e-02f, -1.0307643e-01f, -4.7178537e-02f, 3.7629396e-02f, -1.4589131e-03f, 6.1419904e-02f, 3.135982e-02f,
    -1.4919937e-03f, -5.9177577e-03f, 1.0950714e-02f, 4.4302493e-02f, -8.279076e-02f, 7.610515e-02f, -3.0709416e-02f, 4.0194392e-04f,
    2.9429734e-02f, -2.472651e-02f, -3.2603264e-02f, -9.060943e-02f, -4.8197865e-02f, 5.6698054e-02f, 1.056855e-01f, 1.0088539e-01f,
    -1.2476498e-01f, 6.416467e-02f, 4.9242377e-03f, 5.215317e-03f, -1.20054334e-01f, -7.964522e-03f, -1.353249e-02f, 1.8624604e-02f,
    3.251961e-02f, 8.441806e-02f, -1.132015e-01f, -7.841784e-02f, 1.0730693e-01f, 9.5163494e-02f, -8.057195e-02f, -6.8840414e-02f,
    1.18385404e-01f, -4.5132726e-02f, -1.1342588e-01f, 9.963566e-02f, 9.93326e-02f, -8.8627726e-02f, -7.294226e-02f, 1.1942211e-01f,
    -1.03346676e-01f, -1.1680147e-01f, -1.1731103e-01f, 2.3527324e-02f, 1.9094616e-02f, 5.650112e-02f, -8.5505605e-02f, -7.288128e-03f,
    7.3109806e-02f, 6.328702e-02f, -6.558016e-02f, -5.0351024e-02f, 4.8146695e-02f, 2.7028859e-02f, 1.1693087e-01f, -9.6752554e-02f,
    2.8295845e-02f, -5.7810128e-02f, 3.2322735e-02f, 3.5215527e-02f, -5.372253e-02f, 1.2060499e-01f, -6.143692e-02f, 1.2059349e-01f,
    -6.6657394e-02f, -6.737444e-02f, 1.484099e-02f, 2.781856e-02f, 8.875066e-02f, -9.504169e-03f, 1.0718405e-03f, 7.380611e-02f,
    -6.1914414e-02f, -8.3806336e-02f, 3.8093567e-02f, 5.3452402e-02f, -3.516707e-02f, -1.1203495e-01f, -8.5371196e-02f, -1.1047751e-01f,
    -1.14204586e-01f, -1.1501849e-02f, 1.0047874e-01f, 7.406601e-02f, -1.2460008e-01f, -2.1724313e-02f, 4.8239708e-02f, 7.122651e-02f,
    -3.3989847e-02f, -2.0824105e-02f, 1.119135e-01f, -1.1379677e-01f, -5.5119604e-02f, 2.8919697e-02f, 9.262088e-02f, 1.2481895e-01f,
    -4.368061e-02f, -7.385281e-02f, -1.2197754e-01f, -4.6150416e-02f, 1.5559077e-02f, -4.6773255e-02f, 3.8736343e-02f, 3.0036777e-02f,
    -2.8328031e-02f, -7.1755946e-02f, -9.26263e-02f, 1.11545265e-01f, -5.305296e-02f, -1.0406911e-02f, -2.5185347e-03f, 4.4031233e-02f,
    8.230448e-03f, 8.724195e-02f, 5.9063673e-02f, 2.501887e-02f, 1.22721255e-01f, 4.3415517e-02f, -2.1091431e-02f, -9.453064e-02f,
    -9.583223e-02f, -1.0738331e-01f, -7.4970454e-02f, 1.0812506e-01f, -1.0633469e-02f, 8.698183e-02f, -3.5283566e-02f, 8.302504e-02f,
    2.8248131e-03f, -4.988736e-02f, 4.4269443e-02f, -6.470269e-02f, -3.636977e-02f, -2.5596917e-03f, -5.241242e-02f, -6.1677456e-02f,
    9.092045e-02f, -6.588471e-02f, 1.0474938e-01f, 4.051155e-02f, -9.654114e-02f, -5.576676e-02f, -1.07497334e-01f, -5.6800604e-02f,
    4.99655e-02f, -3.3380747e-02f, -2.0441622e-02f, 4.9970567e-02f, 8.134264e-02f, 5.6512684e-02f, -1.23747796e-01f, 9.266472e-02f,
    -5.8856905e-02f, 6.280056e-02f, 5.181843e-02f, -8.552992e-02f, -9.310901e-02f, 1.0825673e-01f, 4.458025e-02f, 9.007257e-02f,
    1.2510717e-03f, 1.570502e-02f, 3.6364973e-02f, 9.138334e-02f, 8.662984e-02f, 4.0003657e-03f, -9.9790394e-02f, -4.5412183e-03f,
    7.504353e-02f, -6.31156e-02f, 1.23273134e-01f, -8.3170205e-02f, -2.7600497e-02f, 1.18006796e-01f, 2.9723465e-02f, 6.4796984e-02f,
    3.2544196e-02f, 1.09410316e-01f, 8.8896275e-02f, 3.0311286e-02f, -1.0845217e-01f, -2.9777408e-02f, 6.1956257e-02f, 4.22135e-02f,
    2.7464718e-02f, -5.5958033e-02f, -1.4636755e-02f, -1.0817051e-03f, 1.264292e-02f, 7.626924e-02f, -5.8009863e-02f, -2.4289459e-02f,
    1.0101345e-01f, 6.769261e-02f, -4.2959064e-02f, 4.3040812e-02f, -6.7123175e-02f, 1.8870413e-02f, 5.1641047e-02f, -7.299313e-02f,
    1.1575824e-01f, 7.2730094e-02f, 1.7359138e-02f, -4.3548048e-02f, 5.7469696e-02f, 8.469698e-02f, 2.4288952e-02f, 8.953413e-02f,
    1.10631466e-01f, -2.155599e-02f, 1.0671467e-02f, -5.1427364e-02f, -1.12843424e-01f, -9.964508e-02f, 8.638576e-02f, 4.2393804e-03f,
    9.6126884e-02f, 6.771767e-02f, -3.4211308e-02f, 4.1845977e-02f, -3.1593442e-04f, -5.2319646e-02f, -3.6289424e-02f, 4.9618155e-02f,
    -9.828445e-02f, -4.0265977e-02f, 5.8492303e-02f, 9.995973e-02f, 4.940629e-02f, 7.210004e-02f, 1.1272693e-01f, 9.468371e-02f,
    -6.601611e-02f, -5.2836835e-02f, 1.3023019e-03f, -1.05603516e-01f, -2.560249e-02f, 8.30847e-03f, 4.668531e-02f, 8.1394315e-03f,
    9.256601e-02f, -1.1649504e-01f, 1.0666245e-01f, 4.146558e-02f, -4.9631e-03f, -8.363485e-03f, 1.00833416e-01f, -3.9477587e-02f,
    1.1234045e-02f, -9.269482e-02f, 4.600069e-02f, -3.3693045e-02f, 6.97138e-02f, -4.8393875e-02f, -2.9978663e-02f, 2.4840862e-02f,
    1.8324375e-02f, 3.3690393e-02f, 2.7555168e-02f, -9.766203e-02f, 1.2428984e-01f, 5.467993e-02f, -1.1509505e-01f, 7.284403e-02f,
    -1.0560441e-01f, 1.0934135e-01f, 5.5920333e-02f, -1.0247564e-01f, -1.1474547e-01f, 9.419584e-02f, -1.7004013e-03f, 5.8996618e-02f,
    -2.3457825e-02f, 9.22752e-02f, -7.9484224e-02f, -8.941084e-02f, -1.000278e-01f, -5.8235943e-02f, -2.0486385e-02f, -9.42893e-02f,
    1.5411317e-02f, 2.1631658e-02f, -1.1116734e-01f, -3.754449e-02f, 6.403744e-02f, 5.147019e-02f, -4.130721e-03f, -2.3780406e-02f,
    1.5873492e-02f, 1.1173904e-01f, 2.4841607e-02f, 1.159108e-01f, -2.3444742e-02f, -1.2869835e-02f, 9.540698e-02f, -1.1684379e-01f,
    9.50273e-02f, 2.8075933e-02f, 3.7786454e-02f, -2.1698266e-02f, -1.3275892e-02f, -1.804015e-02f, -3.293422e-02f, -8.952248e-02f,
    -5.2387178e-02f, 6.5918595e-02f, -3.6449134e-02f, 2.7633011e-03f, -3.5678774e-02f, -9.909457e-02f, -8.7908536e-02f, 5.479026e-02f,
    -7.718527e-02f, 4.219696e-02f, 1.0348168e-01f, -2.487135e-02f, -2.8229386e-02f, 5.699092e-02f, -1.9293487e-02f, -5.5618465e-02f,
    3.447458e-02f, -2.78655e-02f, -1.0634798e-01f, 5.2188426e-02f, 6.1322153e-03f, 8.307442e-02f, 2.8867275e-02f, -9.453878e-02f,
    -7.969636e-02f, -1.01998836e-01f, 5.6096226e-02f, -5.5280298e-02f, -4.9867183e-02f, -5.3064436e-02f, 1.2464255e-02f, 1.1815986e-01f,
    -6.9797516e-02f, 1.20079726e-01f, 5.0849915e-03f, 3.2580495e-02f, -9.1305405e-02f, 2.4027586e-02f, 7.50854e-02f, -1.0508081e-01f,
    -1.6506672e-02f, 7.125965e-02f, 1.17221e-01f, -1.4522046e-02f, 8.958721e-02f, -6.1261028e-02f, 5.627942e-02f, -7.2190195e-02f,
    -1.0976741e-01f, -6.7772835e-02f, 6.523499e-02f, -4.2830348e-02f, 1.0744664e-01f, 1.07070714e-01f, 1.3050437e-02f, -1.2030348e-01f,
    -9.381381e-02f, 3.6155194e-02f, 7.693288e-02f, -9.0750515e-02f, 3.9416075e-02f, 4.6233803e-02f, 3.955674e-02f, 5.8758646e-02f,
    9.075391e-02f, 9.935489e-02f, -6.6087544e-03f, 9.202474e-02f, 2.0328522e-02f, -7.9945356e-02f, -2.7985811e-02f, 1.245898e-02f};
static const real q_w_out_weight[32] = {
    2.2581542e-01f, 5.042571e-02f, 5.7742596e-03f, 2.0807624e-01f, 2.4765772e-01f, -5.932808e-03f, 3.4262598e-02f, -1.7106324e-01f,
    -2.2448444e-01f, 1.9059896e-01f, -4.966855e-02f, -2.478354e-01f, -4.2783916e-02f, -1.5472633e-01f, 6.4471066e-02f, -1.4981008e-01f,
    -2.1224242e-01f, -2.4455047e-01f, -9.1707945e-02f, -1.6414279e-01f, -1.8093467e-02f, 4.356432e-02f, 2.9079199e-02f, -2.1610433e-01f,
    -1.5750349e-01f, -1.22516096e-01f, 4.4556856e-03f, 5.9531093e-02f, -1.8892002e-01f, -1.1412144e-02f, -1.7727917e-01f, -1.0298431e-01f};
static const real q_memory_cell_turn_real[32] = {
    1.0e+00f, 1.0e+00f, 1.0e+00f, 1.0e+00f, 1.0e+00f, 1.0e+00f, 1.0e+00f, 1.0e+00f,
    1.0e+00f, 1.0e+00f, 1.0e+00f, 1.0e+00f, 1.0e+00f, 1.0e+00f, 1.0e+00f, 1.0e+00f,
    1.0e+00f, 1.0e+00f, 1.0e+00f, 1.0e+00f, 1.0e+00f, 1.0e+00f, 1.0e+00f, 1.0e+00f,
    1.0e+00f, 1.0e+00f, 1.0e+00f, 1.0e+00f, 1.0e+00f, 1.0e+00f, 1.0e+00f, 1.0e+00f};
static const real h_w_body_encoder_weight[48] = {
    -4.9784797e-01f, -3.5245326e-01f, -2.8879118e-01f, -2.829238e-02f, -5.0402164e-02f, 3.9584622e-01f, -3.4979892e-01f, -3.667245e-01f,
    4.6350818e-02f, 1.1022131e-02f, -4.6423194e-01f, -4.542071e-03f, 2.7920625e-01f, -4.9125546e-01f, -2.2113088e-01f, -1.5254624e-02f,
    2.2287959e-01f, -4.3143025e-01f, 4.8355126e-01f, 4.9768087e-01f, -4.771538e-01f, -6.2008347e-02f, 1.39594665e-02f, 2.41177e-01f,
    -3.12267e-01f, 3.3398503e-01f, 2.431019e-01f, -1.42173e-01f, 3.9277592e-01f, 3.8007858e-01f, -2.5459838e-01f, -2.4282604e-02f,
    -2.2658929e-01f, -2.5878268e-01f, 5.1700074e-02f, -1.1206597e-01f, 5.5180335e-01f, 1.3514261e-01f, -4.5879734e-01f, -5.544399e-01f,
    5.5178005e-01f, 4.7214648e-01f, -3.162736e-01f, -4.310305e-01f, -2.1488729e-01f, 5.632123e-01f, -1.2710077e-01f, 4.103099e-01f};
static const real h_w_body_cell_nu_log[32] = {
    -1.3734599e+00f, -1.8851352e+00f, -4.8132908e-01f, -7.521454e-01f, -3.3068461e+00f, -6.401084e-01f, -2.6570296e+00f, -1.4623966e+00f,
    -4.2911357e-01f, -9.058151e-01f, -1.157207e+00f, -1.8751279e+00f, -1.5923896e+00f, -5.900068e-01f, -1.9750187e+00f, -2.6403408e+00f,
    -1.4060766e+00f, -1.5574135e+00f, -3.787182e+00f, -1.4006997e+00f, -1.9799529e+00f, -8.7085164e-01f, -1.3448858e+00f, -8.6481524e-01f,
    -2.975832e+00f, -3.7646148e+00f, -1.0487872e+00f, -1.0985287e+00f, -2.2292607e+00f, -8.108187e-01f, -4.149462e+00f, -1.5032573e+00f};
static const real h_w_body_cell_theta_log[32] = {
    1.7601013e+00f, 1.8249953e+00f, 2.512432e-01f, 6.933559e-01f, 1.7311127e+00f, 1.5415462e+00f, -3.4352866e-01f, 1.3248914e+00f,
    9.4403327e-01f, 1.7714173e+00f, 4.781443e-01f, 1.8061744e+00f, -4.5184475e-01f, 1.8044044e+00f, 1.1842316e+00f, 5.0653268e-02f,
    5.666549e-01f, 4.3030855e-01f, 6.7187494e-01f, 1.4191024e+00f, 1.7075894e+00f, 1.8235521e+00f, 1.1182523e+00f, 1.3168261e+00f,
    8.8797677e-01f, 1.6650858e+00f, 1.6639156e+00f, -8.2635534e-01f, 1.3636769e+00f, -5.756787e-01f, 1.641814e+00f, 1.138405e+00f};
static const real h_w_body_cell_B_real[512] = {
    2.7973352e-02f, 5.618995e-02f, 4.003085e-01f, 2.5087115e-01f, -2.3253061e-01f, 1.6586019e-01f, -3.2878846e-01f, -9.665764e-02f,
    -3.2860157e-01f, -5.42532e-01f, 6.509811e-02f, 5.3586e-02f, 1.384462e-01f, -2.571291e-01f, -4.095526e-01f, 3.7660873e-01f,
    3.7515602e-01f, -1.8375745e-01f, -6.1133766e-01f, -3.0177506e-02f, -1.6231722e-01f, -5.6410428e-02f, 1.0678926e-01f, -8.032454e-02f,
    -2.5044295e-01f, 4.05218e-03f, -1.9731296e-02f, -5.1767495e-02f, -3.5098678e-01f, 2.5953707e-01f, 3.2688373e-01f, -1.377503e-01f,
    -3.2168207e-01f, -1.964742e-01f, 1.5242439e-02f, 9.14157e-02f, 1.9216548e-01f, 1.6174568e-01f, -2.4658169e-01f, -5.5228274e-02f,
    -8.7029986e-02f, -5.7493657e-02f, -4.906028e-02f, 4.2283544e-03f, -1.6012841e-01f, 2.3192917e-03f, 1.1826536e-01f, 6.1954274e-03f,
    -1.1455486e-01f, 2.8868234e-02f, -4.712427e-01f, -1.5821211e-01f, -1.4934859e-01f, -1.4308515e-01f, -8.1830464e-02f, 6.188196e-01f,
    -1.9739436e-01f, -2.54992e-01f, 9.068889e-02f, 1.9841294e-01f, 2.6044127e-01f, -2.737607e-02f, -4.0302753e-01f, -3.0310503e-01f,
    -3.313034e-01f, 3.0188066e-01f, -1.2499377e-01f, 2.6460028e-01f, -4.360949e-01f, -4.4806793e-01f, -2.8783417e-01f, 1.6834629e-01f,
    5.2208833e-02f, -4.7994545e-01f, -5.4927178e-02f, 6.264773e-02f, -2.3861296e-02f, -2.0163958e-01f, -2.9907236e-01f, 1.46886e-01f,
    4.5380488e-01f, 8.490129e-02f, -4.2052752e-01f, -1.3578643e-01f, 4.488154e-02f, 4.4333258e-01f, 1.071701e-01f, 4.196519e-01f,
    2.9729614e-01f, -3.9655274e-01f, 2.3170209e-01f, 8.055383e-02f, 2.0812415e-01f, -3.092397e-02f, -2.1691754e-01f, 1.7182244e-01f,
    2.757827e-01f, 4.820762e-01f, 1.24738485e-01f, 2.4492632e-01f, 3.9546892e-02f, 1.386542e-01f, 2.3411718e-01f, -1.228803e-01f,
    2.853338e-01f, 3.8679245e-01f, 1.1406682e-01f, -3.2559016e-01f, 1.4141895e-01f, -4.1176468e-02f, 1.6604504e-01f, -7.3426566e-03f,
    -4.6788797e-02f, 5.887896e-01f, 2.7056655e-01f, -1.5229604e-02f, 6.36455e-02f, 7.128932e-01f, 6.1834108e-02f, 1.6010049e-01f,
    -3.0304724e-01f, -1.7106323e-01f, 1.09442815e-01f, 1.051023e-03f, 3.72645e-01f, -4.5708382e-01f, -3.0979127e-01f, 1.1381205e-01f,
    -3.3564714e-01f, 1.5954863e-01f, -1.1281436e-01f, -4.8314095e-01f, 1.7339134e-01f, -3.3161768e-01f, 4.0457535e-01f, 8.57743e-02f,
    -6.3108005e-02f, 2.114438e-01f, -1.4494932e-01f, 7.074496e-02f, 5.4093897e-02f, -5.312558e-02f, 1.1998701e-01f, -2.4007457e-01f,
    1.8836065e-01f, 2.433275e-01f, 1.4189024e-01f, 3.5661447e-01f, 2.5883144e-01f, -4.1611183e-02f, 1.9185826e-01f, -2.0413364e-01f,
    -2.968836e-01f, 1.0175818e-01f, 2.0404197e-01f, -3.180204e-02f, -1.813639e-01f, 1.9377513e-01f, 4.9871618e-01f, 1.5973513e-01f,
    1.6412362e-01f, -2.956659e-03f, -1.6280766e-01f, 4.6467148e-02f, 3.3002347e-01f, 5.0542676e-03f, 4.47337e-01f, 1.8094549e-01f,
    -1.215717e-01f, 2.4452876e-01f, -5.5324122e-02f, -2.82235e-02f, -2.5218144e-01f, 3.6198148e-01f, -2.9450197e-02f, 5.2948517e-01f,
    -2.1442439e-01f, -1.0016865e-01f, 1.9480756e-02f, -6.6659683e-01f, -2.3355092e-01f, -5.381171e-02f, -3.095951e-01f, -8.4748685e-02f,
    6.370792e-02f, -3.3080913e-03f, -5.119068e-01f, 3.257632e-01f, 4.24475e-01f, 1.0008452e-01f, 4.314042e-01f, -1.1430822e-01f,
    5.3045318e-02f, -1.6348156e-01f, -2.3746201e-01f, 2.904374e-01f, -6.9382024e-01f, 1.1512895e-01f, -7.850707e-02f, -1.6673037e-01f,
    6.421969e-02f, -1.909154e-01f, 1.3395056e-02f, -2.3245512e-01f, -4.134262e-01f, -8.286782e-02f, 7.9415955e-02f, -1.8175305e-01f,
    1.16576545e-01f, -3.1967795e-01f, 1.0140948e-01f, 5.0024968e-02f, -4.348942e-02f, -1.23599164e-01f, 4.4326603e-01f, 5.949035e-02f,
    -2.4259958e-01f, 2.9506543e-01f, 1.8651706e-01f, -8.8158324e-02f, 5.243162e-01f, 3.100694e-01f, -1.11471534e-01f, -9.960545e-02f,
    -9.4275884e-02f, -2.1927504e-01f, -1.9888245e-01f, 2.601281e-01f, 2.627984e-01f, -3.1406525e-01f, 5.9599552e-02f, -6.0291376e-02f,
    1.3663848e-01f, 8.9791425e-02f, -3.729641e-01f, 4.36611e-02f, -1.3847288e-01f, -2.0840956e-01f, 6.885565e-02f, -1.899828e-01f,
    -2.2599815e-01f, -7.1359403e-03f, -2.9344803e-01f, -4.0471387e-01f, 4.2035314e-01f, -1.1271191e-01f, 3.369875e-01f, -2.765218e-01f,
    1.377606e-01f, 2.349109e-02f, 2.379582e-02f, 1.731975e-01f, 1.7715026e-01f, 2.1465795e-01f, -4.8251455e-03f, -2.1146502e-01f,
    -1.05998956e-01f, -3.9907646e-01f, -1.3745198e-01f, -2.2144976e-01f, 1.8590681e-01f, -2.9464338e-02f, -4.9591144e-03f, -1.1266368e-02f,
    -2.3697689e-01f, 1.63272e-02f, 3.6057565e-01f, 5.3675972e-02f, -2.2175206e-02f, 2.7247348e-01f, -2.860036e-01f, -2.612122e-01f,
    -1.2012641e-02f, 1.2226823e-01f, 1.2237289e-01f, 1.8935357e-01f, -3.2644644e-02f, -1.457173e-01f, -1.9943375e-02f, 1.7506151e-01f,
    1.7044449e-01f, -1.7787652e-01f, -3.666583e-01f, 1.334672e-01f, -8.939244e-03f, -2.1002033e-01f, 1.1118237e-01f, -2.5781974e-01f,
    -1.1667154e-01f, 2.7399942e-01f, 5.4571874e-02f, 4.636822e-03f, 1.3810131e-01f, 1.5623644e-01f, 2.9133308e-01f, 1.584035e-01f,
    -1.2333125e-02f, 2.1772398e-01f, 4.265092e-01f, 1.6676101e-01f, 9.890388e-02f, -2.7685344e-02f, 1.4899196e-01f, 2.7176103e-01f,
    -2.8812668e-01f, -5.180138e-01f, -5.4721206e-01f, 1.19786546e-01f, -1.7103161e-01f, -1.3102867e-01f, 4.8217645e-01f, -2.9597187e-02f,
    3.6217127e-02f, -1.01756044e-01f, 1.3762316e-02f, 2.4867952e-02f, -2.6550707e-01f, 2.8575015e-01f, 4.7366333e-01f, -3.8299856e-01f,
    -3.8761255e-01f, 8.1931e-02f, 2.2161223e-03f, 1.4687286e-01f, -1.0340424e-01f, -1.0686959e-01f, -1.3574617e-01f, -1.1011661e-01f,
    2.91712e-01f, 9.909027e-02f, 6.889623e-02f, -1.3805811e-01f, 1.8395261e-01f, -4.8654187e-01f, 1.9383874e-02f, 2.116134e-01f,
    3.2705396e-01f, -1.2394918e-01f, -1.1604184e-01f, -4.765818e-02f, -2.6037088e-02f, 1.9223213e-01f, -1.6368113e-02f, -1.00335395e-02f,
    2.0906998e-01f, -1.7268744e-01f, -4.5664302e-01f, 4.083844e-02f, 3.228962e-01f, 1.5694569e-01f, -9.870022e-02f, -2.9918545e-01f,
    2.0561728e-01f, -2.7699701e-02f, 9.485817e-02f, 9.217992e-02f, -3.7909746e-01f, 3.1720695e-01f, 4.0338314e-01f, -2.1294264e-02f,
    1.5755002e-01f, -1.373399e-01f, -1.29002e-01f, -4.2635578e-01f, -1.3405176e-01f, -3.973143e-02f, -5.2714795e-02f, 2.1919872e-01f,
    -4.110459e-01f, -2.7715635e-02f, 9.444839e-02f, 8.505823e-02f, 6.920146e-02f, -2.576829e-01f, -1.1135867e-01f, 5.5399187e-02f,
    3.1966314e-01f, 1.9589858e-02f, 5.7727825e-02f, -1.5807295e-01f, 9.748436e-03f, 1.6226986e-01f, -2.9337365e-02f, 2.9999933e-01f,
    -2.801774e-02f, -7.363224e-02f, -2.9583248e-01f, -4.5864892e-01f, -3.5589643e-02f, -1.8155053e-01f, -2.7893227e-01f, -2.8321465e-02f,
    -9.620057e-02f, -1.0210469e-01f, -1.1708181e-02f, -3.500595e-01f, -5.1589376e-01f, 6.2229864e-02f, 1.14251465e-01f, 5.955541e-01f,
    -2.1329077e-01f, 5.6035887e-02f, 3.0565304e-01f, 2.2779402e-01f, 1.8807025e-01f, -5.9366584e-02f, -1.9054204e-01f, 2.3103088e-01f,
    -2.7041373e-01f, -6.1194265e-01f, 7.171364e-01f, 3.4194972e-02f, 7.480104e-02f, 1.7904682e-01f, 3.0952495e-01f, 2.0908056e-01f,
    -9.4369635e-02f, -2.4203446e-02f, -3.3983818e-01f, -1.3565303e-01f, -2.00335e-01f, 3.465538e-02f, 3.9208345e-03f, -1.4412218e-01f,
    -6.810298e-02f, 3.4924847e-01f, -1.09912835e-01f, -1.7973666e-01f, -1.18125476e-01f, -9.288475e-02f, 1.588135e-01f, 1.9434133e-01f,
    6.4027764e-02f, 6.83703e-02f, 1.5291433e-01f, -1.5406358e-01f, 3.3039466e-01f, -1.2590754e-01f, 1.0640197e-01f, 9.397152e-02f,
    -3.2134777e-01f, -6.8460524e-02f, -1.2375925e-01f, 2.2505863e-01f, 2.817998e-01f, 4.8690003e-01f, -2.8735694e-01f, 2.0751257e-01f,
    3.607182e-01f, 1.14339374e-01f, 2.2090997e-01f, -3.4604183e-01f, 1.0823536e-01f, 3.1795657e-01f, -1.4470547e-01f, -3.714785e-02f,
    2.7291413e-02f, 1.9569674e-03f, -1.7001887e-01f, -2.7862206e-01f, -3.689763e-02f, 3.5231417e-01f, 4.0914144e-02f, -3.7533543e-01f,
    2.5889745e-01f, -3.603185e-01f, -1.8983027e-01f, 8.3027616e-02f, 2.7415115e-02f, 1.1524616e-01f, 1.6625606e-01f, 4.4607398e-01f,
    3.1103376e-01f, 4.483991e-01f, 2.511806e-01f, -3.9636187e-02f, -2.4779702e-02f, -2.976894e-02f, 3.889803e-01f, 4.2734304e-01f,
    2.4199085e-01f, -2.797326e-01f, 3.3981662e-02f, 1.810547e-02f, -2.3885807e-01f, -1.2987994e-01f, 4.1107696e-01f, 3.0438125e-01f,
    -3.915116e-01f, -7.057131e-02f, 2.5265077e-01f, 2.0844674e-01f, -2.5127706e-01f, 3.3071336e-01f, -1.2548412e-01f, 1.3817947e-01f,
    2.321241e-01f, 1.1114031e-01f, 1.1770756e-01f, 4.122167e-01f, 1.1890757e-01f, -1.0696479e-01f, -1.0235379e-01f, -1.5078202e-01f,
    1.3496672e-01f, 4.9578127e-02f, 1.5096124e-01f, 1.5677745e-02f, 3.9370876e-02f, -3.5824496e-01f, -2.9046962e-01f, -2.7142403e-01f};
static const real h_w_body_cell_B_imag[512] = {
    6.95214e-02f, -3.9496556e-01f, 9.7408876e-02f, -1.1460663e-01f, 2.0988551e-01f, 4.303739e-01f, 1.7476685e-01f, 3.395968e-01f,
    2.3467441e-01f, -1.8856774e-01f, 2.4564098e-01f, -5.603851e-01f, -2.1282719e-01f, 2.2271383e-01f, 2.6909676e-01f, 3.564203e-01f,
    -9.2861295e-02f, 1.1035417e-02f, -2.3327185e-02f, 9.087385e-02f, -2.483841e-02f, 2.6336396e-01f, -1.04458e-02f, -1.2652233e-01f,
    -3.028486e-01f, -9.184541e-02f, -1.3297433e-01f, 1.6987087e-01f, -6.298415e-02f, 4.5176628e-01f, -2.100048e-01f, -5.0006334e-02f,
    -1.2893578e-01f, -5.3231645e-01f, 8.434848e-02f, 3.5909852e-01f, -2.2671105e-01f, 2.1924305e-01f, -1.0804025e-01f, 2.0272785e-01f,
    -5.130856e-01f, 7.568525e-02f, -2.2831424e-01f, 2.3384653e-01f, -4.2038956e-01f, -1.6719858e-01f, 4.7120446e-01f, -2.3858747e-02f,
    1.5096858e-01f, -4.152017e-01f, -3.3518356e-01f, -3.9843783e-02f, 1.7235972e-01f, -1.5797772e-01f, 7.8061104e-01f, -6.016089e-01f,
    -2.4446458e-01f, -3.8921326e-02f, 2.6787186e-01f, -1.7486775e-01f, 7.426873e-02f, -4.2466092e-01f, -4.905178e-01f, -1.7434995e-01f,
    2.9632092e-01f, -3.1090513e-01f, 1.1143767e-02f, 6.174669e-02f, -3.3266854e-02f, -4.407189e-01f, -9.2632346e-02f, 3.4133443e-01f,
    6.0985357e-02f, -2.556655e-01f, -7.2164285e-01f, 4.8602935e-02f, -2.2991624e-01f, 1.4500372e-01f, 1.04409195e-01f, 9.023452e-03f,
    -1.1753545e-01f, 9.444871e-02f, 8.177841e-01f, -3.2135515e-04f, -3.008463e-01f, 2.9600236e-01f, -7.762177e-02f, 1.7008784e-01f,
    -2.9704908e-01f, -4.542298e-01f, 2.212328e-01f, -7.1970575e-02f, 2.3316778e-01f, -1.08871005e-01f, -2.093739e-01f, -9.504745e-02f,
    1.19551316e-01f, -1.9669816e-01f, -2.649341e-01f, -4.8299104e-02f, -1.4969236e-02f, 2.676698e-01f, -2.2163737e-01f, 4.6557058e-02f,
    1.4950234e-01f, -3.9301687e-01f, 3.100178e-01f, -4.6077585e-01f, -3.910123e-01f, 2.5698152e-01f, -1.3567458e-01f, 2.8547642e-01f,
    9.6178316e-02f, 1.5171024e-01f, 1.547057e-01f, -1.4106831e-01f, -1.5112926e-02f, 1.2879233e-01f, -1.9499254e-01f, -2.3659015e-01f,
    3.1689626e-01f, -1.1986695e-01f, -4.118821e-01f, -1.6832861e-01f, -5.099465e-01f, -2.0481451e-01f, -1.4669344e-01f, -4.377251e-01f,
    -3.3377573e-02f, 1.4166246e-01f, -2.014141e-01f, -1.2604028e-01f, -1.6443923e-01f, -4.5612853e-02f, -8.961181e-02f, 1.7578019e-01f,
    -2.50915e-01f, 7.393487e-02f, -8.864573e-02f, 2.2586323e-01f, -7.259348e-02f, -4.310694e-01f, -8.289955e-02f, 2.6685062e-01f,
    -2.6786557e-01f, -1.4362262e-01f, 1.7788666e-01f, -2.3505384e-02f, -1.4569277e-01f, -5.504083e-02f, -2.933778e-01f, 2.1808474e-01f,
    -3.2179114e-01f, -9.679209e-02f, -9.419656e-02f, 2.2712652e-02f, 6.452862e-03f, -8.583107e-02f, -9.60849e-02f, 1.6655831e-01f,
    -3.824695e-01f, 1.506415e-01f, 4.561456e-02f, 4.228362e-01f, 1.4527613e-01f, 1.5175433e-01f, 1.4749794e-01f, -3.038193e-01f,
    2.5317138e-01f, 1.5854925e-01f, -8.920653e-02f, 4.324616e-01f, 3.6238176e-01f, 2.2662053e-01f, 1.6856948e-01f, 6.555409e-02f,
    -1.3143189e-01f, -1.6900506e-02f, 8.642674e-03f, -3.582719e-01f, -3.0631036e-01f, 5.3849667e-02f, -6.6408694e-02f, -3.507294e-02f,
    -2.90138e-01f, -3.0591652e-01f, 3.241438e-01f, -2.3943979e-01f, 5.347677e-02f, -1.8930414e-01f, 6.015868e-02f, -3.3212665e-02f,
    -3.7046823e-01f, -1.347903e-01f, -1.5543069e-01f, 5.555145e-01f, -4.1270512e-01f, -5.320745e-01f, -5.165248e-01f, 1.9990979e-01f,
    -3.1797794e-01f, 3.929093e-02f, -1.740064e-01f, 2.7012742e-01f, 2.532073e-01f, 4.7749277e-02f, 1.5412487e-01f, -2.5532994e-01f,
    1.918754e-01f, -2.469988e-01f, -1.1488194e-01f, 3.1888235e-02f, -1.4175849e-01f, 3.8185972e-01f, -1.9679512e-01f, -8.0722354e-02f,
    -2.1983914e-01f, -2.588224e-01f, -4.5608446e-02f, 2.2411795e-02f, 4.2274794e-01f, -2.76817e-03f, 2.363113e-01f, 2.7541292e-01f,
    -1.9513576e-01f, -1.6830707e-01f, -3.7721592e-01f, 1.007013e-01f, 9.496511e-02f, -5.3831894e-02f, -9.71592e-02f, 5.5232716e-01f,
    3.521897e-02f, -2.0885126e-01f, 1.2938888e-01f, -2.4805728e-01f, 5.540222e-01f, -4.1059977e-01f, 1.7395645e-02f, 1.1347915e-02f,
    -5.9985027e-02f, -6.88121e-01f, 2.625201e-01f, 1.1553194e-01f, -2.6983878e-01f, -1.3844214e-01f, -8.761756e-02f, -3.784074e-01f,
    4.907898e-02f, 1.9439892e-01f, -1.4311638e-01f, 5.425418e-01f, 6.956286e-02f, 1.7942537e-01f, -7.466789e-02f, -8.628231e-02f,
    9.899678e-03f, 2.7458447e-01f, -1.8546796e-01f, -8.594701e-02f, 2.1977443e-03f, -3.9247057e-01f, -1.8326756e-01f, -4.7495398e-01f,
    2.967552e-01f, -4.5721248e-02f, -1.002802e-01f, 6.920747e-03f, -1.4973855e-01f, -2.2491878e-01f, -1.0089793e-01f, -9.883962e-02f,
    4.1173604e-01f, -4.828035e-01f, 1.9013973e-02f, 3.0415595e-01f, -9.34335e-02f, -5.234312e-01f, 1.352942e-01f, -4.4406274e-01f,
    8.056068e-02f, -2.4862884e-02f, -1.266814e-01f, 1.2269315e-01f, -1.14377975e-01f, -1.5744932e-01f, -1.752533e-01f, 4.7963196e-01f,
    1.041116e-01f, 2.5581184e-01f, -3.444972e-01f, 1.3676046e-01f, -2.0205238e-01f, 1.5444593e-02f, 1.9705525e-01f, -2.4966402e-01f,
    7.077676e-02f, 2.0265901e-02f, 1.6917461e-01f, -3.3131648e-02f, 4.377723e-02f, 2.0386359e-01f, -1.8280959e-01f, 7.218632e-02f,
    -2.0167793e-01f, 1.1642857e-02f, -4.0088553e-02f, -2.0239432e-01f, 1.2674575e-01f, 1.5899189e-01f, 1.5561603e-01f, -6.9104716e-02f,
    -4.8238594e-02f, 1.9829598e-01f, -3.6624793e-02f, -9.714622e-02f, 4.674875e-01f, 3.5600703e-02f, 1.0332763e-01f, -8.42107e-02f,
    -2.1655424e-01f, -4.2809564e-01f, 7.625666e-02f, 8.264738e-02f, 2.5199172e-01f, -4.2904016e-01f, 3.6032537e-01f, -2.6570356e-01f,
    2.6485717e-01f, -2.2274686e-01f, 4.406131e-01f, -1.3492917e-01f, -3.6561973e-02f, -2.0742072e-01f, 8.388831e-02f, -2.9028043e-01f,
    6.847104e-02f, -1.7214921e-01f, 6.546162e-02f, -2.5907418e-01f, 1.690053e-01f, -3.9016703e-01f, 2.0591767e-01f, 2.4833968e-01f,
    1.4209089e-01f, 7.987815e-02f, 1.1025396e-01f, 3.3271736e-01f, -6.3524015e-02f, -5.4960236e-02f, 1.5512416e-01f, 8.060317e-02f,
    2.2331524e-01f, 3.6176383e-01f, 3.6600137e-01f, 1.9317293e-01f, 1.1706121e-01f, 7.009926e-01f, -2.0992541e-01f, 5.0530978e-02f,
    -9.296271e-02f, -1.6149421e-01f, -3.9443588e-01f, -5.477581e-02f, 1.2046855e-01f, -2.6733233e-02f, -1.15769014e-01f, -2.611109e-01f,
    3.310019e-01f, -1.2633243e-01f, -3.126922e-01f, 1.6380674e-01f, -9.767323e-02f, -1.00539416e-01f, 9.0284176e-02f, 7.856982e-02f,
    -1.2778665e-01f, -2.0332025e-01f, -4.7331735e-01f, 5.856578e-01f, -4.9411558e-02f, -8.330707e-02f, -2.1340595e-01f, 2.140265e-01f,
    -2.0766555e-01f, -2.1082035e-01f, -1.9190145e-01f, -3.9676283e-02f, 2.0744196e-01f, 3.8333404e-01f, 2.0771623e-01f, -1.8446071e-01f,
    -4.0528636e-02f, -7.5741255e-01f, -6.0506454e-03f, -1.5529767e-01f, -8.364979e-02f, -1.5452377e-01f, -2.3839578e-01f, 3.3997402e-01f,
    1.2163867e-01f, -3.9972392e-01f, 9.314947e-02f, 1.4373483e-01f, -1.0104821e-01f, 6.807193e-02f, -1.5586677e-01f, 1.9770248e-01f,
    3.2016966e-01f, 7.819828e-02f, -6.331379e-02f, -1.5180981e-01f, 2.7527413e-01f, -2.7821082e-01f, 3.0301508e-01f, -1.5985055e-02f,
    1.9254884e-01f, -1.9635408e-01f, 2.508483e-01f, 4.9249494e-01f, 2.9932576e-01f, 2.522306e-01f, -1.3742349e-01f, 2.7474248e-01f,
    -6.362407e-01f, -5.8342437e-03f, -2.943588e-01f, 2.397908e-02f, -1.901739e-01f, 8.4919745e-01f, 1.497882e-01f, -3.2989237e-01f,
    2.2085248e-01f, 7.39849e-02f, 2.8374037e-01f, 8.589704e-02f, -2.3092084e-01f, -4.9953215e-02f, -3.5215086e-01f, -1.15389615e-01f,
    -2.2805476e-01f, -2.3157398e-01f, -1.7911938e-01f, -9.666514e-02f, -2.637796e-01f, -3.2762885e-01f, 1.7775314e-01f, 1.7868026e-01f,
    -3.0335927e-01f, 4.2488763e-01f, 7.062562e-02f, 1.0677978e-01f, 4.0186557e-01f, -2.2963427e-01f, -2.8240576e-01f, 8.125931e-02f,
    2.0914976e-01f, 9.17581e-02f, -7.436629e-02f, 6.553072e-01f, 1.6734827e-01f, -5.579955e-02f, -6.4803797e-01f, 3.4828106e-01f,
    4.6361607e-01f, -1.8513054e-01f, -1.0580349e-01f, 1.9509426e-01f, -1.5679082e-01f, 9.611879e-02f, -2.2668783e-01f, 1.4070043e-01f,
    -1.9858663e-01f, -5.148384e-02f, 1.605312e-01f, 1.1891125e-01f, 8.628426e-02f, 1.9221295e-01f, 1.3614256e-02f, -2.368519e-01f,
    1.2920861e-01f, -3.5219538e-01f, 1.3265881e-01f, -2.8440833e-01f, 2.3038499e-01f, 2.0786767e-01f, -2.410843e-01f, 7.957593e-02f,
    4.6933153e-01f, 1.3082508e-02f, -2.2061622e-01f, 1.9269209e-01f, -2.3279221e-01f, 1.205521e-01f, -9.036332e-02f, -1.3313724e-01f,
    2.5381044e-01f, 3.2129243e-01f, -6.912218e-02f, 2.2203642e-01f, -4.0811342e-01f, 4.917387e-02f, 8.040726e-02f, 3.5249144e-02f,
    -1.204726e-01f, 2.9771727e-01f, 3.1979367e-02f, 1.2012609e-01f, -2.0161662e-01f, 1.6800663e-01f, -3.4369898e-01f, 3.649486e-01f};
static const real h_w_body_head_weight[1024] = {
    6.066972e-02f, -7.235044e-02f, -8.163512e-03f, -2.1185964e-02f, -1.6885966e-02f, 4.341069e-02f, -3.0430257e-03f, 8.564058e-02f,
    -8.4204376e-02f, 1.20684296e-01f, 1.1298698e-01f, 4.7831208e-02f, -1.0685992e-01f, 3.166172e-02f, 5.2926272e-02f, -1.0499412e-01f,
    -8.2988024e-02f, -1.0534307e-01f, 8.523515e-02f, 9.337783e-03f, 5.079758e-02f, 9.068456e-02f, -3.3845633e-02f, -1.2375417e-01f,
    -3.8031667e-02f, -1.244311e-01f, -1.008099e-01f, -8.4923685e-02f, -3.4913093e-02f, -1.08569264e-01f, 3.6242366e-02f, -1.0972747e-01f,
    -4.4146776e-03f, 2.33275e-02f, -8.535987e-02f, 7.3559284e-03f, -3.1186342e-02f, 8.286521e-02f, 2.6195914e-02f, -2.1474153e-02f,
    -1.1081594e-01f, 1.9699633e-03f, -4.0011853e-02f, -4.0461034e-02f, 9.5496505e-02f, 6.5115005e-02f, -5.8870584e-02f, 5.8168888e-02f,
    7.218447e-02f, -1.6180843e-02f, -1.18169755e-01f, -5.2801132e-02f, -7.166892e-02f, 1.239045e-01f, 3.0301303e-02f, -6.457308e-02f,
    -7.497704e-02f, 8.070347e-02f, -2.4217397e-02f, -3.0326635e-02f, 7.332474e-03f, -9.76595e-02f, -1.4925569e-02f, 7.8944564e-02f,
    -7.48989e-02f, 1.01403356e-01f, -8.941519e-02f, 5.6687504e-02f, -6.409007e-02f, 4.6064675e-02f, -9.931776e-02f, -7.649535e-02f,
    -2.756241e-02f, 4.1757554e-02f, -7.2346896e-02f, 1.3019979e-02f, 1.5817672e-02f, -6.8458915e-03f, 1.1228737e-01f, -3.2740623e-02f,
    -6.2948465e-04f, 9.737334e-02f, 5.438018e-02f, -5.2393198e-02f, 5.417967e-02f, 9.3407005e-02f, 1.0380691e-01f, 1.6750813e-02f,
    -3.5343766e-03f, 3.1686813e-02f, 6.7510575e-02f, 1.1947751e-04f, 9.8377794e-02f, -8.003172e-02f, -4.255533e-03f, 1.0283512e-01f,
    3.748396e-02f, 1.11846e-01f, 3.79014e-02f, 5.697006e-02f, 5.7935864e-02f, -1.1498919e-01f, 1.0134786e-02f, -9.840867e-02f,
    -5.903989e-02f, -1.1482337e-01f, -6.224838e-02f, -5.8964938e-02f, 8.188769e-02f, -4.6198368e-02f, 2.1097153e-02f, -1.8842548e-02f,
    -7.008585e-02f, -1.1414713e-01f, 1.2084335e-01f, 4.253462e-02f, 9.718096e-02f, 5.6482434e-02f, 1.2005651e-01f, 1.2213695e-01f,
    -7.2532535e-02f, -1.4333457e-02f, 1.2166679e-01f, -1.1204368e-01f, 1.3349742e-02f, 1.2427786e-01f, -8.168131e-03f, -1.7588854e-02f,
    5.72716e-02f, 4.426217e-02f, -6.790757e-03f, 1.0486862e-01f, -4.3985337e-02f, 1.4302969e-02f, 6.1810166e-02f, 1.9222915e-02f,
    1.1943686e-01f, -1.0785964e-01f, 1.6919315e-02f, -7.808465e-02f, 1.0797194e-01f, 6.9927305e-02f, 3.8042635e-02f, -9.076792e-02f,
    -3.5329044e-02f, 7.628986e-02f, 1.1733833e-01f, 1.6381651e-02f, -5.3663284e-02f, -6.604761e-02f, -1.2766421e-02f, -4.6523392e-02f,
    4.95947e-02f, 4.5031518e-02f, -9.46106e-02f, -5.7974577e-02f, 1.793003e-02f, 3.8532794e-02f, -1.09438896e-01f, 1.0384992e-01f,
    -9.8002404e-02f, -1.1444351e-01f, 8.4612966e-02f, -1.6384006e-02f, 1.0271966e-02f, -6.384772e-02f, 5.0248086e-02f, -6.812069e-02f,
    -8.0414176e-02f, -4.1879237e-02f, 7.1300864e-03f, 1.08171135e-01f, -1.9652188e-02f, 7.867646e-02f, -4.9414247e-02f, 8.318591e-02f,
    1.2220478e-01f, 6.636733e-02f, 6.320748e-02f, 9.668541e-02f, 8.5157126e-02f, 1.1806768e-01f, -1.1032897e-01f, 6.652397e-02f,
    -6.265372e-02f, 6.054023e-02f, 8.3444804e-02f, -5.648732e-03f, 1.2175137e-01f, -3.1954437e-02f, -1.0751843e-02f, -3.7265718e-03f,
    -7.19707e-02f, -3.4981847e-02f, 2.2569e-03f, 5.4029375e-02f, 1.5032232e-02f, -8.793804e-02f, -1.0204905e-01f, -1.1214036e-01f,
    1.1768484e-01f, 5.0608426e-02f, 5.826235e-02f, 9.031087e-02f, -6.974122e-02f, -1.02142304e-01f, -2.1812975e-02f, -9.35131e-02f,
    -1.1445972e-01f, -1.981917e-02f, -1.6821265e-02f, 5.7192296e-02f, 1.0359472e-01f, 6.9668084e-02f, -7.625607e-02f, -1.22148186e-01f,
    -5.0186694e-02f, -1.2488663e-02f, -4.2280465e-02f, -1.7651677e-02f, -7.620856e-02f, -1.0489157e-01f, 1.03616625e-01f, 2.8464437e-02f,
    3.7449896e-03f, -9.5100015e-02f, -2.3299664e-02f, 3.9429992e-02f, 1.14479244e-01f, -2.3695856e-02f, -1.0708392e-01f, 1.10037625e-02f,
    1.13363475e-01f, -4.9912393e-02f, -1.49285495e-02f, -1.2263268e-01f, -3.6472112e-02f, -9.558773e-02f, -1.2457344e-01f, -1.1892751e-01f,
    -1.1283702e-01f, 4.7032744e-02f, 6.449261e-02f, -1.1507571e-02f, -4.7700405e-03f, 9.7440034e-02f, 8.810201e-02f, -5.3017765e-02f,
    -1.2006581e-02f, 5.548027e-02f, -1.1372343e-01f, -7.687527e-02f, 3.2316744e-02f, 1.1377108e-01f, -2.7958155e-02f, 6.585172e-02f,
    9.3921274e-02f, 1.0250911e-01f, 1.591757e-02f, 2.5507987e-02f, -8.97094e-02f, -4.180479e-02f, 1.1565286e-01f, 1.1371881e-01f,
    4.6253413e-02f, 1.225386e-01f, -2.812013e-02f, -1.172559e-01f, -8.641729e-02f, 3.8329124e-02f, -2.3300111e-02f, 4.8901975e-02f,
    -9.86923e-02f, 1.2442112e-02f, 1.10964596e-01f, 9.489298e-03f, 6.1662227e-02f, 4.636228e-03f, -5.5965632e-02f, 2.4186999e-02f,
    8.5413426e-02f, -7.883045e-02f, 6.3522965e-02f, 4.021558e-02f, -1.210168e-02f, -7.076144e-03f, 2.1642148e-03f, -8.3667755e-02f,
    -1.00030124e-01f, -5.9814066e-02f, -1.21276915e-01f, -1.1396217e-01f, -4.8717886e-02f, -5.325824e-02f, 1.11833036e-01f, 9.137353e-02f,
    9.440485e-02f, -6.910211e-02f, 1.1219469e-01f, -6.2016934e-02f, 1.022726e-01f, 2.8129458e-02f, 9.02296e-02f, 5.781275e-02f,
    -6.1354697e-02f, 2.3921758e-02f, -8.039084e-02f, -6.3090205e-02f, 6.0913086e-02f, -1.0319573e-01f, 2.556169e-02f, 2.3226649e-02f,
    8.464411e-02f, -9.001464e-03f, 3.1662673e-02f, 1.0151923e-01f, 9.943882e-02f, -5.6797653e-02f, -1.9280612e-02f, 1.11714005e-01f,
    7.647225e-02f, 4.9958825e-02f, -1.7550975e-02f, 9.68093e-02f, -1.1407009e-01f, -5.197254e-02f, -1.8360347e-02f, 1.8171221e-02f,
    -1.125564e-01f, -5.290985e-02f, 6.702101e-02f, 3.0987084e-02f, -5.0643325e-02f, -1.2490016e-01f, 6.400168e-03f, -8.965668e-02f,
    -5.853054e-02f, -3.3160478e-02f, -4.273632e-02f, 1.20696604e-01f, 1.2372422e-01f, 1.4737844e-03f, -2.1680236e-02f, 2.2604972e-02f,
    1.22968376e-01f, -4.533717e-02f, 2.6392937e-04f, -6.966254e-02f, -1.908046e-02f, 8.805671e-02f, -4.2850494e-02f, 3.8636625e-02f,
    5.131957e-02f, -1.02820635e-01f, 6.811997e-02f, -9.474045e-02f, 9.3798965e-02f, 8.389741e-02f, 9.7816855e-02f, 8.835125e-02f,
    1.23964965e-01f, -6.612527e-02f, 1.0373616e-01f, 5.711013e-02f, -1.053502e-01f, -5.0014824e-02f, 1.1381078e-01f, 1.6513407e-02f,
    -5.069512e-02f, 9.6493185e-02f, -6.7970574e-02f, -4.0641516e-02f, 5.6877702e-02f, 8.105168e-02f, 8.96191e-02f, 1.0846707e-01f,
    7.519892e-02f, 1.2805879e-02f, -3.0732721e-02f, -4.1063398e-02f, -3.572625e-02f, -5.2140772e-02f, -3.0911565e-03f, -4.9584538e-02f,
    1.08166575e-01f, -1.0923779e-01f, 7.792258e-02f, -6.791031e-02f, -6.4587593e-03f, -1.8360972e-02f, -2.1238804e-02f, 9.154171e-02f,
    1.0435277e-01f, 7.509723e-02f, 1.549536e-02f, -1.15535825e-01f, -5.6185603e-02f, -1.1319813e-01f, 1.0244128e-01f, 1.4849603e-03f,
    5.3094923e-03f, 6.621975e-02f, 9.61557e-02f, 1.1325598e-02f, 2.7598202e-02f, 3.8020253e-02f, -5.9092045e-04f, 1.20028496e-01f,
    -5.5415243e-02f, -2.5651485e-02f, -9.053835e-02f, 4.168293e-02f, -3.752312e-02f, -6.890756e-02f, 7.914612e-02f, 5.949098e-02f,
    -4.868096e-02f, -2.2752345e-02f, -1.244151e-01f, -2.9192954e-02f, -6.6069484e-02f, 4.7421873e-02f, -2.387765e-02f, 4.444313e-02f,
    -6.444287e-02f, 5.230388e-02f, 1.7872214e-02f, 4.787475e-02f, -1.12109095e-01f, -6.300408e-02f, 1.1658308e-01f, 1.9027233e-02f,
    -4.607901e-02f, -1.2468994e-03f, 4.6444207e-02f, 9.203881e-03f, 2.925694e-03f, 1.0806993e-01f, -4.0588796e-02f, 3.0534059e-02f,
    -7.9211146e-02f, 1.1188078e-01f, 6.759933e-02f, 1.20233476e-01f, 8.7800264e-02f, 3.156632e-02f, 8.98447e-02f, -3.5285622e-02f,
    -2.8593868e-02f, -1.0388458e-01f, 6.3539475e-02f, 1.03309184e-01f, -5.7415605e-02f, 5.867222e-02f, 8.672142e-02f, 6.762871e-02f,
    -2.0331442e-03f, -4.1400075e-02f, -1.1423379e-01f, 3.4510672e-02f, 3.4669578e-02f, -1.1806303e-01f, 4.454094e-02f, -5.227819e-02f,
    -3.8035184e-02f, 3.9161503e-02f, 3.153318e-02f, 9.690559e-02f, 3.3041626e-02f, 5.2946657e-02f, -8.5657835e-04f, -7.673311e-02f,
    -1.5790403e-02f, 5.7860732e-02f, -4.289782e-02f, -1.5076637e-02f, 1.2238154e-01f, 8.402607e-02f, 5.983454e-02f, 4.7228694e-02f,
    7.836655e-02f, -7.045928e-02f, 5.3096563e-02f, 7.6123565e-02f, 9.040508e-02f, 3.7378073e-02f, -2.6197195e-02f, -5.8271468e-02f,
    -2.61873e-04f, -1.02615535e-01f, -3.398025e-02f, -1.1808577e-01f, -1.1069992e-01f, -7.179549e-02f, -5.279517e-02f, 5.6759328e-02f,
    -1.1339891e-01f, 1.2138575e-02f, 5.5452913e-02f, 4.765302e-03f, 3.5805106e-02f, -3.6531985e-03f, -5.979836e-03f, -5.767715e-02f,
    -6.061387e-02f, -2.005428e-02f, 7.0172966e-02f, -7.610652e-02f, 9.647483e-02f, 7.719147e-02f, -8.881861e-02f, -7.858917e-02f,
    2.7867615e-02f, -1.24908e-01f, 7.123816e-02f, -5.891025e-03f, -1.249333e-01f, 1.1821622e-01f, -5.782786e-02f, 3.1713247e-02f,
    2.5109917e-02f, 5.540827e-02f, -9.99808e-02f, 8.2674205e-02f, -3.6823273e-02f, 2.1708041e-02f, -3.5639107e-02f, -6.511915e-02f,
    -1.0683745e-02f, -2.9257834e-02f, 6.0260683e-02f, -1.2407988e-01f, 2.4281144e-02f, 6.550607e-02f, 3.1518996e-02f, 6.8107545e-03f,
    -2.2087306e-02f, 6.250003e-02f, -4.657322e-02f, -4.369977e-02f, -5.470243e-02f, 1.1108944e-01f, -2.8610557e-02f, 9.334144e-02f,
    -9.477067e-02f, 5.7491183e-02f, -3.0747741e-02f, 3.805545e-02f, -3.1299204e-02f, -7.577127e-02f, -3.513837e-02f, -1.1690074e-01f,
    1.19060546e-01f, 1.1896759e-02f, 3.4032136e-02f, 8.192712e-02f, -6.6725135e-02f, 6.5288186e-02f, 7.694918e-02f, 6.482899e-03f,
    -8.713451e-02f, -2.2205114e-02f, 4.1294873e-02f, 1.4707357e-02f, 4.6593398e-02f, -5.865991e-03f, 4.9957335e-02f, 6.342912e-02f,
    -6.5297246e-02f, 8.926904e-02f, 5.1865578e-02f, -7.436526e-02f, -8.217612e-02f, -2.9951066e-02f, -8.679649e-02f, 1.01460695e-01f,
    -1.1156797e-03f, -6.655845e-02f, 1.23227835e-01f, -6.1461747e-02f, 2.3239523e-02f, 9.354791e-02f, 9.208852e-02f, 2.9071331e-02f,
    -1.24961436e-01f, 1.11226946e-01f, 2.338487e-02f, -9.774947e-02f, 1.0847151e-01f, 1.1460671e-01f, -1.7418802e-02f, -1.1889157e-01f,
    1.8206716e-02f, -1.5580654e-03f, -1.1996502e-01f, -3.7253767e-02f, 1.6263127e-03f, -1.0535091e-01f, -3.3115238e-02f, 1.9517899e-02f,
    -8.74455e-02f, -5.9733868e-02f, 7.3298484e-02f, -8.812338e-03f, 3.2686085e-02f, -8.639622e-02f, 1.2496549e-01f, -6.716773e-02f,
    9.4218016e-02f, 6.013185e-03f, -4.822126e-02f, 3.0556917e-02f, 1.0227463e-01f, -3.3569217e-02f, -8.7512136e-02f, -8.991626e-02f,
    2.4784684e-02f, 5.181533e-02f, -5.4360747e-02f, 1.16041005e-01f, 6.1888486e-02f, -3.0710816e-02f, 3.8568825e-02f, -1.2403384e-01f,
    2.7771324e-02f, -9.170142e-02f, 5.9775114e-02f, 3.0941218e-02f, -1.14084035e-01f, -1.714614e-02f, -1.904869e-02f, -1.5627444e-03f,
    3.397116e-02f, 6.3934326e-02f, 1.638931e-02f, -4.204023e-02f, 9.346804e-02f, -3.6860883e-02f, 8.514273e-02f, 1.1586055e-01f,
    -3.6525667e-02f, 6.549522e-02f, 5.847597e-02f, -1.9534707e-02f, -4.2645454e-02f, -7.3183596e-02f, -1.062994e-01f, 1.8121958e-02f,
    -3.1318724e-02f, -2.4132907e-02f, 6.7212135e-02f, 2.698779e-03f, -5.673963e-02f, 2.291292e-03f, -3.6716223e-02f, 7.8775555e-02f,
    -2.3130476e-03f, -2.7463853e-02f, 3.8683444e-02f, -1.0286042e-01f, -5.5505782e-02f, 2.8013557e-02f, 1.14075124e-01f, 4.9768806e-02f,
    -8.656493e-02f, 7.9339534e-02f, 9.5314115e-02f, 6.413624e-02f, 2.1782786e-02f, 9.462804e-03f, 8.150846e-03f, 3.0350327e-02f,
    -8.396426e-02f, 8.737057e-03f, -2.1914393e-02f, -1.0951549e-02f, -8.989981e-02f, 6.506148e-02f, -2.660951e-02f, -6.0716987e-02f,
    -8.513579e-02f, -1.1837652e-01f, -3.2173991e-03f, 9.046638e-02f, -2.5738984e-02f, -1.9404382e-02f, 6.0348153e-02f, -6.720266e-02f,
    -9.0752006e-02f, -3.3616155e-02f, 8.810225e-02f, 1.217196e-01f, -5.8619976e-03f, 1.9610494e-02f, -3.4966618e-02f, -1.6870558e-02f,
    2.1467984e-02f, 1.1192262e-02f, 6.000948e-02f, -1.0259619e-01f, 1.1861324e-05f, -1.236895e-01f, -6.1389625e-02f, 8.44433e-02f,
    4.6663463e-02f, -5.6511015e-02f, -8.782691e-02f, 3.665507e-02f, -1.7554551e-02f, -4.6385497e-02f, 4.2850673e-02f, -9.456119e-02f,
    3.24139e-02f, 3.2265723e-02f, 8.3563596e-02f, -8.7248385e-03f, 5.932659e-03f, 1.207259e-01f, -1.4146298e-02f, -3.5702586e-02f,
    -7.9551935e-02f, 3.8653612e-02f, 2.885592e-02f, -2.8369457e-02f, 7.715353e-02f, 9.923595e-02f, 7.803661e-02f, 7.00084e-02f,
    -1.2495801e-01f, 3.947398e-02f, -2.8334975e-02f, 4.283786e-02f, 7.1356356e-02f, 7.382342e-02f, -8.9447916e-02f, 8.261609e-02f,
    8.033574e-02f, -1.1772609e-01f, -9.258002e-03f, 2.263087e-02f, -2.0116568e-04f, 1.6369909e-02f, 1.0028836e-01f, -1.1116609e-01f,
    -1.3516158e-02f, 2.7576327e-02f, 1.02871776e-01f, 2.0157129e-02f, 1.0150477e-01f, 6.8544954e-02f, 6.432116e-02f, 3.767374e-02f,
    1.1647743e-01f, 8.550149e-02f, 1.2155804e-01f, 2.2725493e-02f, 3.315139e-02f, 2.440849e-02f, -4.8330158e-02f, 6.984657e-02f,
    7.106823e-02f, -1.1224657e-02f, 9.345555e-02f, 1.2410432e-01f, -4.62102e-02f, -9.2140496e-02f, -9.312451e-03f, 5.6954443e-02f,
    -9.758645e-02f, -8.140805e-02f, 8.869028e-02f, -5.8741778e-02f, 7.329041e-02f, -2.0919055e-02f, 6.3657016e-02f, -1.5646875e-02f,
    -2.3974001e-02f, 4.8012286e-02f, 9.55801e-02f, -4.2522997e-02f, 2.3561299e-02f, 3.0988574e-02f, 1.3316035e-02f, -1.1542112e-02f,
    2.5382876e-02f, 8.167535e-03f, 7.862151e-02f, 1.1376634e-01f, 9.283751e-02f, -6.641087e-02f, -7.183722e-02f, 3.4295052e-02f,
    1.2207806e-01f, 9.797123e-02f, -1.0614461e-01f, 7.571751e-02f, 2.625373e-02f, -2.5994778e-02f, -8.457145e-02f, -1.015811e-01f,
    2.4889112e-02f, -4.503745e-02f, 9.0669096e-02f, 2.032724e-02f, 8.782163e-02f, -3.205535e-02f, 1.0845971e-01f, -7.121703e-02f,
    7.05398e-02f, 1.09187424e-01f, -5.5178583e-02f, 9.820834e-02f, -3.0038923e-02f, -8.297601e-02f, 7.1612e-04f, 1.02146804e-01f,
    -7.106754e-02f, -5.392006e-02f, 1.221022e-02f, -3.642699e-02f, 7.176873e-02f, -1.78729e-02f, -2.0286053e-02f, 1.828751e-02f,
    -3.1735003e-02f, 8.138713e-02f, -7.270911e-02f, -1.20242774e-01f, 1.6502649e-02f, -4.5125335e-02f, -2.7273327e-02f, 6.7685366e-02f,
    -1.0370082e-01f, 2.4589986e-02f, 1.3902307e-02f, -3.5363227e-02f, 3.8305998e-02f, -3.739959e-02f, -5.0346136e-02f, 7.0655346e-04f,
    -1.1905387e-01f, 8.421421e-03f, -4.4521213e-02f, -4.123351e-02f, -3.5811365e-02f, 9.196386e-02f, -5.273789e-03f, 5.352676e-02f,
    -9.669235e-02f, 1.8184036e-02f, -6.7168474e-03f, 1.074532e-01f, 1.0420987e-01f, 1.18679285e-01f, -2.0000637e-03f, -1.03467256e-01f,
    -3.7575632e-02f, 9.928784e-02f, -5.1732868e-02f, -1.5298873e-02f, 2.7808458e-02f, 1.2395424e-01f, -1.0085988e-01f, 2.1522075e-02f,
    -4.2844832e-02f, 9.418127e-02f, 8.650875e-02f, -8.755925e-02f, 3.0959904e-02f, -7.716662e-02f, -5.8739662e-02f, 1.00847095e-01f,
    -1.244694e-02f, -1.2434885e-01f, 1.1310527e-01f, 8.2834125e-02f, -8.310896e-02f, 1.1444238e-01f, 2.2367507e-02f, 2.4395376e-02f,
    2.0136476e-02f, 2.0536274e-02f, 1.6565561e-02f, 1.15118206e-01f, 9.7866684e-02f, -2.6714802e-03f, -5.4947227e-02f, 4.6936393e-02f,
    -9.795004e-02f, 2.288431e-02f, 9.319463e-02f, 6.8531036e-03f, -2.9745907e-02f, -1.0201913e-01f, -1.0328096e-01f, 8.796838e-02f,
    -6.3114464e-02f, 9.524256e-03f, -5.926293e-02f, -9.645671e-03f, -5.8552384e-02f, 8.264014e-02f, 5.523029e-02f, -3.9721727e-03f,
    -8.984178e-02f, 8.31373e-02f, -1.233539e-02f, 1.03212535e-01f, 1.1041826e-01f, -9.130061e-02f, -2.5798172e-02f, 1.0789281e-01f,
    -1.3727307e-02f, 8.1962496e-02f, -3.2299995e-02f, -2.3370802e-02f, -7.026446e-02f, 1.2227327e-01f, 5.789757e-03f, 8.269894e-02f,
    -9.955162e-02f, -9.582034e-02f, 2.6318133e-03f, 5.926612e-02f, 1.0470459e-01f, -8.009544e-02f, 5.56418e-02f, -1.1236951e-01f,
    -2.134034e-02f, -9.88237e-02f, -8.085117e-02f, -1.1775577e-01f, 2.6352912e-02f, 3.335774e-02f, -1.0753393e-01f, -5.8037758e-02f,
    -1.16141886e-01f, 1.583615e-02f, -1.2623668e-03f, 7.028878e-04f, 6.550613e-02f, 1.07013315e-01f, -1.06277674e-01f, -1.6009897e-02f,
    -9.468445e-02f, -1.2416291e-01f, 6.317839e-02f, -1.1419341e-01f, 1.0315481e-01f, 8.639246e-03f, -5.962819e-02f, 6.180173e-02f,
    1.2222865e-01f, 1.14596814e-01f, -8.3830595e-02f, 9.162426e-04f, -4.0267527e-02f, -5.132422e-02f, 1.2038112e-01f, -3.4022093e-02f,
    1.20798916e-01f, 2.2349596e-02f, 7.5909615e-02f, 1.1867669e-01f, -7.897526e-03f, -2.7816892e-03f, 1.7572582e-02f, 9.886801e-03f,
    -1.2853622e-02f, -6.735963e-02f, -1.0440338e-01f, -7.297829e-02f, -5.6665123e-02f, 8.988029e-02f, 3.1469434e-02f, 7.4350834e-04f,
    -2.1413207e-02f, -3.210643e-02f, 5.9072465e-02f, 9.363526e-02f, 2.7902305e-02f, -1.8847883e-03f, 2.0779818e-02f, 1.7493337e-02f,
    -4.823008e-02f, -2.4256319e-02f, -1.8989682e-02f, 8.7516695e-02f, -2.990529e-02f, -7.885453e-02f, 1.13607466e-01f, 4.8576295e-03f,
    5.680889e-03f, -7.11568e-02f, -6.523758e-02f, 3.1014621e-02f, 2.9382557e-02f, -1.20161355e-01f, -9.974903e-02f, 7.011086e-02f,
    -1.12968e-01f, -2.812147e-04f, 9.805858e-04f, 2.824393e-02f, 5.5448204e-02f, -9.9057615e-02f, -8.159298e-02f, -5.8097333e-02f,
    7.0616245e-02f, 1.1573288e-01f, -1.2162566e-02f, -1.1788067e-01f, -1.2011361e-01f, 8.22902e-02f, -1.183947e-01f, 1.8834978e-02f,
    -1.7584592e-02f, -1.05632454e-01f, 1.23940855e-01f, 1.1433092e-01f, 3.5342127e-02f, -4.6390653e-02f, 6.56355e-02f, 8.35574e-02f};
static const real h_w_out_weight[32] = {
    3.0597568e-02f, 2.0721042e-01f, -1.7734635e-01f, -4.9093783e-02f, 8.885956e-02f, 2.4957591e-01f, 2.13952e-01f, 1.3566673e-01f,
    2.587372e-02f, 2.2974283e-01f, -1.6511726e-01f, -1.2365782e-01f, 9.92704e-02f, 2.0005876e-01f, -1.6865605e-01f, 4.582995e-02f,
    2.0999658e-01f, -1.7283207e-01f, 1.4179534e-01f, 9.174627e-02f, -5.0367117e-03f, 1.5072894e-01f, -8.377612e-02f, -1.6327757e-01f,
    1.2677729e-01f, 1.555438e-01f, -1.4658052e-01f, -1.5477175e-01f, -5.2702308e-02f, -6.0755372e-02f, -1.0911542e-01f, 1.645521e-01f};
static const real h_memory_cell_turn_real[32] = {
    1.0e+00f, 1.0e+00f, 1.0e+00f, 1.0e+00f, 1.0e+00f, 1.0e+00f, 1.0e+00f, 1.0e+00f,
    1.0e+00f, 1.0e+00f, 1.0e+00f, 1.0e+00f, 1.0e+00f, 1.0e+00f, 1.0e+00f, 1.0e+00f,
    1.0e+00f, 1.0e+00f, 1.0e+00f, 1.0e+00f, 1.0e+00f, 1.0e+00f, 1.0e+00f, 1.0e+00f,
    1.0e+00f, 1.0e+00f, 1.0e+00f, 1.0e+00f, 1.0e+00f, 1.0e+00f, 1.0e+00f, 1.0e+00f};
static const uint32_t key[2] = {
    1797259609u, 2579123966u};

void learner_start(learner *self)
{
    memset(self, 0, sizeof *self);
    memcpy(self->q.w.body.encoder_weight, q_w_body_encoder_weight, sizeof q_w_body_encoder_weight);
    memcpy(self->q.w.body.cell.nu_log, q_w_body_cell_nu_log, sizeof q_w_body_cell_nu_log);
    memcpy(self->q.w.body.cell.theta_log, q_w_body_cell_theta_log, sizeof q_w_body_cell_theta_log);
    memcpy(self->q.w.body.cell.B_real, q_w_body_cell_B_real, sizeof q_w_body_cell_B_real);
    memcpy(self->q.w.body.cell.B_imag, q_w_body_cell_B_imag, sizeof q_w_body_cell_B_imag);
    memcpy(self->q.w.body.head_weight, q_w_body_head_weight, sizeof q_w_body_head_weight);
    memcpy(self->q.w.out_weight, q_w_out_weight, sizeof q_w_out_weight);
    memcpy(self->q.memory.cell.turn_real, q_memory_cell_turn_real, sizeof q_memory_cell_turn_real);
    memcpy(self->h.w.body.encoder_weight, h_w_body_encoder_weight, sizeof h_w_body_encoder_weight);
    memcpy(self->h.w.body.cell.nu_log, h_w_body_cell_nu_log, sizeof h_w_body_cell_nu_log);
    memcpy(self->h.w.body.cell.theta_log, h_w_body_cell_theta_log, sizeof h_w_body_cell_theta_log);
    memcpy(self->h.w.body.cell.B_real, h_w_body_cell_B_real, sizeof h_w_body_cell_B_real);
    memcpy(self->h.w.body.cell.B_imag, h_w_body_cell_B_imag, sizeof h_w_body_cell_B_imag);
    memcpy(self->h.w.body.head_weight, h_w_body_head_weight, sizeof h_w_body_head_weight);
    memcpy(self->h.w.out_weight, h_w_out_weight, sizeof h_w_out_weight);
    memcpy(self->h.memory.cell.turn_real, h_memory_cell_turn_real, sizeof h_memory_cell_turn_real);
    self->greedy = 1;
    memcpy(self->key, key, sizeof key);
}
