"""Spellings of earlier versions. They keep working: each becomes the flags of today.

    then                            today
    --hidden N                      --units N
qrc --clip-at update --clip C       --q-clip C --h-clip C (C is 1.0 if not given)
    --clip-at gradient --clip C     --clip-gradients C
    --clip-at none                  nothing, it is the default; --clip alone had no effect
    --kappa K                       --q obgd --h obgd --q-kappa K --h-kappa K
stream_ac
    --adaptive                      --actor adaptive_obgd --critic adaptive_obgd
    --no-adaptive                   nothing, it is the default

A line that names no agent and has flags of QRC's in their old spelling means QRC, as it did then.
"""

from rillax.cli.arguments import peek, take
from rillax.utils.names import choose

RENAMED = {"--hidden": "--units"}
CLIPPED = {"none": (), "update": ("--q-clip", "--h-clip"), "gradient": ("--clip-gradients",)}
OF_QRC = ("--clip-at", "--clip", "--kappa")
ADAPTIVE = ["--actor", "adaptive_obgd", "--critic", "adaptive_obgd"]


def means_qrc(argv: list[str]) -> bool:
    """Whether arguments that name no agent are of the time when QRC was meant."""
    return any(peek(argv, flag) is not None for flag in OF_QRC)


def translate(argv: list[str], agent: str) -> list[str]:
    """The arguments in today's spelling.

    >>> translate(["--hidden", "8", "--kappa", "2"], "qrc")
    ['--units', '8', '--q', 'obgd', '--h', 'obgd', '--q-kappa', '2', '--h-kappa', '2']
    """
    argv = [RENAMED.get(token, token) for token in argv]
    if agent == "qrc":
        return _translate_qrc(argv)
    if agent == "stream_ac":
        adaptive = ADAPTIVE if "--adaptive" in argv else []
        return [token for token in argv if token not in ("--adaptive", "--no-adaptive")] + adaptive
    return argv


def _translate_qrc(argv: list[str]) -> list[str]:
    found = {}
    for flag in OF_QRC:
        found[flag], argv = take(argv, flag)
    where, norm, kappa = found.values()
    choose("clip_at", where or "none", CLIPPED)
    for flag in CLIPPED[where or "none"]:
        argv = [*argv, flag, norm or "1.0"]
    if kappa in (None, "None"):
        return argv
    if where == "update":
        raise ValueError("--kappa bounds the update, so it cannot be used with --clip-at update")
    return [*argv, "--q", "obgd", "--h", "obgd", "--q-kappa", kappa, "--h-kappa", kappa]
