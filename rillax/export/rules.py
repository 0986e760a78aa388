"""The C of each step-size rule: its work on one row of parameters, and the size of its step.

A rule meets the parameters of a network row by row. A ``Row`` is a C function of a few parallel
rows (parameters ``w``, trace ``z``, second moment ``v``) and of the row's gradient ``g``; for an
agent that differentiates its peek, of that gradient, ``g_next``, too.
"""

import math
import re
from dataclasses import dataclass
from typing import Any

from rillax.export.text import fill, number
from rillax.updates import SGD, AdaptiveObGD, ObGD
from rillax.updates.obgd import LARGEST_SQUARE
from rillax.updates.rules import LARGEST_STEP


@dataclass(frozen=True)
class Row:
    """A rule's work on one row."""

    name: str
    about: str
    """In a few words, for a comment."""
    arrays: tuple[str, ...]
    """The parallel rows it takes: of ``w``, ``z``, ``v``."""
    changes: tuple[str, ...]
    """Those that it changes."""
    next: bool
    """Whether it takes the gradient of the peek."""
    text: str
    normed: bool = False
    """Whether it adds to a norm."""

    @property
    def last_parameter(self) -> str:
        """The norm, where there is one, after a function's other parameters."""
        return ", real norm[LANES]" if self.normed else ""

    @property
    def last_argument(self) -> str:
        return ", norm" if self.normed else ""

    def parameters(self, struct: str) -> str:
        """What a function that goes over the rows takes of each array."""
        const = {array: "" if array in self.changes else "const " for array in self.arrays}
        return ", ".join(f"{const[a]}{struct} *restrict {a}" for a in self.arrays)

    def pointers(self) -> str:
        """The same for a dense layer, which is a matrix and a vector of each."""
        const = {array: "" if array in self.changes else "const " for array in self.arrays}
        return ",\n                 ".join(
            f"{const[a]}real *restrict {a}, {const[a]}real *restrict {a}_bias" for a in self.arrays
        )

    def call(self, n: str, members: list[str], g: str, g_next: str) -> str:
        last = f", {g_next}" if self.next else ""
        return f"{self.name}_row(by, {n}, {', '.join(members)}, {g}{last}{self.last_argument});"


_ROW = re.compile(r"ROW\(([^,]+), ([^,]+), ([^,]+), ([^)]+)\);")


def with_rows(text: str, row: Row) -> str:
    """The text with each ``ROW(n, member, g, g_next);`` as the call that it stands for."""

    def call(found: re.Match[str]) -> str:
        n, member, g, g_next = found.groups()
        return row.call(n, [f"{array}->{member}" for array in row.arrays], g, g_next)

    return _ROW.sub(call, text)


STEP = (
    f"""
/* ---- the step-size rule ---- */

#define LARGEST_STEP {number(LARGEST_STEP)}
#define LARGEST_SQUARE {number(LARGEST_SQUARE)} /* a second moment stays finite */
"""
    + """

/* What a rule needs to know of this step. */
typedef struct {
    real td_error;
    real decay; /* gamma lambda */
    int cut;    /* whether the trace starts anew */
?scale|    real scale; /* the size of the step, where it is known before the trace is */
?adaptive|    real beta, epsilon; /* of the second moment */
?adaptive|    real correction;    /* of its bias */
?direction|    real present; /* the weight of this step's gradient, beside the trace */
?direction|    real ahead;   /* the weight of the peek's gradient */
?direction|    real beta;    /* the weight of the parameters themselves */
} step;
?limited|
?limited|/* A step of SGD leaves the parameters finite, but where they have run away, so large that
?limited|   the one after it is refused. */
?limited|static real step_within(real by)
?limited|{
?limited|    return MATH(fabs)(by) < LARGEST_STEP ? by : LARGEST_STEP;
?limited|}
"""
)

TRACE = Row(
    "trace",
    "the trace follows it",
    ("z",),
    ("z",),
    False,
    """
/* z <- gamma lambda z + g; adds |z|_1 to the norm. */
static void trace_row(const step *by, int n, real *restrict z, const real *restrict g,
                      real norm[LANES])
{
    const real decay = by->decay;
    real lane[LANES] = {0};
    int i = 0;
    if (by->cut)
        zero(n, z);
    for (; i + LANES <= n; i += LANES)
        for (int k = 0; k < LANES; k++) {
            z[i + k] = decay * z[i + k] + g[i + k];
            lane[k] += MATH(fabs)(z[i + k]);
        }
    for (int k = 0; k < LANES; k++)
        norm[k] += lane[k];
    for (; i < n; i++) {
        z[i] = decay * z[i] + g[i];
        norm[0] += MATH(fabs)(z[i]);
    }
}
""",
    normed=True,
)

FOLLOW = Row(
    "follow",
    "the trace follows it, and the parameters the trace",
    ("w", "z"),
    ("w", "z"),
    False,
    """
/* z <- gamma lambda z + g, and w <- w + scale z. */
static void follow_row(const step *by, int n, real *restrict w, real *restrict z,
                       const real *restrict g)
{
    if (by->cut)
        zero(n, z);
    for (int i = 0; i < n; i++) {
        z[i] = by->decay * z[i] + g[i];
        w[i] += step_within(by->scale * z[i]);
    }
}
""",
)

