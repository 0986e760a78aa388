"""A learner as C: the header, the source, and the state it starts from."""

import json
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from rillax import normalisation, spaces
from rillax.agents import QRC, Brook, Rill, StreamAC, StreamQ, senses
from rillax.export import network
from rillax.export.agents import AgentText
from rillax.export.kernels import (
    ACTIVATION_NAMES,
    ACTIVATIONS,
    BYTES,
    DENSE,
    DENSE_BACK,
    NORM,
    RANDOM,
    TOTAL,
    VECTORS,
    elementary,
)
from rillax.export.layout import VERSION, Field, Layout, integer
from rillax.export.qrc import qrc
from rillax.export.rill import rill
from rillax.export.stream_ac import stream_ac
from rillax.export.stream_q import stream_q
from rillax.export.text import fill, number
from rillax.utils import settings

AGENTS: dict[type, Callable[[Any, Any, Any], AgentText]] = {
    Rill: rill,
    Brook: stream_ac,
    StreamAC: stream_ac,
    StreamQ: stream_q,
    QRC: qrc,
}


@dataclass(frozen=True)
class Source:
    """A learner in C, without a state to start from."""

    header: str
    code: str
    layout: Layout
    constants: tuple[str, ...]
    """Leaves of the state that are constants in C."""
    metrics: tuple[str, ...]
    """What ``learner_metrics`` gives."""


_HEADER = """
/* A learner that learns on the device: $title, as rillax wrote it.
 *
 * Call learner_start once, then learner_act and learner_learn in turns. The struct is all that the
 * learner is: it needs no heap, and its size never changes. Build with LEARNER_DOUBLE defined for
 * double precision. Do not build with -ffast-math, which would lose the checks for NaN.
 */
#ifndef LEARNER_H
#define LEARNER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifdef LEARNER_DOUBLE
typedef double learner_real;
#else
typedef float learner_real;
#endif

enum {
$sizes
};

/* What the functions return, beside an action. Where it is an error, the learner is as it was;
   only after LEARNER_REFUSED it is as after learner_skip. */
enum {
    LEARNER_OK = 0,
    LEARNER_NOT_FINITE = -1, /* a NaN or an infinity came in */
    LEARNER_NO_ACTION = -2,  /* learn was called before act, or twice */
    LEARNER_TOO_SHORT = -3,  /* fewer bytes than learner_bytes() */
    LEARNER_FOREIGN = -4,    /* bytes of another learner, version or precision */
    LEARNER_DAMAGED = -5,    /* bytes that changed on the way */
    LEARNER_REFUSED = -6     /* learning would have left numbers that are not finite */
};

$structs
/* All that the learner is. */
typedef struct {
    /* Real numbers, in the order in which they are saved. */
$reals
    /* Integers, likewise. */
$integers
    /* What act has computed for learn; it is not saved. */
$scratch    int32_t ready;
} learner;

/* The learner as it was exported. */
?start|void learner_start(learner *self);
?!start|/* void learner_start(learner *self) comes with an exported state. */

?discrete|/* Take in an observation and choose an action, from 0 on; or an error. */
?discrete|int learner_act(learner *self, const learner_real *observation);
?!discrete|/* Take in an observation and choose an action. */
?!discrete|int learner_act(learner *self, const learner_real *observation, learner_real *action);

/* Learn from what the action led to. After a time limit (truncated) the next value still counts;
   after either end the next act starts with a blank memory. */
int learner_learn(learner *self, learner_real reward, const learner_real *next, int terminated,
                  int truncated);

/* Let a transition go by unlearned. */
int learner_skip(learner *self, int done);

/* Bytes that save writes and load reads. */
size_t learner_bytes(void);
int learner_save(const learner *self, unsigned char *bytes, size_t length);
int learner_load(learner *self, const unsigned char *bytes, size_t length);

/* $metrics of the last learn. */
void learner_metrics(const learner *self, learner_real metrics[$count]);

/* sizeof(learner), for callers in other languages. */
size_t learner_size(void);

#ifdef __cplusplus
}
#endif

#endif
"""

