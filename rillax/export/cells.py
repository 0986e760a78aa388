"""The C of each recurrent cell: what it learns and remembers, its step, its gradient.

A cell's text has the same functions, whatever the cell, under the name that the layer has:

- ``cell_advance``: the memory after one more input, and what the layer above reads of it;
- ``cell_recall``: what is read of the memory as it stands;
- ``cell_peek``: what would be read after one more input; the memory stays;
- ``cell_back``: from the gradient of what was read to that of the state and of the input;
- ``cell_past``: from the gradient of the state to that of the vectors among the parameters;
- ``cell_past_of_peek``: the same for a peek;
- ``cell_size``: the sum of what those are, without their signs;
- ``cell_X`` for each rule X: every row of the parameters, with its gradient, given to the rule.

``ROW(n, member, gradient, gradient of the peek)`` stands for the rule's work on a row.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rillax.cells import RTU, FeedForward
from rillax.cells.rtu import LOG_RANGE
from rillax.export.kernels import ACTIVATION_NAMES
from rillax.export.rules import Row, with_rows
from rillax.export.text import fill, number

Leaf = tuple[str, str, int]
"""A member of a C struct, the path of the JAX leaf below the cell's, and how many numbers."""


@dataclass(frozen=True)
class CellText:
    """A recurrent layer in C."""

    name: str
    """What the layer is called: ``cell``, or ``cell_1`` in a stack."""
    units: int
    inputs: int
    features: int
    weights: tuple[Leaf, ...]
    """What is learned, in the order of the struct; so is what is remembered."""
    hidden: tuple[Leaf, ...]
    previous: tuple[Leaf, ...]
    sensitivity: tuple[Leaf, ...]
    structs: str
    functions: str
    past_of_peek: str
    rows: Callable[[Row], str]
    """The function that goes over the rows with a rule."""


# ---- RTU

_RTU_STRUCTS = """
/* $units recurrent trace units: h <- lambda h + gamma B x, with lambda = r exp(i Omega). */
typedef struct {
    learner_real nu_log[$units];    /* r = exp(-exp(nu_log)) */
    learner_real theta_log[$units]; /* Omega = exp(theta_log) */
    learner_real B_real[$units * $inputs];
    learner_real B_imag[$units * $inputs];
} ${cell}_weights;

/* The state h, and its sensitivity to the parameters:
   dh/dB_real = turn E, kept in a frame that turns with the unit. */
typedef struct {
    learner_real h_real[$units], h_imag[$units];
    learner_real previous_real[$units], previous_imag[$units];
    learner_real nu_real[$units], nu_imag[$units];       /* dh/dnu_log */
    learner_real theta_real[$units], theta_imag[$units]; /* dh/dtheta_log */
    learner_real E_real[$units * $inputs], E_imag[$units * $inputs];
    learner_real turn_real[$units], turn_imag[$units]; /* the product of all exp(i Omega) */
} ${cell}_memory;

/* What a step has computed. */
typedef struct {
    learner_real nu[$units], omega[$units], r[$units], gamma[$units];
    learner_real cosine[$units], sine[$units]; /* of Omega */
    learner_real lambda_real[$units], lambda_imag[$units];
    learner_real u_real[$units], u_imag[$units]; /* B x */
    learner_real h[2 * $units];                  /* real parts, then imaginary parts */
    learner_real features[2 * $units];           /* f(h) */
} ${cell}_pass;

/* The gradient of the state h, and through all of time of nu_log and theta_log. */
typedef struct {
    learner_real g[2 * $units];
    learner_real nu[$units], theta[$units];
} ${cell}_slope;
"""

