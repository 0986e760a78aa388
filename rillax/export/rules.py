"""The C of each step-size rule: its work on one row of parameters, and the size of its step.

A rule meets the parameters of a network row by row. A ``Row`` is a C function of a few parallel
rows (parameters ``w``, trace ``z``, second moment ``v``, direction ``d``) and of the row's gradient
``g``; for an agent that differentiates its peek, of that gradient, ``g_next``, too.
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rillax.export.text import fill, number
from rillax.updates import SGD, AdaptiveObGD, Intentional, IntentionalPolicy, ObGD
from rillax.updates.intentional import LARGEST, LAST
from rillax.updates.obgd import LARGEST_SQUARE


@dataclass(frozen=True)
class Row:
    """A rule's work on one row."""

    name: str
    about: str
    """In a few words, for a comment."""
    arrays: tuple[str, ...]
    """The parallel rows it takes: of ``w``, ``z``, ``v``, and of the direction ``d``."""
    changes: tuple[str, ...]
    """Those that it changes."""
    next: bool
    """Whether it takes the gradient of the peek."""
    text: str
    sums: int = 0
    """To how many norms it adds."""

    @property
    def size(self) -> str:
        """Of the norms, as a C constant."""
        return "LEARNER_WIDEST" if self.sums == 1 else f"{self.sums} * LEARNER_WIDEST"

    @property
    def last_parameter(self) -> str:
        """The norms, where there are any, after a function's other parameters."""
        return ", real *restrict norm" if self.sums else ""

    @property
    def last_argument(self) -> str:
        return ", norm" if self.sums else ""

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

#define LARGEST_SQUARE {number(LARGEST_SQUARE)} /* a second moment stays finite */
#define LARGEST_GRADIENT {number(LARGEST)} /* a larger one counts as none */
"""
    + """

/* What a rule needs to know of this step. */
typedef struct {
    real td_error;
    real decay; /* gamma lambda; or 0, where the trace starts anew */
?scale|    real scale; /* the size of the step, where it is known before the trace is */
?moment|    real beta, epsilon; /* of the second moment */
?moment|    real correction;    /* of its bias */
?direction|    real present; /* the weight of this step's gradient, beside the trace */
?direction|    real ahead;   /* the weight of the peek's gradient */
?direction|    real beta;    /* the weight of the parameters themselves */
} step;
?means|
?means|/* 1 - beta^t, the weight that a running mean from zero has given to t numbers. */
?means|static real from_start(real log_beta, int32_t t)
?means|{
?means|    return -MATH(expm1)((real)t * log_beta);
?means|}
"""
)

# A compiler may not reorder a sum. A norm is one sum for each place in a row, which it may add side
# by side; they are added up at the end.
TRACE = Row(
    "trace",
    "the trace follows it",
    ("z",),
    ("z",),
    False,
    """
/* z <- gamma lambda z + g; the norm is |z|_1. */
static void trace_row(const step *by, int n, real *restrict z, const real *restrict g,
                      real *restrict norm)
{
    const real decay = by->decay;
    for (int i = 0; i < n; i++) {
        z[i] = decay * z[i] + g[i];
        norm[i] += MATH(fabs)(z[i]);
    }
}
""",
    sums=1,
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
    const real decay = by->decay, scale = by->scale;
    for (int i = 0; i < n; i++) {
        z[i] = decay * z[i] + g[i];
        w[i] += scale * z[i];
    }
}
""",
)

ADAPT = Row(
    "adapt",
    "the trace follows it, and the second moment",
    ("z", "v", "d"),
    ("z", "v", "d"),
    False,
    """
/* z <- gamma lambda z + g, v <- beta v + (1 - beta) (delta z)^2, d = z / sqrt(v);
   the norm is |d|_1. */
static void adapt_row(const step *by, int n, real *restrict z, real *restrict v, real *restrict d,
                      const real *restrict g, real *restrict norm)
{
    const step now = *by;
    for (int i = 0; i < n; i++) {
        z[i] = now.decay * z[i] + g[i];
        const real moved = now.td_error * z[i], square = moved * moved;
        const real counted = square > LARGEST_SQUARE ? LARGEST_SQUARE : square;
        v[i] = now.beta * v[i] + (1 - now.beta) * counted;
        d[i] = z[i] / MATH(sqrt)(now.correction * v[i] + now.epsilon);
        norm[i] += MATH(fabs)(d[i]);
    }
}
""",
    sums=1,
)

