"""The C of minGRU (``rillax.cells.mingru``)."""

from typing import Any

from rillax.cells import MinGRU
from rillax.export.cells.cell import CellText
from rillax.export.kernels import ACTIVATION_NAMES
from rillax.export.rules import Row, with_rows
from rillax.export.text import fill

_STRUCTS = """
/* $units units of minGRU: h <- (1 - u) h + u v, with u = sigmoid(U x + c) and v = W x + b. */
typedef struct {
    learner_real U[$units * $inputs], W[$units * $inputs];
    learner_real c[$units], b[$units];
} ${cell}_weights;

?exact|/* The state h, and its sensitivity: unit k depends on row k of each matrix alone. */
?!exact|/* The state h; its gradient reaches one step back. */
typedef struct {
    learner_real h[$units];
    learner_real previous[$units];
?exact|    learner_real S_U[$units * $inputs], S_W[$units * $inputs];
?exact|    learner_real S_c[$units], S_b[$units];
} ${cell}_memory;

/* What a step has computed. */
typedef struct {
    learner_real u[$units], v[$units];
    learner_real through_gate[$units]; /* dh/dc by this step: (v - h) u (1 - u) */
    learner_real h[$units];
    learner_real features[$units]; /* f(h) */
} ${cell}_pass;

/* The gradient of the state h, and of c and b. */
typedef struct {
    learner_real g[$units];
    learner_real c[$units], b[$units];
} ${cell}_slope;
"""

_FUNCTIONS = """
/* ---- $cell: minGRU (Feng et al., 2024) ---- */

/* The gate and the candidate; they see the input alone. h is the state before it. */
static void ${cell}_gate(const ${cell}_weights *restrict w, const real *restrict h,
                         const real *restrict x, ${cell}_pass *restrict p)
{
    dense($UNITS, $INPUTS, w->U, w->c, x, p->u);
    dense($UNITS, $INPUTS, w->W, w->b, x, p->v);
    for (int k = 0; k < $UNITS; k++) {
        p->u[k] = 1 / (1 + exponential(-p->u[k]));
        p->through_gate[k] = (p->v[k] - h[k]) * p->u[k] * (1 - p->u[k]);
    }
}

static void ${cell}_read(const real *h, ${cell}_pass *p)
{
    copy($UNITS, p->h, h);
    $activation($UNITS, p->h, p->features);
}

static void ${cell}_advance(const ${cell}_weights *restrict w, ${cell}_memory *restrict m,
                            const real *restrict x, int fresh, ${cell}_pass *restrict p)
{
    if (fresh) {
        zero($UNITS, m->h);
?exact|        zero($UNITS * $INPUTS, m->S_U);
?exact|        zero($UNITS * $INPUTS, m->S_W);
?exact|        zero($UNITS, m->S_c);
?exact|        zero($UNITS, m->S_b);
    }
    copy($UNITS, m->previous, m->h);
    ${cell}_gate(w, m->previous, x, p);
    for (int k = 0; k < $UNITS; k++)
        m->h[k] += p->u[k] * (p->v[k] - m->h[k]);
    ${cell}_read(m->h, p);
?exact|
?exact|    /* S <- (1 - u) S + what this step adds */
?exact|    for (int k = 0; k < $UNITS; k++) {
?exact|        const real keep = 1 - p->u[k], gate = p->through_gate[k], candidate = p->u[k];
?exact|        real *restrict S_U = m->S_U + k * $INPUTS, *restrict S_W = m->S_W + k * $INPUTS;
?exact|        for (int j = 0; j < $INPUTS; j++) {
?exact|            S_U[j] = keep * S_U[j] + gate * x[j];
?exact|            S_W[j] = keep * S_W[j] + candidate * x[j];
?exact|        }
?exact|        m->S_c[k] = keep * m->S_c[k] + gate;
?exact|        m->S_b[k] = keep * m->S_b[k] + candidate;
?exact|    }
}

static void ${cell}_recall(const ${cell}_weights *w, const ${cell}_memory *m, const real *x,
                           ${cell}_pass *p)
{
    ${cell}_gate(w, m->previous, x, p);
    ${cell}_read(m->h, p);
}

/* One step on x from the memory as it is. */
static void ${cell}_peek(const ${cell}_weights *w, const ${cell}_memory *m, const ${cell}_pass *now,
                         const real *x, ${cell}_pass *p)
{
    real h[$UNITS];
    (void)now;
    ${cell}_gate(w, m->h, x, p);
    for (int k = 0; k < $UNITS; k++)
        h[k] = m->h[k] + p->u[k] * (p->v[k] - m->h[k]);
    ${cell}_read(h, p);
}

/* dL/dh, and dL/dx by this step alone. */
static void ${cell}_back(const ${cell}_weights *restrict w, const ${cell}_pass *now,
                         const ${cell}_pass *restrict p, const real *restrict g_features,
                         ${cell}_slope *restrict s, real *restrict g_x)
{
    (void)now;
    ${activation}_back($UNITS, p->h, p->features, g_features, s->g);
    zero($INPUTS, g_x);
    for (int k = 0; k < $UNITS; k++) {
        const real gate = s->g[k] * p->through_gate[k], candidate = s->g[k] * p->u[k];
        const real *U = w->U + k * $INPUTS, *W = w->W + k * $INPUTS;
        for (int j = 0; j < $INPUTS; j++)
            g_x[j] += gate * U[j] + candidate * W[j];
    }
}

?exact|/* Through all of time. */
?!exact|/* Through one step. */
static void ${cell}_past(const ${cell}_weights *w, const ${cell}_memory *restrict m,
                         const ${cell}_pass *restrict p, ${cell}_slope *restrict s)
{
    (void)w;
?exact|    (void)p;
?!exact|    (void)m;
    for (int k = 0; k < $UNITS; k++) {
?exact|        s->c[k] = s->g[k] * m->S_c[k];
?exact|        s->b[k] = s->g[k] * m->S_b[k];
?!exact|        s->c[k] = s->g[k] * p->through_gate[k];
?!exact|        s->b[k] = s->g[k] * p->u[k];
    }
}

static real ${cell}_size(const ${cell}_slope *s)
{
    return size_of($UNITS, s->c) + size_of($UNITS, s->b);
}
"""