_RTU_FUNCTIONS = """
/* ---- $cell: recurrent trace units (Elelimy et al., 2024) ---- */

static void ${cell}_coefficients(const ${cell}_weights *w, ${cell}_pass *p)
{
    for (int k = 0; k < $UNITS; k++) {
        p->nu[k] = MATH(exp)(clip(w->nu_log[k], $least, $most));
        p->omega[k] = MATH(exp)(clip(w->theta_log[k], $least, $most));
    }
    for (int k = 0; k < $UNITS; k++) {
        const real loss = -MATH(expm1)(-p->nu[k]); /* 1 - r, without cancellation next to r = 1 */
        p->r[k] = 1 - loss;
?gain|        p->gamma[k] = MATH(sqrt)(loss * (2 - loss));
?!gain|        p->gamma[k] = 1;
    }
    for (int k = 0; k < $UNITS; k++) {
        p->cosine[k] = MATH(cos)(p->omega[k]);
        p->sine[k] = MATH(sin)(p->omega[k]);
        p->lambda_real[k] = p->r[k] * p->cosine[k];
        p->lambda_imag[k] = p->r[k] * p->sine[k];
    }
}

/* h and what is read of it. */
static void ${cell}_read(const real *h, ${cell}_pass *p)
{
    copy(2 * $UNITS, p->h, h);
    $activation(2 * $UNITS, p->h, p->features);
}

static void ${cell}_advance(const ${cell}_weights *restrict w, ${cell}_memory *restrict m,
                            const real *restrict x, int fresh, ${cell}_pass *restrict p)
{
    real h[2 * $UNITS];
    ${cell}_coefficients(w, p);
    for (int k = 0; k < $UNITS; k++) {
        p->u_real[k] = dot($INPUTS, w->B_real + k * $INPUTS, x);
        p->u_imag[k] = dot($INPUTS, w->B_imag + k * $INPUTS, x);
    }
    if (fresh) {
        zero($UNITS, m->h_real);
        zero($UNITS, m->h_imag);
        zero($UNITS, m->nu_real);
        zero($UNITS, m->nu_imag);
        zero($UNITS, m->theta_real);
        zero($UNITS, m->theta_imag);
        zero($UNITS, m->turn_imag);
        for (int k = 0; k < $UNITS; k++)
            m->turn_real[k] = 1;
        zero($UNITS * $INPUTS, m->E_real);
        zero($UNITS * $INPUTS, m->E_imag);
    }
    copy($UNITS, m->previous_real, m->h_real);
    copy($UNITS, m->previous_imag, m->h_imag);
    for (int k = 0; k < $UNITS; k++) {
        const real a = p->lambda_real[k], b = p->lambda_imag[k];
        const real real_part = a * m->h_real[k] - b * m->h_imag[k];
        const real imag_part = a * m->h_imag[k] + b * m->h_real[k];
?gain|        const real dgamma = p->nu[k] * p->r[k] * p->r[k] / p->gamma[k];

        /* S <- lambda S + d(lambda)/dpsi h + d(gamma)/dpsi u */
        const real nu = m->nu_real[k], theta = m->theta_real[k];
        m->nu_real[k] = a * nu - b * m->nu_imag[k] - p->nu[k] * real_part;
        m->nu_imag[k] = a * m->nu_imag[k] + b * nu - p->nu[k] * imag_part;
?gain|        m->nu_real[k] += dgamma * p->u_real[k];
?gain|        m->nu_imag[k] += dgamma * p->u_imag[k];
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
    copy($UNITS, h, m->h_real);
    copy($UNITS, h + $UNITS, m->h_imag);
    ${cell}_read(h, p);

    /* E <- r E + gamma conj(turn) x */
    for (int k = 0; k < $UNITS; k++) {
        const real keep = p->r[k];
        const real real_drive = p->gamma[k] * m->turn_real[k];
        const real imag_drive = -p->gamma[k] * m->turn_imag[k];
        real *restrict E_real = m->E_real + k * $INPUTS, *restrict E_imag = m->E_imag + k * $INPUTS;
        for (int j = 0; j < $INPUTS; j++) {
            E_real[j] = keep * E_real[j] + real_drive * x[j];
            E_imag[j] = keep * E_imag[j] + imag_drive * x[j];
        }
    }
}

static void ${cell}_recall(const ${cell}_weights *w, const ${cell}_memory *m, const real *x,
                           ${cell}_pass *p)
{
    real h[2 * $UNITS];
    (void)x;
    ${cell}_coefficients(w, p);
    copy($UNITS, h, m->h_real);
    copy($UNITS, h + $UNITS, m->h_imag);
    ${cell}_read(h, p);
}

/* One step on x from the memory as it is; now holds the coefficients. */
static void ${cell}_peek(const ${cell}_weights *restrict w, const ${cell}_memory *restrict m,
                         const ${cell}_pass *restrict now, const real *restrict x,
                         ${cell}_pass *restrict p)
{
    real h[2 * $UNITS];
    for (int k = 0; k < $UNITS; k++) {
        p->u_real[k] = dot($INPUTS, w->B_real + k * $INPUTS, x);
        p->u_imag[k] = dot($INPUTS, w->B_imag + k * $INPUTS, x);
    }
    for (int k = 0; k < $UNITS; k++) {
        const real a = now->lambda_real[k], b = now->lambda_imag[k];
        h[k] = a * m->h_real[k] - b * m->h_imag[k] + now->gamma[k] * p->u_real[k];
        h[$UNITS + k] = a * m->h_imag[k] + b * m->h_real[k] + now->gamma[k] * p->u_imag[k];
    }
    ${cell}_read(h, p);
}

/* dL/dh, and dL/dx by this step alone: gamma B^T dL/dh. */
static void ${cell}_back(const ${cell}_weights *restrict w, const ${cell}_pass *restrict now,
                         const ${cell}_pass *restrict p, const real *restrict g_features,
                         ${cell}_slope *restrict s, real *restrict g_x)
{
    ${activation}_back(2 * $UNITS, p->h, p->features, g_features, s->g);
    zero($INPUTS, g_x);
    for (int k = 0; k < $UNITS; k++) {
        const real g_real = now->gamma[k] * s->g[k], g_imag = now->gamma[k] * s->g[$UNITS + k];
        const real *B_real = w->B_real + k * $INPUTS, *B_imag = w->B_imag + k * $INPUTS;
        for (int j = 0; j < $INPUTS; j++)
            g_x[j] += g_real * B_real[j] + g_imag * B_imag[j];
    }
}

static void ${cell}_past(const ${cell}_memory *restrict m, ${cell}_slope *restrict s)
{
    for (int k = 0; k < $UNITS; k++) {
        const real g_real = s->g[k], g_imag = s->g[$UNITS + k];
        s->nu[k] = g_real * m->nu_real[k] + g_imag * m->nu_imag[k];
        s->theta[k] = g_real * m->theta_real[k] + g_imag * m->theta_imag[k];
    }
}

static real ${cell}_size(const ${cell}_slope *s)
{
    return size_of($UNITS, s->nu) + size_of($UNITS, s->theta);
}
"""

