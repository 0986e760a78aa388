"""Looking at the arguments before there is a parser for them."""


def split(argv: list[str]) -> list[str]:
    """The same arguments in one spelling.

    >>> split(["--r_min=0.9", "--env-arg", "a_b=c"])
    ['--r-min', '0.9', '--env-arg', 'a_b=c']
    """
    tokens: list[str] = []
    for token in argv:
        if token.startswith("--"):
            flag, equals, value = token.partition("=")
            tokens += [flag.replace("_", "-"), *([value] if equals else [])]
        else:
            tokens.append(token)
    return tokens


def take(argv: list[str], flag: str) -> tuple[str | None, list[str]]:
    """The value given to a flag (the last one, if given twice), and the other arguments."""
    value, rest, tokens = None, [], iter(argv)
    for token in tokens:
        following = next(tokens, None) if token == flag else None
        if following is None:
            rest.append(token)
        else:
            value = following
    return value, rest


def peek(argv: list[str], flag: str) -> str | None:
    """The value given to a flag."""
    return take(argv, flag)[0]
