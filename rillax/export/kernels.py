"""The C that every learner shares: vectors, dense layers, random numbers, bytes."""

VECTORS = """
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
"""

TOTAL = """
static real total(int n, const real *a)
{
    real lane[LANES] = {0}, rest = 0;
    int i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int k = 0; k < LANES; k++)
            lane[k] += a[i + k];
    for (; i < n; i++)
        rest += a[i];
    return sum_of_lanes(lane) + rest;
}
"""

DENSE = """
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
"""

DENSE_BACK = """
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
"""

NORM = """
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
"""

_ELEMENTARY = """
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
"""

_EXPONENTIAL = """
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
"""

_EXPONENTIAL_LESS_1 = """
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
"""

_COSINE_AND_SINE = """
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
"""


def elementary(text: str) -> str:
    """The elementary functions that some C uses."""
    found = [
        function
        for name, function in (
            ("exponential(", _EXPONENTIAL),
            ("exponential_less_1(", _EXPONENTIAL_LESS_1),
            ("cosine_and_sine(", _COSINE_AND_SINE),
        )
        if name in text
    ]
    return "\n".join([_ELEMENTARY, *found]) if found else ""


ACTIVATIONS = {
    "leaky_relu": """
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
""",
    "tanh": """
static void hyperbolic(int n, const real *restrict y, real *restrict f)
{
    for (int i = 0; i < n; i++) {
        const real less = exponential_less_1(-2 * MATH(fabs)(y[i]));
        const real size = -less / (2 + less);
        f[i] = y[i] < 0 ? -size : size;
    }
}

/* dL/dy = dL/df (1 - f^2) */
static void hyperbolic_back(int n, const real *restrict y, const real *restrict f,
                            const real *restrict g, real *restrict g_y)
{
    (void)y;
    for (int i = 0; i < n; i++)
        g_y[i] = g[i] * (1 - f[i] * f[i]);
}
""",
}
ACTIVATION_NAMES = {"leaky_relu": "leaky_relu", "tanh": "hyperbolic"}
"""The C functions' names; ``tanh`` itself is libm's."""

RANDOM = """
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
"""

GUMBEL = """
/* An index from the softmax of n logits: the largest, each with noise -log(-log u). */
static int categorical(const uint32_t key[2], int n, const real *logits)
{
    int best = 0;
    real most = 0;
    for (int i = 0; i < n; i++) {
        const real u = uniform(key, i);
        const real noise = -MATH(log)(-MATH(log)(u > TINY ? u : TINY));
        if (i == 0 || noise + logits[i] > most) {
            best = i;
            most = noise + logits[i];
        }
    }
    return best;
}
"""

NORMAL = """
/* The inverse of erf (Giles, 2010). */
static real erf_inverse(real x)
{
    static const real centre[9] = {REAL(2.81022636e-08), REAL(3.43273939e-07), REAL(-3.5233877e-06),
                                   REAL(-4.39150654e-06), REAL(0.00021858087), REAL(-0.00125372503),
                                   REAL(-0.00417768164), REAL(0.246640727), REAL(1.50140941)};
    static const real tail[9] = {REAL(-0.000200214257), REAL(0.000100950558), REAL(0.00134934322),
                                 REAL(-0.00367342844), REAL(0.00573950773), REAL(-0.0076224613),
                                 REAL(0.00943887047), REAL(1.00167406), REAL(2.83297682)};
    const real w = -MATH(log1p)(-x * x);
    const real *by = w < 5 ? centre : tail;
    const real at = w < 5 ? w - REAL(2.5) : MATH(sqrt)(w) - 3;
    real p = by[0];
    for (int i = 1; i < 9; i++)
        p = by[i] + p * at;
    p *= x;
#ifdef LEARNER_DOUBLE
    for (int i = 0; i < 3; i++) /* Newton's method, for the digits that a float does not have */
        p -= (erf(p) - x) * exp(p * p) * 0.886226925452758014;
#endif
    return p;
}

/* The i-th of the numbers of a key, from the standard normal distribution. */
static real normal(const uint32_t key[2], int i)
{
    const real low = -1 + EPSILON / 2;
    const real u = uniform(key, i) * (1 - low) + low;
    return REAL(1.41421356237309505) * erf_inverse(u > low ? u : low);
}
"""

BYTES = """
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
"""
