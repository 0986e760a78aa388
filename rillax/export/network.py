"""The C of a network: its sizes, its structs, and how an observation passes through it.

Both networks of an agent have one ``Architecture``, so they share all of this but the output
layer: the *body* is encoder, recurrent layers and hidden blocks of the head.
"""

from dataclasses import dataclass

from rillax.export.cells import CellText, Leaf, cell_text
from rillax.export.kernels import ACTIVATION_NAMES
from rillax.export.rules import Row, dense_rows
from rillax.export.text import fill
from rillax.networks import Architecture


@dataclass(frozen=True)
class Block:
    """A dense layer, LayerNorm and activation."""

    name: str
    path: str
    """Of its JAX leaves, below the network's."""
    source: str
    """What it reads, as a member of a pass."""
    inputs: int
    width: int
    norm: bool

    @property
    def ROWS(self) -> str:
        return f"{self.name}_width".upper()

    @property
    def COLUMNS(self) -> str:
        return f"{self.name}_inputs".upper()


@dataclass(frozen=True)
class Body:
    """A network but for its output layer."""

    inputs: int
    encoder: tuple[Block, ...]
    cells: tuple[CellText, ...]
    head: tuple[Block, ...]
    activation: str
    direct: int
    """How many of the inputs the output layer reads as well, next to the last features."""

    @property
    def blocks(self) -> tuple[Block, ...]:
        return (*self.encoder, *self.head)

    @property
    def last(self) -> str:
        """What the output layer reads, as a member of a pass."""
        return "joined" if self.direct else self.above

    @property
    def above(self) -> str:
        """What comes out of the last layer of the body."""
        return self.head[-1].name if self.head else f"{self.cells[-1].name}.features"

    @property
    def top(self) -> int:
        """How many numbers that are."""
        return self.head[-1].width if self.head else self.cells[-1].features

    @property
    def features(self) -> int:
        return self.top + self.direct

    @property
    def widest(self) -> int:
        widths = [self.inputs, self.features, *(b.width for b in self.blocks)]
        return max(*widths, *(c.features for c in self.cells), *(c.inputs for c in self.cells))

    def weights(self) -> list[Leaf]:
        """What is learned, in the order of the struct ``body_weights``."""
        found: list[Leaf] = []
        for block in self.encoder:
            found += _leaves_of(block)
        for i, cell in enumerate(self.cells):
            found += [(f"{cell.name}.{m}", f".layers[{i}]{path}", n) for m, path, n in cell.weights]
        for block in self.head:
            found += _leaves_of(block)
        return found

    def matrices(self) -> list[tuple[str, int, int]]:
        """The matrices among them, with rows and columns."""
        blocks = [(f"{block.name}_weight", block.width, block.inputs) for block in self.blocks]
        cells = [(f"{c.name}.{m}", c.units, c.inputs) for c in self.cells for m in c.matrices]
        return blocks + cells

    def memory(self) -> list[Leaf]:
        """What is remembered, in the order of the struct ``body_memory``: below the stream."""
        found: list[Leaf] = []
        for i, cell in enumerate(self.cells):
            parts = (
                (cell.hidden, f".memory[{i}].hidden"),
                (cell.previous, f".previous[{i}]"),
                (cell.sensitivity, f".memory[{i}].sensitivity"),
            )
            for leaves, above in parts:
                found += [(f"{cell.name}.{m}", above + path, n) for m, path, n in leaves]
        return found


def _leaves_of(block: Block) -> list[Leaf]:
    weight = (f"{block.name}_weight", f"{block.path}.linear.weight", block.width * block.inputs)
    return [weight, (f"{block.name}_bias", f"{block.path}.linear.bias", block.width)]


