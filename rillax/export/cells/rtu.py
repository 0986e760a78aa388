"""The C of recurrent trace units (``rillax.cells.rtu``)."""

from typing import Any

from rillax.cells import RTU
from rillax.cells.rtu import LOG_RANGE
from rillax.export.cells.cell import CellText, Leaf
from rillax.export.kernels import ACTIVATION_NAMES
from rillax.export.rules import Row, with_rows
from rillax.export.text import fill, number

_RTU_STRUCTS = """
/* $units recurrent trace units: h <- lambda h + gamma B x, with lambda = r exp(i Omega). */
typedef struct {
    learner_real nu_log[$units];    /* r = exp(-exp(nu_log)) */
    learner_real theta_log[$units]; /* Omega = exp(theta_log) */
    learner_real B_real[$units * $inputs];
    learner_real B_imag[$units * $inputs];
} ${cell}_weights;

?exact|/* The state h, and its sensitivity to the parameters:
?exact|   dh/dB_real = turn E, kept in a frame that turns with the unit. */
?!exact|/* The state h; its gradient reaches one step back. */
typedef struct {
    learner_real h_real[$units], h_imag[$units];
    learner_real previous_real[$units], previous_imag[$units];
?exact|    learner_real nu_real[$units], nu_imag[$units];       /* dh/dnu_log */
?exact|    learner_real theta_real[$units], theta_imag[$units]; /* dh/dtheta_log */
?exact|    learner_real E_real[$units * $inputs], E_imag[$units * $inputs];
?exact|    learner_real turn_real[$units], turn_imag[$units]; /* the product of all exp(i Omega) */
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

/* The gradient of the state h, and of nu_log and theta_log. */
typedef struct {
    learner_real g[2 * $units];
    learner_real nu[$units], theta[$units];
} ${cell}_slope;
"""