_INTEND = """
/* In Adam's metric m = sqrt(v) + epsilon: z <- gamma lambda z + g, v <- beta v + (1 - beta) $of^2,
   d = z / m; the norms are sum g^2 / m and sum z^2 / m. */
static void ${name}_row(const step *by, int n, real *restrict z, real *restrict v,
                        real *restrict d, const real *restrict g, real *restrict norm)
{
    const step now = *by;
    for (int i = 0; i < n; i++) {
        const real usable = MATH(fabs)(g[i]) <= LARGEST_GRADIENT ? g[i] : 0; /* not if it is NaN */
        z[i] = now.decay * z[i] + usable;
        v[i] = now.beta * v[i] + (1 - now.beta) * ($square);
        const real inverse = 1 / (MATH(sqrt)(now.correction * v[i]) + now.epsilon);
        d[i] = z[i] * inverse;
        norm[i] += g[i] * g[i] * inverse; /* as it came, so that what is not finite shows */
        norm[LEARNER_WIDEST + i] += z[i] * d[i];
    }
}
"""


def _intend(of: str) -> Row:
    name = "intend" if of == "g" else "intend_by_trace"
    square = "usable * usable" if of == "g" else "z[i] * z[i]"
    arrays = ("z", "v", "d")
    text = fill(_INTEND, name=name, of=of, square=square)
    return Row(name, "trace, second moment, direction", arrays, arrays, False, text, sums=2)


INTEND_EVENLY = Row(
    "intend_evenly",
    "trace",
    ("z",),
    ("z",),
    False,
    """
/* In the metric m = 1: z <- gamma lambda z + g; the norms are sum g^2 and sum z^2. */
static void intend_evenly_row(const step *by, int n, real *restrict z, const real *restrict g,
                              real *restrict norm)
{
    const real decay = by->decay;
    for (int i = 0; i < n; i++) {
        const real usable = MATH(fabs)(g[i]) <= LARGEST_GRADIENT ? g[i] : 0; /* not if it is NaN */
        z[i] = decay * z[i] + usable;
        norm[i] += g[i] * g[i]; /* as it came, so that what is not finite shows */
        norm[LEARNER_WIDEST + i] += z[i] * z[i];
    }
}
""",
    sums=2,
)


_CHANGE = """
/* w <- w + scale d */
static void change(int n, real *restrict w, const real *restrict d, real scale)
{
    for (int i = 0; i < n; i++)
        w[i] += scale * d[i];
}
"""

SHORTEN = "SHORTEN_ROWS"
"""In the text of a rule: where the rows of all matrices are shortened."""
_SHORTEN = """
/* A matrix whose rows are longer than they may be, in the root of their mean square norm, is scaled
   back. */
static void shorten(int rows, int columns, real *w, real longest)
{
    const int n = rows * columns;
    const real norm = MATH(sqrt)(dot(n, w, w) / (real)rows);
    if (!(norm > longest))
        return;
    const real share = longest / norm;
    for (int i = 0; i < n; i++)
        w[i] *= share;
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
    real row[LEARNER_WIDEST];
?next|    real row_next[LEARNER_WIDEST];
    for (int i = 0; i < rows; i++) {
        for (int j = 0; j < columns; j++)
            row[j] = g[i] * x[j];
?next|        for (int j = 0; j < columns; j++)
?next|            row_next[j] = g_next[i] * x_next[j];
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
        row=row.call("columns", matrix, "row", "row_next"),
        bias=row.call("rows", vector, "g", "g_next"),
    )


@dataclass(frozen=True)
class RuleText:
    """The rule of a network that follows its trace."""

    row: Row
    texts: tuple[str, ...]
    """Functions it needs, shared with other networks that have the same."""
    before: str
    """What is known before the trace: lines of C."""
    after: str
    """The step, once the norm of the trace is known."""
    trace: str = "[0]"
    """Where JAX keeps trace and cut, below the optimiser."""
    moment: str = "[1].moment"
    """Where it keeps the second moment, if there is one."""
    numbers: tuple[tuple[str, str], ...] = ()
    """What it remembers beside arrays: member and path. The network's name comes before both."""
    counts: tuple[tuple[str, str], ...] = ()
    row_norm: str = ""
    """The largest norm of the rows of a matrix, where there is a limit."""
    goes_on: bool = False
    """Whether the trace follows the gradient even where the step is refused."""

    @property
    def has_moment(self) -> bool:
        return "v" in self.row.arrays

    @property
    def has_direction(self) -> bool:
        return "d" in self.row.arrays