ADAPT = Row(
    "adapt",
    "the trace follows it, and the second moment",
    ("z", "v"),
    ("z", "v"),
    False,
    """
/* z <- gamma lambda z + g, v <- beta v + (1 - beta) (delta z)^2; |z / sqrt(v)|_1 is the norm. */
static void adapt_row(const step *by, int n, real *restrict z, real *restrict v,
                      const real *restrict g, real norm[LANES])
{
    if (by->cut)
        zero(n, z);
    for (int i = 0; i < n; i++) {
        z[i] = by->decay * z[i] + g[i];
        const real moved = by->td_error * z[i], square = moved * moved;
        const real counted = square > LARGEST_SQUARE ? LARGEST_SQUARE : square;
        v[i] = by->beta * v[i] + (1 - by->beta) * counted;
        norm[i % LANES] += MATH(fabs)(z[i]) / MATH(sqrt)(by->correction * v[i] + by->epsilon);
    }
}
""",
    normed=True,
)

_CHANGE = """
/* w <- w + scale z */
static void change(int n, real *restrict w, const real *restrict z, real scale)
{
    for (int i = 0; i < n; i++)
        w[i] += scale * z[i];
}
"""

_CHANGE_ADAPTED = """
/* w <- w + scale z / sqrt(v) */
static void change_adapted(const step *by, int n, real *restrict w, const real *restrict z,
                           const real *restrict v, real scale)
{
    for (int i = 0; i < n; i++)
        w[i] += scale * z[i] / MATH(sqrt)(by->correction * v[i] + by->epsilon);
}
"""

BOUND = """
/* The overshooting bound of ObGD: alpha / max(1, alpha kappa max(|delta|, 1) |z|_1). */
static real overshooting_bound(real alpha, real kappa, real td_error, real norm)
{
    const real error = MATH(fabs)(td_error);
    const real bound = alpha * kappa * (error > 1 ? error : 1) * norm;
    return alpha / (bound > 1 ? bound : 1);
}
"""

_DENSE_ROWS = """
/* A dense layer, whose gradient is dL/dy times x: $about. */
static void dense_${rule}(const step *by, int rows, int columns,
                 $pointers,
?!next|                 const real *restrict x, const real *restrict g$norm)
?next|                 const real *restrict x, const real *restrict g,
?next|                 const real *restrict x_next, const real *restrict g_next$norm)
{
    real d[LEARNER_WIDEST];
?next|    real d_next[LEARNER_WIDEST];
    for (int i = 0; i < rows; i++) {
        for (int j = 0; j < columns; j++)
            d[j] = g[i] * x[j];
?next|        for (int j = 0; j < columns; j++)
?next|            d_next[j] = g_next[i] * x_next[j];
        $row
    }
    $bias
}
"""


def dense_rows(row: Row) -> str:
    """The function that goes over the rows of a dense layer with a rule."""
    matrix = [f"{array} + i * columns" for array in row.arrays]
    vector = [f"{array}_bias" for array in row.arrays]
    return fill(
        _DENSE_ROWS,
        rule=row.name,
        about=row.about,
        pointers=row.pointers(),
        next=row.next,
        norm=row.last_parameter,
        row=row.call("columns", matrix, "d", "d_next"),
        bias=row.call("rows", vector, "g", "g_next"),
    )


@dataclass(frozen=True)
class RuleText:
    """The rule of one network that follows its trace, as those of stream AC do."""

    row: Row
    texts: tuple[str, ...]
    """Functions it needs, shared with other networks that have the same."""
    before: str
    """What is known before the trace: lines of C."""
    after: str
    """The step, once the norm of the trace is known."""
    adaptive: bool = False


def rule_text(rule: Any, network: str) -> RuleText:
    """A rule in C; a ``ValueError`` names what cannot be exported.

    Its lines may use ``by`` (the step), ``norm`` (what the rows returned) and, of the learner,
    the network's ``weights``, ``trace`` and ``moment``.
    """
    words = {"net": network, "NET": network.upper()}
    if type(rule) is ObGD:
        after = """
        const real bound = overshooting_bound($alpha, $kappa, by.td_error, sum_of_lanes(norm));
        change(${NET}_SIZE, (real *)&self->$net.w, (const real *)&self->$net.z,
               by.td_error * bound);
        """
        alpha, kappa = number(rule.step_size), number(rule.kappa)
        return RuleText(TRACE, (_CHANGE, BOUND), "", fill(after, **words, alpha=alpha, kappa=kappa))
    if type(rule) is SGD:
        refuse_clip(rule)
        before = f"by.scale = {number(rule.step_size)} * by.td_error;\n"
        return RuleText(FOLLOW, (), before, "")
    if type(rule) is AdaptiveObGD:
        before = """
        self->${net}_steps = one_more(self->${net}_steps);
        by.beta = $beta;
        by.epsilon = $epsilon;
        by.correction = $correction;
        """
        after = """
        const real bound = overshooting_bound($alpha, $kappa, by.td_error, sum_of_lanes(norm));
        change_adapted(&by, ${NET}_SIZE, (real *)&self->$net.w, (const real *)&self->$net.z,
                       (const real *)&self->$net.v, by.td_error * bound);
        """
        words |= {"beta": number(rule.beta), "epsilon": number(rule.epsilon)}
        log = number(math.log(rule.beta)) if rule.beta else ""
        correction = f"1 / -MATH(expm1)((real)self->{network}_steps * {log})"
        words["correction"] = correction if rule.beta else "1"
        words |= {"alpha": number(rule.step_size), "kappa": number(rule.kappa)}
        return RuleText(
            ADAPT,
            (_CHANGE_ADAPTED, BOUND),
            fill(before, **words),
            fill(after, **words),
            adaptive=True,
        )
    raise ValueError(
        f"the rule {type(rule).__name__} has no form in C; ObGD, AdaptiveObGD and SGD have one"
    )


def refuse_clip(rule: SGD) -> None:
    if rule.clip is not None:
        raise ValueError(
            f"SGD(clip={rule.clip}) has no form in C, which would need one more pass; "
            "SGD without clip and ObGD have one"
        )