_RTU_FUNCTIONS = """
/* ---- $cell: recurrent trace units (Elelimy et al., 2024) ---- */

static void ${cell}_coefficients(const ${cell}_weights *restrict w, ${cell}_pass *restrict p)
{
    for (int k = 0; k < $UNITS; k++) {
        p->nu[k] = exponential(clip(w->nu_log[k], $least, $most));
        p->omega[k] = exponential(clip(w->theta_log[k], $least, $most));
    }
    for (int k = 0; k < $UNITS; k++) {
        const real loss = -exponential_less_1(-p->nu[k]); /* 1 - r; exact next to r = 1 */
        p->r[k] = 1 - loss;
?gain|        p->gamma[k] = MATH(sqrt)(loss * (2 - loss));
?!gain|        p->gamma[k] = 1;
    }
    cosine_and_sine($UNITS, p->omega, p->cosine, p->sine);
    for (int k = 0; k < $UNITS; k++) {
        p->lambda_real[k] = p->r[k] * p->cosine[k];
        p->lambda_imag[k] = p->r[k] * p->sine[k];
    }
}

/* u = B x */
static void ${cell}_drive(const ${cell}_weights *restrict w, const real *restrict x,
                          ${cell}_pass *restrict p)
{
    product($UNITS, $INPUTS, w->B_real, x, p->u_real);
    product($UNITS, $INPUTS, w->B_imag, x, p->u_imag);
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
    ${cell}_drive(w, x, p);
    if (fresh) {
        zero($UNITS, m->h_real);
        zero($UNITS, m->h_imag);
?exact|        zero($UNITS, m->nu_real);
?exact|        zero($UNITS, m->nu_imag);
?exact|        zero($UNITS, m->theta_real);
?exact|        zero($UNITS, m->theta_imag);
?exact|        zero($UNITS, m->turn_imag);
?exact|        for (int k = 0; k < $UNITS; k++)
?exact|            m->turn_real[k] = 1;
?exact|        zero($UNITS * $INPUTS, m->E_real);
?exact|        zero($UNITS * $INPUTS, m->E_imag);
    }
    copy($UNITS, m->previous_real, m->h_real);
    copy($UNITS, m->previous_imag, m->h_imag);
    for (int k = 0; k < $UNITS; k++) {
        const real a = p->lambda_real[k], b = p->lambda_imag[k];
        const real real_part = a * m->h_real[k] - b * m->h_imag[k];
        const real imag_part = a * m->h_imag[k] + b * m->h_real[k];
?exact_gain|        const real dgamma = p->nu[k] * p->r[k] * p->r[k] / p->gamma[k];
?exact|
?exact|        /* S <- lambda S + d(lambda)/dpsi h + d(gamma)/dpsi u */
?exact|        const real nu = m->nu_real[k], theta = m->theta_real[k];
?exact|        m->nu_real[k] = a * nu - b * m->nu_imag[k] - p->nu[k] * real_part;
?exact|        m->nu_imag[k] = a * m->nu_imag[k] + b * nu - p->nu[k] * imag_part;
?exact_gain|        m->nu_real[k] += dgamma * p->u_real[k];
?exact_gain|        m->nu_imag[k] += dgamma * p->u_imag[k];
?exact|        m->theta_real[k] = a * theta - b * m->theta_imag[k] - p->omega[k] * imag_part;
?exact|        m->theta_imag[k] = a * m->theta_imag[k] + b * theta + p->omega[k] * real_part;
        m->h_real[k] = real_part + p->gamma[k] * p->u_real[k];
        m->h_imag[k] = imag_part + p->gamma[k] * p->u_imag[k];
?exact|
?exact|        /* turn <- turn exp(i Omega), held at length one by a step of Newton's method */
?exact|        const real turned = m->turn_real[k] * p->cosine[k] - m->turn_imag[k] * p->sine[k];
?exact|        const real across = m->turn_real[k] * p->sine[k] + m->turn_imag[k] * p->cosine[k];
?exact|        const real length = REAL(1.5) - REAL(0.5) * (turned * turned + across * across);
?exact|        m->turn_real[k] = length * turned;
?exact|        m->turn_imag[k] = length * across;
    }
    copy($UNITS, h, m->h_real);
    copy($UNITS, h + $UNITS, m->h_imag);
    ${cell}_read(h, p);
?exact|
?exact|    /* E <- r E + gamma conj(turn) x */
?exact|    for (int k = 0; k < $UNITS; k++) {
?exact|        const real keep = p->r[k];
?exact|        const real real_drive = p->gamma[k] * m->turn_real[k];
?exact|        const real imag_drive = -p->gamma[k] * m->turn_imag[k];
?exact|        real *restrict E_real = m->E_real + k * $INPUTS;
?exact|        real *restrict E_imag = m->E_imag + k * $INPUTS;
?exact|        for (int j = 0; j < $INPUTS; j++) {
?exact|            E_real[j] = keep * E_real[j] + real_drive * x[j];
?exact|            E_imag[j] = keep * E_imag[j] + imag_drive * x[j];
?exact|        }
?exact|    }
}

static void ${cell}_recall(const ${cell}_weights *w, const ${cell}_memory *m, const real *x,
                           ${cell}_pass *p)
{
    real h[2 * $UNITS];
    ${cell}_coefficients(w, p);
?exact|    (void)x;
?!exact|    ${cell}_drive(w, x, p);
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
    ${cell}_drive(w, x, p);
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

?!exact|$own
?exact|/* Through all of time. */
?!exact|/* Through one step. */
static void ${cell}_past(const ${cell}_weights *restrict w, const ${cell}_memory *restrict m,
                         const ${cell}_pass *restrict p, ${cell}_slope *restrict s)
{
    (void)w;
?!exact|    ${cell}_own(p, m->previous_real, m->previous_imag, p, s);
?exact|    (void)p;
?exact|    for (int k = 0; k < $UNITS; k++) {
?exact|        const real g_real = s->g[k], g_imag = s->g[$UNITS + k];
?exact|        s->nu[k] = g_real * m->nu_real[k] + g_imag * m->nu_imag[k];
?exact|        s->theta[k] = g_real * m->theta_real[k] + g_imag * m->theta_imag[k];
?exact|    }
}

static real ${cell}_size(const ${cell}_slope *s)
{
    return size_of($UNITS, s->nu) + size_of($UNITS, s->theta);
}
"""