def body_of(network: Architecture, inputs: int, observations: int) -> Body:
    """The body of a network in C; a ``ValueError`` names what cannot be exported."""
    _refuse(network)
    encoder: list[Block] = []
    widths = network.encoder_widths or (network.width,)
    source, size = "seen", inputs
    for i, width in enumerate(widths):
        several = len(widths) > 1
        name = f"encoder_{i + 1}" if several else "encoder"
        path = f".encoder.blocks[{i}]" if several else ".encoder"
        encoder.append(Block(name, path, source, size, width, network.layer_norm))
        source, size = name, width
    cells: list[CellText] = []
    for i, settings in enumerate(network.layers):
        name = f"cell_{i + 1}" if len(network.layers) > 1 else "cell"
        cells.append(cell_text(settings, name, size, network.activation))
        source, size = f"{name}.features", cells[-1].features
    head: list[Block] = []
    widths = (network.width,) if network.head_widths is None else network.head_widths
    for i, width in enumerate(widths):
        name = f"head_{i + 1}" if len(widths) > 1 else "head"
        head.append(Block(name, f".head.blocks[{i}]", source, size, width, network.head_layer_norm))
        source, size = name, width
    parts = tuple(encoder), tuple(cells), tuple(head)
    return Body(inputs, *parts, network.activation, observations if network.direct else 0)


def _refuse(network: Architecture) -> None:
    if network.encoder is not None:
        raise ValueError("an encoder of your own has no form in C; the encoder of blocks has one")
    for name, supported in (("learn_encoder", True), ("update_every", 1), ("cell_step", 1.0)):
        if (value := getattr(network, name)) != supported:
            raise ValueError(
                f"a network with {name}={value} has no form in C; {name}={supported} has one"
            )


# ---- structs


def sizes(body: Body) -> list[tuple[str, int]]:
    """The sizes of the body's layers, as C constants."""
    found = []
    for block in body.encoder:
        found += [(block.COLUMNS, block.inputs), (block.ROWS, block.width)]
    for cell in body.cells:
        found += [
            (f"{cell.name}_inputs".upper(), cell.inputs),
            (f"{cell.name}_units".upper(), cell.units),
        ]
    for block in body.head:
        found += [(block.COLUMNS, block.inputs), (block.ROWS, block.width)]
    if body.direct:
        found.append(("TOP_FEATURES", body.top))
    return [*found, ("FEATURES", body.features)]


def structs(body: Body) -> str:
    """The structs of the body: what it learns, what it remembers, what passes through it."""
    parts = [cell.structs for cell in body.cells]
    weights, passing = [], [f"    learner_real seen[{body.inputs}];"]
    for block in body.encoder:
        weights.append(_block_weights(block))
        passing.append(_block_pass(block))
    for cell in body.cells:
        weights.append(f"    {cell.name}_weights {cell.name};")
        passing.append(f"    {cell.name}_pass {cell.name};")
    for block in body.head:
        weights.append(_block_weights(block))
        passing.append(_block_pass(block))
    if body.direct:
        passing.append(f"    learner_real joined[{body.features}];")
    memory = [f"    {cell.name}_memory {cell.name};" for cell in body.cells]
    parts += [
        _struct("What a network learns, but for its output layer.", weights, "body_weights"),
        _struct("What a network remembers.", memory, "body_memory"),
        _struct("What an observation becomes on its way through a network.", passing, "body_pass"),
    ]
    return "\n".join(part.strip("\n") + "\n" for part in parts)


def slopes(body: Body) -> str:
    """The struct of the gradients on the way back."""
    lines = [f"    learner_real {block.name}[{block.width}];" for block in body.encoder]
    lines += [f"    {cell.name}_slope {cell.name};" for cell in body.cells]
    lines += [f"    learner_real {block.name}[{block.width}];" for block in body.head]
    return _struct("The gradient of each layer's sum, on the way back.", lines, "body_slope")


def _struct(about: str, lines: list[str], name: str) -> str:
    return f"/* {about} */\ntypedef struct {{\n" + "\n".join(lines) + f"\n}} {name};\n"


def _block_weights(block: Block) -> str:
    return (
        f"    learner_real {block.name}_weight[{block.width} * {block.inputs}];\n"
        f"    learner_real {block.name}_bias[{block.width}];"
    )


def _block_pass(block: Block) -> str:
    n = block.width
    factor = f", {block.name}_factor" if block.norm else ""
    return f"    learner_real {block.name}_normed[{n}]{factor}, {block.name}[{n}];"


# ---- functions


