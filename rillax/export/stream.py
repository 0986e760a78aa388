"""A network on the stream with a step-size rule, in C: what it is, and its step of learning."""

from dataclasses import dataclass
from typing import Any

from rillax.export.layout import Field, integer, reals
from rillax.export.network import Body, body_rows
from rillax.export.rules import SHORTEN, STEP, RuleText
from rillax.export.text import fill, indent

_STRUCTS = """
/* What the $about learns. */
typedef struct {
    body_weights body;
    learner_real out_weight[$outputs * $features], out_bias[$outputs];
?deviation|    learner_real log_deviation[$deviation];
} ${net}_weights;

/* On the stream: parameters, their eligibility traces,$moment memory. */
typedef struct {
?!adaptive|    ${net}_weights w, z;
?adaptive|    ${net}_weights w, z, v;
    body_memory memory;
} learner_$net;
"""

_LEARN = """
enum { ${NET}_SIZE = sizeof(${net}_weights) / sizeof(real) };

/* z <- gamma lambda z + grad $what, and a step of the $about. g is the
   gradient of its output. */
static void learn_$net(learner *self, step by, const real *g, const body_slope *slope)
{
?sums|    real norm[$sums] = {0};
    by.decay = self->$cut ? 0 : $decay;
$before
    body_$row(&by, $bodies, &self->$net.memory,
              &self->${net}_pass, slope$norm);
    dense_$row(&by, ${OUTPUTS}, $FEATURES, $outs,
               self->${net}_pass.$last, g$norm);
?deviation|    ${row}_row(&by, $deviation, $deviations, g + ${OUTPUTS}$norm);
$after
}
"""


@dataclass(frozen=True)
class OnStream:
    """A network, and the rule by which it learns."""

    name: str
    about: str
    """In a word, for comments."""
    what: str
    """What its gradient is of, for comments."""
    body: Body
    outputs: int
    OUTPUTS: str
    """The same as a C constant."""
    rule: RuleText
    alone: bool = False
    """Whether the agent has no other: then what belongs to it is not named after it."""
    decay: str = "TRACE_DECAY"
    """gamma lambda as a C constant."""
    below: str = ""
    """Where JAX keeps the network, below what is learned."""
    deviation: int = 0
    """How many deviations are learned beside the network."""
    direct: bool = True
    """Whether its outputs read the observation, where the body is made for it."""

    @property
    def features(self) -> int:
        """How many numbers its outputs read."""
        return self.body.features if self.direct else self.body.top

    @property
    def FEATURES(self) -> str:
        """The same as a C constant."""
        return "FEATURES" if self.features == self.body.features else "TOP_FEATURES"

    @property
    def last(self) -> str:
        """Where they are, as a member of a pass."""
        return self.body.last if self.direct else self.body.above

    def structs(self) -> str:
        return fill(
            _STRUCTS,
            net=self.name,
            about=self.about,
            outputs=self.outputs,
            features=self.features,
            deviation=self.deviation,
            adaptive=self.rule.has_moment,
            moment=" their second moments," if self.rule.has_moment else "",
        )

    def scratch(self) -> str:
        """What it computes, beside the state."""
        lines = [f"    body_pass {self.name}_pass;\n"]
        if self.rule.has_direction:
            lines.append(f"    {self.name}_weights {self.name}_direction; /* of its step */\n")
        return "".join(lines)

    def _place(self, array: str) -> str:
        return f"self->{self.name}_direction" if array == "d" else f"self->{self.name}.{array}"

    def _shorten(self) -> str:
        """Lines of C: every matrix within the bound of the rule."""
        matrices = [(f"body.{m}", rows, columns) for m, rows, columns in self.body.matrices()]
        matrices.append(("out_weight", self.outputs, self.features))
        return "\n    ".join(
            f"shorten({rows}, {columns}, self->{self.name}.w.{m}, {self.rule.row_norm});"
            for m, rows, columns in matrices
        )

    def learn(self) -> str:
        """The function that takes a step of learning."""
        row, places = self.rule.row, [self._place(array) for array in self.rule.row.arrays]
        return fill(
            _LEARN,
            net=self.name,
            NET=self.name.upper(),
            about=self.about,
            what=self.what,
            cut=self.cut,
            decay=self.decay,
            sums=row.size if row.sums else "",
            before=indent(self.rule.before),
            after=indent(self.rule.after.replace(SHORTEN, self._shorten())),
            row=row.name,
            bodies=", ".join(f"&{place}.body" for place in places),
            outs=", ".join(f"{place}.out_weight, {place}.out_bias" for place in places),
            deviations=", ".join(f"{place}.log_deviation" for place in places),
            deviation=self.deviation,
            OUTPUTS=self.OUTPUTS,
            FEATURES=self.FEATURES,
            last=self.last,
            norm=row.last_argument,
        )

    def fields(self) -> tuple[list[Field], list[Field]]:
        """What is saved inside its struct, and what beside."""
        net, optimiser = self.name, f".{self.optimiser}"
        learned = [
            *((f"body.{m}", path, n) for m, path, n in self.body.weights()),
            ("out_weight", ".head.linear.weight", self.outputs * self.features),
            ("out_bias", ".head.linear.bias", self.outputs),
        ]
        trace = f"{optimiser}{self.rule.trace}.trace"
        copies = [("w", f".{net}.network", ""), ("z", trace + self.below, trace)]
        if self.rule.has_moment:
            moment = optimiser + self.rule.moment
            copies.append(("v", moment + self.below, moment))
        found: list[Field] = []
        for copy, above, owner in copies:
            found += [
                reals(f"{net}.{copy}.{m}", above + path, n, declared=False)
                for m, path, n in learned
            ]
            if self.deviation:
                member, path = f"{net}.{copy}.log_deviation", f"{owner}.log_deviation"
                found.append(reals(member, path, self.deviation, declared=False))
        found += [
            reals(f"{net}.memory.{m}", f".{net}{path}", n, declared=False)
            for m, path, n in self.body.memory()
        ]
        beside = [reals(f"{net}_{m}", optimiser + path) for m, path in self.rule.numbers]
        beside += [integer(f"{net}_{m}", optimiser + path, least=0) for m, path in self.rule.counts]
        beside.append(integer(self.cut, f"{optimiser}{self.rule.trace}.cut", least=0, below=2))
        return found, beside

    @property
    def optimiser(self) -> str:
        return "optimiser" if self.alone else f"{self.name}_optimiser"

    @property
    def cut(self) -> str:
        """The member that says whether the trace starts anew."""
        return "cut" if self.alone else f"{self.name}_cut"

    def cut_where_refused(self, reset: str) -> str:
        """A line of C: the trace after a step that was not learned from."""
        if self.rule.goes_on:
            return f"self->{self.cut} = {reset};"
        return f"self->{self.cut} = self->{self.cut} || {reset};"


def updates(body: Body, networks: list[OnStream]) -> str:
    """The step-size rules of some networks, without the functions ``learn`` gives."""
    rules = [network.rule for network in networks]
    rows = {rule.row.name: rule.row for rule in rules}
    step = fill(
        STEP,
        scale="follow" in rows,
        moment=any(rule.has_moment for rule in rules),
        means=any(rule.has_moment or rule.goes_on for rule in rules),
        direction=False,
    )
    texts = dict.fromkeys(text for rule in rules for text in rule.texts)
    parts: list[Any] = [step, *texts, *(body_rows(body, row) for row in rows.values())]
    return "\n".join(part.strip("\n") + "\n" for part in parts)