_RTU_OWN = """
/* What one step from the state (h_real, h_imag) has to do with nu_log and theta_log. */
static void ${cell}_own(const ${cell}_pass *restrict now,
                        const real *restrict h_real, const real *restrict h_imag,
                        const ${cell}_pass *restrict p, ${cell}_slope *restrict s)
{
?!gain|    (void)p;
    for (int k = 0; k < $UNITS; k++) {
        const real a = now->lambda_real[k], b = now->lambda_imag[k];
        const real g_real = s->g[k], g_imag = s->g[$UNITS + k];
        const real real_part = a * h_real[k] - b * h_imag[k];
        const real imag_part = a * h_imag[k] + b * h_real[k];
        real own_nu = -now->nu[k] * (g_real * real_part + g_imag * imag_part);
?gain|        own_nu += now->nu[k] * now->r[k] * now->r[k] / now->gamma[k]
?gain|                  * (g_real * p->u_real[k] + g_imag * p->u_imag[k]);
        s->nu[k] = own_nu;
        s->theta[k] = now->omega[k] * (g_imag * real_part - g_real * imag_part);
    }
}
"""

_RTU_PAST_OF_PEEK = """
?exact|$own
?exact|/* The peek's own step, and through it (lambda^T g) the whole past. */
static void ${cell}_past_of_peek(const ${cell}_weights *restrict w,
                                 const ${cell}_memory *restrict m,
                                 const ${cell}_pass *restrict now, const ${cell}_pass *restrict p,
                                 ${cell}_slope *restrict s)
{
    (void)w;
    ${cell}_own(now, m->h_real, m->h_imag, p, s);
?exact|    for (int k = 0; k < $UNITS; k++) {
?exact|        const real a = now->lambda_real[k], b = now->lambda_imag[k];
?exact|        const real g_real = s->g[k], g_imag = s->g[$UNITS + k];
?exact|        const real t_real = a * g_real + b * g_imag, t_imag = a * g_imag - b * g_real;
?exact|        s->nu[k] += t_real * m->nu_real[k] + t_imag * m->nu_imag[k];
?exact|        s->theta[k] += t_real * m->theta_real[k] + t_imag * m->theta_imag[k];
?exact|    }
}
"""