def functions(body: Body, of_peek: bool) -> str:
    """How an observation passes through the body, and a gradient back.

    ``of_peek`` says whether peeks are differentiated too.
    """
    activation = ACTIVATION_NAMES[body.activation]
    encode = "".join(_block_forward(block, activation) for block in body.encoder)
    read = "".join(_block_forward(block, activation) for block in body.head)
    if body.direct:
        read += "" if body.head else "    (void)w;\n"
        read += f"    copy({body.top}, p->joined, p->{body.above});\n"
        read += f"    copy({body.direct}, p->joined + {body.top}, p->seen);\n"
    inputs = _cell_inputs(body)
    lines = {
        kind: "".join(
            f"    {cell.name}_{kind}(&w->{cell.name}, &m->{cell.name}, {between}p->{x}, "
            f"{fresh}&p->{cell.name});\n".replace("@", cell.name)
            for cell, x in inputs
        )
        for kind, between, fresh in (
            ("advance", "", "fresh, "),
            ("recall", "", ""),
            ("peek", "&now->@, ", ""),
        )
    }
    cells = "\n".join(
        cell.functions + ("\n" + cell.past_of_peek if of_peek else "") for cell in body.cells
    )
    vectors = [f"size_of({block.ROWS}, s->{block.name})" for block in body.blocks]
    vectors += [f"{cell.name}_size(&s->{cell.name})" for cell in body.cells]
    return (
        cells
        + "\n"
        + fill(
            _BODY,
            encode=encode.rstrip("\n"),
            advance=lines["advance"].rstrip("\n"),
            recall=lines["recall"].rstrip("\n"),
            peek=lines["peek"].rstrip("\n"),
            read=read.rstrip("\n"),
            has_head=bool(body.head or body.direct),
            back=_back(body, activation).rstrip("\n"),
            past="\n".join(
                f"    {c}_past(&w->{c}, &m->{c}, &p->{c}, &s->{c});"
                for c in (cell.name for cell in body.cells)
            ),
            of_peek=of_peek,
            past_of_peek="\n".join(
                f"    {c}_past_of_peek(&w->{c}, &m->{c}, &now->{c}, &p->{c}, &s->{c});"
                for c in (cell.name for cell in body.cells)
            ),
            size="\n           + ".join(vectors),
        )
    )


def _cell_inputs(body: Body) -> list[tuple[CellText, str]]:
    sources = [body.encoder[-1].name, *(f"{cell.name}.features" for cell in body.cells)]
    return list(zip(body.cells, sources, strict=False))


def _block_forward(block: Block, activation: str) -> str:
    name = block.name
    lines = [
        f"dense({block.ROWS}, {block.COLUMNS}, w->{name}_weight, w->{name}_bias, "
        f"p->{block.source}, p->{name}_normed);"
    ]
    if block.norm:
        lines.append(f"p->{name}_factor = layer_norm({block.ROWS}, p->{name}_normed);")
    lines.append(f"{activation}({block.ROWS}, p->{name}_normed, p->{name});")
    return "".join(f"    {line}\n" for line in lines)


def _back(body: Body, activation: str) -> str:
    """From the gradient of the last features to that of every layer's sum."""

    def block_back(block: Block, g: str) -> list[str]:
        name = block.name
        lines = [f"{activation}_back({block.ROWS}, p->{name}_normed, p->{name}, {g}, s->{name});"]
        if block.norm:
            lines.append(
                f"layer_norm_back({block.ROWS}, p->{name}_normed, p->{name}_factor, s->{name});"
            )
        return lines

    lines: list[str] = []
    g, other = "g_features", "a"
    for block in reversed(body.head):
        lines += block_back(block, g)
        lines.append(
            f"dense_back({block.ROWS}, {block.COLUMNS}, w->{block.name}_weight, "
            f"s->{block.name}, {other});"
        )
        g, other = other, "b" if other == "a" else "a"
    for cell in reversed(body.cells):
        name = cell.name
        lines.append(
            f"{name}_back(&w->{name}, &now->{name}, &p->{name}, {g}, &s->{name}, {other});"
        )
        g, other = other, "b" if other == "a" else "a"
    for i, block in reversed(list(enumerate(body.encoder))):
        lines += block_back(block, g)
        if i:
            lines.append(
                f"dense_back({block.ROWS}, {block.COLUMNS}, w->{block.name}_weight, "
                f"s->{block.name}, {other});"
            )
            g, other = other, "b" if other == "a" else "a"
    used = "a[LEARNER_WIDEST]"
    if any(line.endswith(", b);") for line in lines):
        used += ", b[LEARNER_WIDEST]"
    return f"    real {used};\n" + "".join(f"    {line}\n" for line in lines)