def rule_text(rule: Any, network: str, decay: float) -> RuleText:
    """A rule in C; a ``ValueError`` names what cannot be exported.

    Its lines may use ``by`` (the step), ``norm`` (what the rows returned) and, of the learner,
    the network's weights ``w``, trace ``z``, second moment ``v`` and direction.
    """
    make = _RULES.get(type(rule))
    if make is None:
        raise ValueError(
            f"the rule {type(rule).__name__} has no form in C; ObGD, AdaptiveObGD, SGD, "
            "Intentional and IntentionalPolicy have one"
        )
    return make(rule, {"net": network, "NET": network.upper()}, decay)


Words = dict[str, Any]


def _obgd(rule: ObGD, words: Words, decay: float) -> RuleText:
    del decay
    after = """
    const real bound = overshooting_bound($alpha, $kappa, by.td_error, total(LEARNER_WIDEST, norm));
    change(${NET}_SIZE, (real *)&self->$net.w, (const real *)&self->$net.z,
           by.td_error * bound);
    """
    alpha, kappa = number(rule.step_size), number(rule.kappa)
    return RuleText(TRACE, (_CHANGE, BOUND), "", fill(after, **words, alpha=alpha, kappa=kappa))


def _sgd(rule: SGD, words: Words, decay: float) -> RuleText:
    del words, decay
    refuse_clip(rule)
    return RuleText(FOLLOW, (), f"by.scale = {number(rule.step_size)} * by.td_error;\n", "")


def _log(beta: float) -> str:
    return number(math.log(beta))


def _weight(beta: float, t: str) -> str:
    """``from_start`` in JAX: 1 - beta^t."""
    return f"from_start({_log(beta)}, {t})" if beta else "1"


def _adaptive(rule: AdaptiveObGD, words: Words, decay: float) -> RuleText:
    del decay
    before = """
    self->${net}_steps = one_more(self->${net}_steps);
    by.beta = $beta;
    by.epsilon = $epsilon;
    by.correction = 1 / $weight;
    """
    after = """
    const real bound = overshooting_bound($alpha, $kappa, by.td_error, total(LEARNER_WIDEST, norm));
    change(${NET}_SIZE, (real *)&self->$net.w, (const real *)&self->${net}_direction,
           by.td_error * bound);
    """
    words |= {"beta": number(rule.beta), "epsilon": number(rule.epsilon)}
    words["weight"] = _weight(rule.beta, f"self->{words['net']}_steps")
    words |= {"alpha": number(rule.step_size), "kappa": number(rule.kappa)}
    return RuleText(
        ADAPT,
        (_CHANGE, BOUND),
        fill(before, **words),
        fill(after, **words),
        counts=(("steps", "[1].steps"),),
    )


_BEFORE_INTENTION = """
const int32_t t = self->${net}_steps < $last ? self->${net}_steps + 1 : $last;
?measured|by.beta = $beta2;
?measured|by.epsilon = $epsilon;
?measured|by.correction = 1 / $moment_weight;
"""