_RTU_ROWS = """
?exact|/* dL/dpsi = dL/dh S, through all of time: $about. */
?!exact|/* dL/dpsi, through one step: $about. */
static void ${cell}_${rule}(const step *by, $parameters,
                            const ${cell}_memory *restrict m, const ${cell}_pass *restrict p,
?!next|                            const real *restrict x, const ${cell}_slope *restrict s$norm)
?next|                            const real *restrict x, const ${cell}_slope *restrict s,
?next|                            const ${cell}_pass *restrict p_next, const real *restrict x_next,
?next|                            const ${cell}_slope *restrict s_next$norm)
{
    real d_real[$INPUTS], d_imag[$INPUTS];
?next|    real n_real[$INPUTS], n_imag[$INPUTS];
?next|    (void)p_next;
?exact|    (void)x;
?exact_alone|    (void)p;
?!exact|    (void)m;
    for (int k = 0; k < $UNITS; k++) {
        const real g_real = s->g[k], g_imag = s->g[$UNITS + k];
?exact|        const real *E_real = m->E_real + k * $INPUTS, *E_imag = m->E_imag + k * $INPUTS;
?exact|        /* E turns with the unit; turning g back instead costs one number per unit. */
?exact|        const real back_real = m->turn_real[k] * g_real + m->turn_imag[k] * g_imag;
?exact|        const real back_imag = m->turn_real[k] * g_imag - m->turn_imag[k] * g_real;
?exact|        for (int j = 0; j < $INPUTS; j++) {
?exact|            d_real[j] = back_real * E_real[j] + back_imag * E_imag[j];
?exact|            d_imag[j] = back_imag * E_real[j] - back_real * E_imag[j];
?exact|        }
?!exact|        for (int j = 0; j < $INPUTS; j++) {
?!exact|            d_real[j] = p->gamma[k] * g_real * x[j];
?!exact|            d_imag[j] = p->gamma[k] * g_imag * x[j];
?!exact|        }
?next|
?exact_next|        /* The peek's own step, and through it (lambda^T g) the whole past. */
?next|        const real y_real = s_next->g[k], y_imag = s_next->g[$UNITS + k];
?next|        const real own_real = p->gamma[k] * y_real, own_imag = p->gamma[k] * y_imag;
?exact_next|        const real a = p->lambda_real[k], b = p->lambda_imag[k];
?exact_next|        const real t_real = a * y_real + b * y_imag, t_imag = a * y_imag - b * y_real;
?exact_next|        const real turned_real = m->turn_real[k] * t_real + m->turn_imag[k] * t_imag;
?exact_next|        const real turned_imag = m->turn_real[k] * t_imag - m->turn_imag[k] * t_real;
?next|        for (int j = 0; j < $INPUTS; j++) {
?next|            n_real[j] = own_real * x_next[j];
?next|            n_imag[j] = own_imag * x_next[j];
?exact_next|            n_real[j] += turned_real * E_real[j] + turned_imag * E_imag[j];
?exact_next|            n_imag[j] += turned_imag * E_real[j] - turned_real * E_imag[j];
?next|        }
        ROW($INPUTS, B_real + k * $INPUTS, d_real, n_real);
        ROW($INPUTS, B_imag + k * $INPUTS, d_imag, n_imag);
    }
    ROW($UNITS, nu_log, s->nu, s_next->nu);
    ROW($UNITS, theta_log, s->theta, s_next->theta);
}
"""


def rtu(settings: RTU, name: str, inputs: int, activation: str) -> CellText:
    if settings.correction != "none":
        raise ValueError(
            f"an RTU with correction={settings.correction!r} has no form in C; "
            "correction='none' has one"
        )
    n, d = settings.units, inputs
    exact = settings.gradient == "rtrl"
    words: dict[str, Any] = {
        "cell": name,
        "units": n,
        "inputs": d,
        "UNITS": f"{name}_units".upper(),
        "INPUTS": f"{name}_inputs".upper(),
        "activation": ACTIVATION_NAMES[settings.features or activation],
        "gain": settings.gain,
        "least": number(LOG_RANGE[0]),
        "most": number(LOG_RANGE[1]),
        "exact": exact,
        "exact_gain": exact and settings.gain,
    }
    words["own"] = fill(_RTU_OWN, **words)

    def rows(row: Row) -> str:
        text = fill(
            _RTU_ROWS,
            **words,
            rule=row.name,
            about=row.about,
            parameters=row.parameters(f"{name}_weights"),
            next=row.next,
            exact_next=exact and row.next,
            exact_alone=exact and not row.next,
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
        matrices=("B_real", "B_imag"),
        hidden=pair("h", "", n),
        previous=pair("previous", "", n),
        sensitivity=(
            *pair("nu", ".nu_log", n),
            *pair("theta", ".theta_log", n),
            *pair("E", ".E", n * d),
            *pair("turn", ".turn", n),
        )
        if exact
        else (),
        structs=fill(_RTU_STRUCTS, **words),
        functions=fill(_RTU_FUNCTIONS, **words),
        past_of_peek=fill(_RTU_PAST_OF_PEEK, **words),
        rows=rows,
    )