_BODY = """
/* ---- the body of a network: encoder, recurrent layers, head ---- */

static void encode(const body_weights *w, const real *seen, body_pass *p)
{
    copy(LEARNER_INPUTS, p->seen, seen);
$encode
}

?has_head|static void read(const body_weights *w, body_pass *p)
?has_head|{
?has_head|$read
?has_head|}
?has_head|
/* Take in an observation; from a blank memory, if the episode is fresh. */
static void advance(const body_weights *w, body_memory *m, const real *seen, int fresh,
                    body_pass *p)
{
    encode(w, seen, p);
$advance
?has_head|    read(w, p);
}

/* What advance computed, once more: after load, or where learn is called twice. */
static void recall(const body_weights *w, const body_memory *m, const real *seen, body_pass *p)
{
    encode(w, seen, p);
$recall
?has_head|    read(w, p);
}

/* What an observation would become if memory took it in. */
static void peek(const body_weights *w, const body_memory *m, const body_pass *now,
                 const real *seen, body_pass *p)
{
    encode(w, seen, p);
$peek
?has_head|    read(w, p);
}

/* From dL/dfeatures to every layer. Between layers a gradient reaches one step back. */
static void back(const body_weights *w, const body_pass *now, const body_pass *p,
                 const real *g_features, body_slope *s)
{
$back
}

/* What comes on the way back of parameters that are vectors. */
static void past(const body_weights *w, const body_memory *m, const body_pass *p, body_slope *s)
{
$past
}
?of_peek|
?of_peek|/* The same for a peek; now is what the memory was read as before it. */
?of_peek|static void past_of_peek(const body_weights *w, const body_memory *m, const body_pass *now,
?of_peek|                         const body_pass *p, body_slope *s)
?of_peek|{
?of_peek|$past_of_peek
?of_peek|}

/* The sum of the gradients of all vectors, without their signs. */
static real size(const body_slope *s)
{
    return $size;
}
"""


def body_rows(body: Body, row: Row) -> str:
    """The functions that go over every row of the body with a rule."""
    parts = [row.text, dense_rows(row), *(cell.rows(row) for cell in body.cells)]
    takes = ", ".join(
        f"{'' if a in row.changes else 'const '}body_weights *{a}" for a in row.arrays
    )
    lines = []

    def dense(columns: str, rows: str, member: str, x: str, g: str) -> str:
        arrays = ", ".join(f"{a}->{member}weight, {a}->{member}bias" for a in row.arrays)
        ahead = f", p_next->{x}, s_next->{g}" if row.next else ""
        return (
            f"    dense_{row.name}(by, {rows}, {columns}, {arrays}, p->{x}, s->{g}{ahead}"
            f"{row.last_argument});"
        )

    for block in body.encoder:
        lines.append(dense(block.COLUMNS, block.ROWS, f"{block.name}_", block.source, block.name))
    for cell, x in _cell_inputs(body):
        name = cell.name
        if not cell.rows(row):
            upper = name.upper()
            lines.append(dense(f"{upper}_INPUTS", f"{upper}_UNITS", f"{name}.", x, f"{name}.g"))
            continue
        arrays = ", ".join(f"&{a}->{name}" for a in row.arrays)
        ahead = f", &p_next->{name}, p_next->{x}, &s_next->{name}" if row.next else ""
        lines.append(
            f"    {name}_{row.name}(by, {arrays}, &m->{name}, &p->{name}, p->{x}, "
            f"&s->{name}{ahead}{row.last_argument});"
        )
    for block in body.head:
        lines.append(dense(block.COLUMNS, block.ROWS, f"{block.name}_", block.source, block.name))
    text = """
    /* Every row of a network but for its output layer: $about. */
    static void body_${rule}(const step *by, $takes, const body_memory *m,
    ?!next|                         const body_pass *p, const body_slope *s$norm)
    ?next|                         const body_pass *p, const body_slope *s,
    ?next|                         const body_pass *p_next, const body_slope *s_next$norm)
    {
    ?no_memory|    (void)m;
    $lines
    }
    """
    parts.append(
        fill(
            "\n".join(line[4:] for line in text.splitlines()),
            rule=row.name,
            about=row.about,
            takes=takes,
            next=row.next,
            norm=row.last_parameter,
            no_memory=not any(cell.rows(row) for cell in body.cells),
            lines="\n".join(lines),
        )
    )
    return "\n".join(part.strip("\n") + "\n" for part in parts if part)
