"""What a person sees at a terminal of 80 columns."""

import fcntl
import os
import re
import struct
import sys
import termios


def on_a_terminal(argv, columns=80):
    """What a command writes to a pseudo-terminal, line by line, without escape sequences."""
    process, terminal = os.forkpty()
    if process == 0:
        os.environ["TERM"] = "xterm"
        os.execv(sys.executable, [sys.executable, "-m", "rillax", *argv])
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    said = b""
    try:
        while part := os.read(terminal, 4096):
            said += part
    except OSError:  # the end of it, on Linux
        pass
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0
    text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", said.decode())
    return [line for line in re.split(r"[\r\n]+", text) if line.strip()]


def test_the_progress_line_fits_and_keeps_bar_and_return(tmp_path):
    flags = "--agent qrc --length 2 --frames 3000 --seeds 2 --units 4 --encoder-widths 8"
    lines = on_a_terminal(["train", *flags.split(), "--out", str(tmp_path / "run")])
    assert any("qrc (rtu-rtrl) on MemoryChain, length 2, 3,000 frames, 2 seeds" in x for x in lines)
    bars = [line for line in lines if "━" in line]
    assert bars
    for line in bars:
        assert len(line) <= 80
        assert "…" not in line
        assert re.search(r"%.*left, return (-|-?[\d.]+)", line)
    (final,) = (line for line in lines if line.startswith("final return"))
    assert "last tenth of the frames, IQM of 2 seeds" in final