_PRELUDE = """
/* $title on the device: one sample in, one step of learning, and the sample is gone.
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

#define REASON $reason   /* no TD error or value is as large, unless something has run away */
#define LARGEST $largest /* no reading counts for more */

/* ---- settings ---- */

$constants
enum {
$sizes
};
"""

_STATE = """
/* ---- the state as bytes ---- */

/* Real numbers come first in the struct, then integers, with nothing between them. */
typedef char reals_are_first
    [offsetof(learner, $first_integer) == LEARNER_REALS * sizeof(real) ? 1 : -1];
typedef char integers_follow
    [offsetof(learner, $last_integer) - offsetof(learner, $first_integer)
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
$ranges
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
$cuts
?added|        zero(LEARNER_ADDED, self->added);
    }
    return LEARNER_OK;
}

void learner_metrics(const learner *self, learner_real metrics[$count])
{
$metrics
}
"""


def source(agent: Any, observation_space: Any, action_space: Any, *, start: bool = False) -> Source:
    """An agent in C; a ``ValueError`` names what cannot be exported."""
    if type(agent) not in AGENTS:
        raise ValueError(
            f"the agent {type(agent).__name__} has no form in C; Rill, Brook, StreamAC, StreamQ "
            "and QRC have one"
        )
    text = AGENTS[type(agent)](agent, observation_space, action_space)
    fields = (
        *text.fields,
        integer("fresh", ".fresh", least=0, below=2),
        integer("acted", least=0, below=2),
        integer("step", ".step", least=0),
        Field("key", (".key",), 2, False, False, unsigned=True),
    )
    described = {
        "agent": settings.to_json(agent),
        "observation_space": spaces.describe(observation_space),
        "action_space": spaces.describe(action_space),
        "members": [[field.member, field.count] for field in fields],
    }
    kind = zlib.crc32(json.dumps(described, sort_keys=True).encode())
    layout = Layout(fields, kind)
    return Source(
        header=_header(text, layout, start),
        code=_code(text, layout),
        layout=layout,
        constants=(".bounds", ".q_rule", ".h_rule"),
        metrics=text.metrics,
    )


def _header(text: AgentText, layout: Layout, start: bool) -> str:
    face = text.interface
    sizes = [
        ("OBSERVATIONS", str(face.observations), "numbers in an observation"),
        ("ACTIONS", str(face.actions), "actions" if face.discrete else "numbers in an action"),
    ]
    if face.added:
        sizes.append(("ADDED", str(face.added), "numbers of the last action and reward"))
    sizes += [
        ("INPUTS", str(face.inputs), "numbers that the networks take in"),
        ("REALS", str(sum(f.count for f in layout.numbers)), "real numbers in the state"),
        ("INTEGERS", str(sum(f.count for f in layout.integers)), "integers in the state"),
    ]
    lines = [f"    LEARNER_{name} = {value}, /* {about} */" for name, value, about in sizes]
    lines.append(f"    LEARNER_VERSION = {VERSION} /* of the saved bytes */")
    return fill(
        _HEADER,
        title=text.title,
        sizes="\n".join(lines),
        structs=network.structs(text.body) + "\n" + text.structs,
        reals=text.members + _members(layout.numbers),
        integers=_members(layout.integers),
        scratch=text.scratch,
        start=start,
        discrete=face.discrete,
        metrics=", ".join(text.metrics).capitalize(),
        count=len(text.metrics),
    )


def _members(fields: list[Field]) -> str:
    lines = []
    for field in fields:
        if field.declared:
            kind = "learner_real" if field.real else ("uint32_t" if field.unsigned else "int32_t")
            lines.append(f"    {kind} {field.member}{'' if field.scalar else f'[{field.count}]'};")
    return "\n".join(lines)