_RTU_PAST_OF_PEEK = """
/* The peek's own step, and through it (lambda^T g) the whole past. */
static void ${cell}_past_of_peek(const ${cell}_weights *restrict w,
                                 const ${cell}_memory *restrict m,
                                 const ${cell}_pass *restrict now, const ${cell}_pass *restrict p,
                                 ${cell}_slope *restrict s)
{
?!gain|    (void)p;
    for (int k = 0; k < $UNITS; k++) {
        const real a = now->lambda_real[k], b = now->lambda_imag[k];
        const real g_real = s->g[k], g_imag = s->g[$UNITS + k];
        const real t_real = a * g_real + b * g_imag, t_imag = a * g_imag - b * g_real;
        const real h_real = a * m->h_real[k] - b * m->h_imag[k];
        const real h_imag = a * m->h_imag[k] + b * m->h_real[k];
        real own_nu = -now->nu[k] * (g_real * h_real + g_imag * h_imag);
?gain|        own_nu += now->nu[k] * now->r[k] * now->r[k] / now->gamma[k]
?gain|                  * (g_real * p->u_real[k] + g_imag * p->u_imag[k]);
        const real own_theta = now->omega[k] * (g_imag * h_real - g_real * h_imag);
        s->nu[k] = t_real * m->nu_real[k] + t_imag * m->nu_imag[k];
        s->theta[k] = t_real * m->theta_real[k] + t_imag * m->theta_imag[k];
        /* of what is held at its bounds the peek's own step has no derivative */
        s->nu[k] += w->nu_log[k] > $least && w->nu_log[k] < $most ? own_nu : 0;
        s->theta[k] += w->theta_log[k] > $least && w->theta_log[k] < $most ? own_theta : 0;
    }
}
"""