_AFTER_INTENTION = """
/* sigma <- sigma + (1 - gamma lambda) (n - sigma), and s is what n usually is, or more */
const real n = total(LEARNER_WIDEST, norm), q = total(LEARNER_WIDEST, norm + LEARNER_WIDEST);
const real sigma = self->${net}_norm + $new * (n - self->${net}_norm);
const real usual = sigma / $norm_weight, product = (usual > n ? usual : n) * q;
const real root = MATH(sqrt)(product);

/* d, the TD error within C times its usual size$in_units */
const real square = $beta * self->${net}_error_square + $one_beta * by.td_error * by.td_error;
const real limit = $clip * MATH(sqrt)(square / $error_weight);
?!policy|const real error = clip(by.td_error, -limit, limit);
?policy|const real clipped = clip(by.td_error, -limit, limit);
?policy|const real size = $beta * self->${net}_error_size + $one_beta * MATH(fabs)(clipped);
?policy|const real mean = size / $error_weight, error = clipped / (mean > $least ? mean : $least);

?measured|/* w <- w + eta d / sqrt(s q) z / m, unless it would not be finite */
?!measured|/* w <- w + eta d / sqrt(s q) z, unless it would not be finite */
const real scale = $eta / (root > REAL(1e-8) ? root : REAL(1e-8)) * error;
if (isfinite(scale * $largest) && isfinite(product) && isfinite(square)) {
    self->${net}_steps = t;
    self->${net}_norm = sigma;
    self->${net}_error_square = square;
?policy|    self->${net}_error_size = size;
?shortened|    SHORTEN_ROWS
    change(${NET}_SIZE, (real *)&self->$net.w, (const real *)&self->$along, scale);
} else {
    self->${net}_refused += self->${net}_refused < $last;
    self->refused += 1;
}
"""


def _largest_ratio(decay: float, beta2: float) -> float:
    """No |z| / m is larger, as in ``rillax.updates.intentional``."""
    return 1 / math.sqrt((1 - beta2) * max(1 - decay**2 / beta2, 1e-6)) if beta2 else 1.0


def _intentional(rule: Intentional, words: Words, decay: float) -> RuleText:
    beta, beta2 = rule.error_decay, rule.moment_decay
    policy = type(rule) is IntentionalPolicy
    measured = rule.preconditioner != "none"
    words |= {
        "measured": measured,
        "along": f"{words['net']}_direction" if measured else f"{words['net']}.z",
        "last": LAST,
        "beta2": number(beta2),
        "epsilon": number(rule.epsilon),
        "moment_weight": _weight(beta2, "t"),
        "new": number(1 - decay),
        "norm_weight": _weight(decay, "t"),
        "in_units": "; of a policy, over the mean of its size" if policy else "",
        "beta": number(beta),
        "one_beta": number(1 - beta),
        "clip": number(rule.error_clip),
        "error_weight": _weight(beta, "t"),
        "least": number(1e-12),
        "eta": number(rule.eta),
        "largest": number(_largest_ratio(decay, beta2)) if measured else "MATH(sqrt)(q)",
        "policy": policy,
        "shortened": rule.row_norm is not None,
    }
    shorten = () if rule.row_norm is None else (_SHORTEN,)
    return RuleText(
        _intend("z" if rule.preconditioner == "trace" else "g") if measured else INTEND_EVENLY,
        (_CHANGE, *shorten),
        fill(_BEFORE_INTENTION, **words),
        fill(_AFTER_INTENTION, **words),
        trace=".trace",
        moment=".moment",
        numbers=tuple((name, f".{name}") for name in ("norm", "error_square", "error_size")),
        counts=(("steps", ".steps"), ("refused", ".refused")),
        row_norm="" if rule.row_norm is None else number(rule.row_norm),
        goes_on=True,
    )


_RULES: dict[type, Callable[[Any, Words, float], RuleText]] = {
    ObGD: _obgd,
    SGD: _sgd,
    AdaptiveObGD: _adaptive,
    Intentional: _intentional,
    IntentionalPolicy: _intentional,
}


def refuse_clip(rule: SGD) -> None:
    if rule.clip is not None:
        raise ValueError(
            f"SGD(clip={rule.clip}) has no form in C, which would need one more pass; "
            "SGD without clip and ObGD have one"
        )