_PAST_OF_PEEK = """
?exact|/* The peek's own step, and through it, times 1 - u, the whole past. */
static void ${cell}_past_of_peek(const ${cell}_weights *w, const ${cell}_memory *restrict m,
                                 const ${cell}_pass *now, const ${cell}_pass *restrict p,
                                 ${cell}_slope *restrict s)
{
    (void)w;
    (void)now;
?!exact|    (void)m;
    for (int k = 0; k < $UNITS; k++) {
        s->c[k] = s->g[k] * p->through_gate[k];
        s->b[k] = s->g[k] * p->u[k];
?exact|        s->c[k] += s->g[k] * (1 - p->u[k]) * m->S_c[k];
?exact|        s->b[k] += s->g[k] * (1 - p->u[k]) * m->S_b[k];
    }
}
"""

_ROWS = """
?exact|/* dL/dpsi = dL/dh S, through all of time: $about. */
?!exact|/* dL/dpsi, through one step: $about. */
static void ${cell}_${rule}(const step *by, $parameters,
                            const ${cell}_memory *restrict m, const ${cell}_pass *restrict p,
?!next|                            const real *restrict x, const ${cell}_slope *restrict s$norm)
?next|                            const real *restrict x, const ${cell}_slope *restrict s,
?next|                            const ${cell}_pass *restrict p_next, const real *restrict x_next,
?next|                            const ${cell}_slope *restrict s_next$norm)
{
    real d_U[$INPUTS], d_W[$INPUTS];
?next|    real n_U[$INPUTS], n_W[$INPUTS];
?exact|    (void)x;
?exact|    (void)p;
?!exact|    (void)m;
    for (int k = 0; k < $UNITS; k++) {
?exact|        const real g = s->g[k], *S_U = m->S_U + k * $INPUTS, *S_W = m->S_W + k * $INPUTS;
?!exact|        const real gate = s->g[k] * p->through_gate[k], candidate = s->g[k] * p->u[k];
        for (int j = 0; j < $INPUTS; j++) {
?exact|            d_U[j] = g * S_U[j];
?exact|            d_W[j] = g * S_W[j];
?!exact|            d_U[j] = gate * x[j];
?!exact|            d_W[j] = candidate * x[j];
        }
?next|        const real y = s_next->g[k];
?next|        const real own_U = y * p_next->through_gate[k], own_W = y * p_next->u[k];
?exact_next|        const real back = y * (1 - p_next->u[k]);
?next|        for (int j = 0; j < $INPUTS; j++) {
?next|            n_U[j] = own_U * x_next[j];
?next|            n_W[j] = own_W * x_next[j];
?exact_next|            n_U[j] += back * S_U[j];
?exact_next|            n_W[j] += back * S_W[j];
?next|        }
        ROW($INPUTS, U + k * $INPUTS, d_U, n_U);
        ROW($INPUTS, W + k * $INPUTS, d_W, n_W);
    }
    ROW($UNITS, c, s->c, s_next->c);
    ROW($UNITS, b, s->b, s_next->b);
}
"""


def mingru(settings: MinGRU, name: str, inputs: int, activation: str) -> CellText:
    del activation  # a minGRU has its own
    n, d = settings.units, inputs
    exact = settings.gradient == "rtrl"
    words: dict[str, Any] = {
        "cell": name,
        "units": n,
        "inputs": d,
        "UNITS": f"{name}_units".upper(),
        "INPUTS": f"{name}_inputs".upper(),
        "activation": ACTIVATION_NAMES[settings.features or "tanh"],
        "exact": exact,
    }

    def rows(row: Row) -> str:
        text = fill(
            _ROWS,
            **words,
            rule=row.name,
            about=row.about,
            parameters=row.parameters(f"{name}_weights"),
            next=row.next,
            exact_next=exact and row.next,
            norm=row.last_parameter,
        )
        return with_rows(text, row)

    leaves = (("U", ".U", n * d), ("W", ".W", n * d), ("c", ".c", n), ("b", ".b", n))
    return CellText(
        name=name,
        units=n,
        inputs=d,
        features=n,
        weights=leaves,
        matrices=("U", "W"),
        hidden=(("h", "", n),),
        previous=(("previous", "", n),),
        sensitivity=tuple((f"S_{m}", path, size) for m, path, size in leaves) if exact else (),
        structs=fill(_STRUCTS, **words),
        functions=fill(_FUNCTIONS, **words),
        past_of_peek=fill(_PAST_OF_PEEK, **words),
        rows=rows,
    )