_RTU_ROWS = """
/* dL/dpsi = dL/dh S, through all of time: $about. */
static void ${cell}_${rule}(const step *by, $parameters,
                            const ${cell}_memory *restrict m, const ${cell}_pass *restrict p,
?!next|                            const ${cell}_slope *restrict s$norm)
?next|                            const ${cell}_slope *restrict s, const real *restrict x_next,
?next|                            const ${cell}_slope *restrict s_next$norm)
{
    real d_real[$INPUTS], d_imag[$INPUTS];
?next|    real n_real[$INPUTS], n_imag[$INPUTS];
?!next|    (void)p;
    for (int k = 0; k < $UNITS; k++) {
        const real g_real = s->g[k], g_imag = s->g[$UNITS + k];
        const real *E_real = m->E_real + k * $INPUTS, *E_imag = m->E_imag + k * $INPUTS;
        /* E turns with the unit; turning g back instead costs one number per unit. */
        const real back_real = m->turn_real[k] * g_real + m->turn_imag[k] * g_imag;
        const real back_imag = m->turn_real[k] * g_imag - m->turn_imag[k] * g_real;
        for (int j = 0; j < $INPUTS; j++) {
            d_real[j] = back_real * E_real[j] + back_imag * E_imag[j];
            d_imag[j] = back_imag * E_real[j] - back_real * E_imag[j];
        }
?next|
?next|        /* The peek's own step, and through it (lambda^T g) the whole past. */
?next|        const real a = p->lambda_real[k], b = p->lambda_imag[k];
?next|        const real y_real = s_next->g[k], y_imag = s_next->g[$UNITS + k];
?next|        const real t_real = a * y_real + b * y_imag, t_imag = a * y_imag - b * y_real;
?next|        const real turned_real = m->turn_real[k] * t_real + m->turn_imag[k] * t_imag;
?next|        const real turned_imag = m->turn_real[k] * t_imag - m->turn_imag[k] * t_real;
?next|        const real own_real = p->gamma[k] * y_real, own_imag = p->gamma[k] * y_imag;
?next|        for (int j = 0; j < $INPUTS; j++) {
?next|            n_real[j] = turned_real * E_real[j] + turned_imag * E_imag[j];
?next|            n_imag[j] = turned_imag * E_real[j] - turned_real * E_imag[j];
?next|            n_real[j] += own_real * x_next[j];
?next|            n_imag[j] += own_imag * x_next[j];
?next|        }
        ROW($INPUTS, B_real + k * $INPUTS, d_real, n_real);
        ROW($INPUTS, B_imag + k * $INPUTS, d_imag, n_imag);
    }
    ROW($UNITS, nu_log, s->nu, s_next->nu);
    ROW($UNITS, theta_log, s->theta, s_next->theta);
}
"""


def _rtu(settings: RTU, name: str, inputs: int, activation: str) -> CellText:
    n, d = settings.units, inputs
    words = {
        "cell": name,
        "units": n,
        "inputs": d,
        "UNITS": f"{name}_units".upper(),
        "INPUTS": f"{name}_inputs".upper(),
        "activation": ACTIVATION_NAMES[settings.features or activation],
        "gain": settings.gain,
        "least": number(LOG_RANGE[0]),
        "most": number(LOG_RANGE[1]),
    }

    def rows(row: Row) -> str:
        text = fill(
            _RTU_ROWS,
            **words,
            rule=row.name,
            about=row.about,
            parameters=row.parameters(f"{name}_weights"),
            next=row.next,
            norm=row.last_parameter,
        )
        return with_rows(text, row)

    def pair(member: str, path: str, size: int) -> tuple[Leaf, Leaf]:
        return (f"{member}_real", f"{path}[0]", size), (f"{member}_imag", f"{path}[1]", size)

    return CellText(
        name=name,
        units=n,
        inputs=d,
        features=2 * n,
        weights=(
            ("nu_log", ".nu_log", n),
            ("theta_log", ".theta_log", n),
            ("B_real", ".B_real", n * d),
            ("B_imag", ".B_imag", n * d),
        ),
        hidden=pair("h", "", n),
        previous=pair("previous", "", n),
        sensitivity=(
            *pair("nu", ".nu_log", n),
            *pair("theta", ".theta_log", n),
            *pair("E", ".E", n * d),
            *pair("turn", ".turn", n),
        ),
        structs=fill(_RTU_STRUCTS, **words),
        functions=fill(_RTU_FUNCTIONS, **words),
        past_of_peek=fill(_RTU_PAST_OF_PEEK, **words),
        rows=rows,
    )


# ---- feed-forward

_FEEDFORWARD_STRUCTS = """
/* A dense layer of $units units in the place of a recurrence. */
typedef struct {
    learner_real weight[$units * $inputs];
    learner_real bias[$units];
} ${cell}_weights;

/* It remembers nothing that matters. */
typedef struct {
    learner_real h[$units];
    learner_real previous[$units];
} ${cell}_memory;

/* What a step has computed. */
typedef struct {
    learner_real normed[$units], factor; /* LayerNorm(h) */
    learner_real features[$units];       /* f(LayerNorm(h)) */
} ${cell}_pass;

/* The gradient of h. */
typedef struct {
    learner_real g[$units];
} ${cell}_slope;
"""