def _code(text: AgentText, layout: Layout) -> str:
    face, body = text.interface, text.body
    sizes = [*network.sizes(body), ("LEARNER_WIDEST", max(body.widest, 2 * face.actions))]
    constants = text.constants + f"#define LEARNER_KIND 0x{layout.kind:08X}u\n"
    integers = layout.integers
    places, at = {}, 0
    for field in integers:
        places[field.member] = at
        at += field.count
    ranges = [
        f"        {{{places[f.member]}, {f.least}, {f.below - 1 if f.below else 'INT32_MAX'}}}, "
        f"/* {f.member} */"
        for f in integers
        if f.least is not None
    ]
    activations = {body.activation}
    for cell in body.cells:
        activations |= {a for a in ACTIVATIONS if f"{ACTIVATION_NAMES[a]}(" in cell.functions}
    normed = any(block.norm for block in body.blocks) or any(
        "layer_norm(" in cell.functions for cell in body.cells
    )
    layers = network.functions(body, text.peeks)
    functions = [ACTIVATIONS[a] for a in ACTIVATIONS if a in activations]
    parts = [
        fill(
            _PRELUDE,
            title=text.title,
            reason=number(senses.REASON),
            largest=number(normalisation.LARGEST),
            constants=constants,
            sizes=",\n".join(f"    {name} = {value}" for name, value in sizes),
        ),
        network.slopes(body),
        VECTORS,
        TOTAL if "total(" in text.functions else "",
        DENSE,
        DENSE_BACK if "dense_back(" in layers + text.functions else "",
        NORM if normed else "",
        elementary("".join([*functions, layers])),
        *functions,
        RANDOM,
        layers,
        text.functions,
        BYTES,
        fill(
            _STATE,
            first_integer=integers[0].member,
            last_integer="key[1]",
            ranges="\n".join(ranges),
            added=face.added,
            cuts="\n".join(f"        self->{cut} = 1;" for cut in text.cuts),
            count=len(text.metrics),
            metrics="\n".join(
                f"    metrics[{i}] = self->{name};" for i, name in enumerate(text.metrics)
            ),
        ),
    ]
    return "\n".join(part.strip("\n") + "\n" for part in parts if part)


# ---- the state to start from

_PER_LINE = 8


def start(layout: Layout, arrays: Mapping[str, np.ndarray], acted: bool) -> str:
    """``learner_start`` for a state (``checkpoint.flatten``); what is zero is not written out."""
    tables, lines = [], []
    for field in layout.fields:
        values = arrays[field.paths[0]].ravel() if field.paths else np.asarray([int(acted)])
        if not np.any(values):
            continue
        if field.scalar:
            lines.append(f"    self->{field.member} = {_literal(values[0], field)};")
            continue
        name = field.member.replace(".", "_")
        kind = "real" if field.real else "uint32_t"
        rows = [
            ", ".join(_literal(v, field) for v in values[i : i + _PER_LINE])
            for i in range(0, len(values), _PER_LINE)
        ]
        tables.append(
            f"static const {kind} {name}[{field.count}] = {{\n    " + ",\n    ".join(rows) + "};\n"
        )
        lines.append(f"    memcpy(self->{field.member}, {name}, sizeof {name});")
    return (
        "\n/* ---- the learner as it was exported ---- */\n\n"
        + "".join(tables)
        + "\nvoid learner_start(learner *self)\n{\n    memset(self, 0, sizeof *self);\n"
        + "\n".join(lines)
        + "\n}\n"
    )


def _literal(value: Any, field: Field) -> str:
    if not field.real:
        return f"{int(value)}u" if field.unsigned else str(int(value))
    if value.dtype == np.float64:
        return repr(float(value))
    digits = np.format_float_scientific(value, unique=True, trim="0")
    return f"{digits}f" if value != 0 else "0"
