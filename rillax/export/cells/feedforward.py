"""The C of a dense layer in the place of a recurrence (``rillax.cells.feedforward``)."""

from rillax.cells import FeedForward
from rillax.export.cells.cell import CellText
from rillax.export.kernels import ACTIVATION_NAMES
from rillax.export.text import fill

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
static void ${cell}_past(const ${cell}_weights *w, const ${cell}_memory *m, const ${cell}_pass *p,
                        ${cell}_slope *s)
{
    (void)w;
    (void)m;
    (void)p;
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


def feedforward(settings: FeedForward, name: str, inputs: int, activation: str) -> CellText:
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
        matrices=("weight",),
        hidden=(("h", "", n),),
        previous=(("previous", "", n),),
        sensitivity=(),
        structs=fill(_FEEDFORWARD_STRUCTS, **words),
        functions=fill(_FEEDFORWARD_FUNCTIONS, **words),
        past_of_peek=fill(_FEEDFORWARD_PAST_OF_PEEK, **words),
        rows=lambda row: "",
    )