_FEEDFORWARD_FUNCTIONS = """
/* ---- $cell: a dense layer in the place of a recurrence ---- */

static void ${cell}_read(const real *h, ${cell}_pass *p)
{
    copy($UNITS, p->normed, h);
    p->factor = layer_norm($UNITS, p->normed);
    $activation($UNITS, p->normed, p->features);
}

static void ${cell}_advance(const ${cell}_weights *w, ${cell}_memory *m, const real *x, int fresh,
                            ${cell}_pass *p)
{
    if (fresh)
        zero($UNITS, m->h);
    copy($UNITS, m->previous, m->h);
    dense($UNITS, $INPUTS, w->weight, w->bias, x, m->h);
    ${cell}_read(m->h, p);
}

static void ${cell}_recall(const ${cell}_weights *w, const ${cell}_memory *m, const real *x,
                           ${cell}_pass *p)
{
    (void)w;
    (void)x;
    ${cell}_read(m->h, p);
}

static void ${cell}_peek(const ${cell}_weights *w, const ${cell}_memory *m, const ${cell}_pass *now,
                         const real *x, ${cell}_pass *p)
{
    real h[$UNITS];
    (void)m;
    (void)now;
    dense($UNITS, $INPUTS, w->weight, w->bias, x, h);
    ${cell}_read(h, p);
}

static void ${cell}_back(const ${cell}_weights *w, const ${cell}_pass *now, const ${cell}_pass *p,
                         const real *g_features, ${cell}_slope *s, real *g_x)
{
    (void)now;
    ${activation}_back($UNITS, p->normed, p->features, g_features, s->g);
    layer_norm_back($UNITS, p->normed, p->factor, s->g);
    dense_back($UNITS, $INPUTS, w->weight, s->g, g_x);
}

/* There is no past, and the only vector is the bias, whose gradient is that of h. */
static void ${cell}_past(const ${cell}_memory *m, ${cell}_slope *s)
{
    (void)m;
    (void)s;
}

static real ${cell}_size(const ${cell}_slope *s)
{
    return size_of($UNITS, s->g);
}
"""

_FEEDFORWARD_PAST_OF_PEEK = """
static void ${cell}_past_of_peek(const ${cell}_weights *w, const ${cell}_memory *m,
                                 const ${cell}_pass *now, const ${cell}_pass *p, ${cell}_slope *s)
{
    (void)w;
    (void)m;
    (void)now;
    (void)p;
    (void)s;
}
"""


def _feedforward(settings: FeedForward, name: str, inputs: int, activation: str) -> CellText:
    n, d = settings.units, inputs
    words = {
        "cell": name,
        "units": n,
        "inputs": d,
        "UNITS": f"{name}_units".upper(),
        "INPUTS": f"{name}_inputs".upper(),
        "activation": ACTIVATION_NAMES[activation],
    }
    return CellText(
        name=name,
        units=n,
        inputs=d,
        features=n,
        weights=(("weight", ".linear.weight", n * d), ("bias", ".linear.bias", n)),
        hidden=(("h", "", n),),
        previous=(("previous", "", n),),
        sensitivity=(),
        structs=fill(_FEEDFORWARD_STRUCTS, **words),
        functions=fill(_FEEDFORWARD_FUNCTIONS, **words),
        past_of_peek=fill(_FEEDFORWARD_PAST_OF_PEEK, **words),
        rows=lambda row: "",
    )


def cell_text(settings: Any, name: str, inputs: int, activation: str) -> CellText:
    """A recurrent layer in C; a ``ValueError`` names what cannot be exported."""
    if type(settings) is RTU:
        _refuse_rtu(settings)
        return _rtu(settings, name, inputs, activation)
    if type(settings) is FeedForward:
        return _feedforward(settings, name, inputs, activation)
    raise ValueError(
        f"the cell {type(settings).__name__} has no form in C; RTU and FeedForward have one"
    )


def _refuse_rtu(settings: RTU) -> None:
    for name, supported in (("gradient", "rtrl"), ("correction", "none")):
        if (value := getattr(settings, name)) != supported:
            raise ValueError(
                f"an RTU with {name}={value!r} has no form in C; {name}={supported!r} has one"
            )
