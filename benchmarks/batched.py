"""A frame of PPO, by the length of the sequences it learns from, and against streaming agents."""

from dataclasses import replace

from rillax import envs
from rillax.agents import PPO, Rill
from rillax.experiments.timing import microseconds_per_frame
from rillax.loops import make_loop
from rillax.paper import presets

ENV, FRAMES = "RepeatFirstEasy", 1_000_000
SEQUENCES = (1, 8, 16)
REPEATS = 5


def frames() -> dict[str, float]:
    """Microseconds per frame, updates included, measured in turns."""
    ppo: PPO = presets.paper("ppo", ENV, FRAMES)
    agents = {
        "PPO as it is by default": PPO(),
        **{
            f"PPO of the paper, sequences of {length}": replace(
                ppo, sequence_length=length, minibatches=min(4, ppo.frames // length)
            )
            for length in SEQUENCES
        },
        "stream AC of the paper": presets.paper("stream_ac", ENV, FRAMES),
        "Rill": Rill(),
    }
    loops = {}
    for name, agent in agents.items():
        loop = make_loop(agent, envs.make(ENV), [0])
        whole = getattr(agent, "frames", 512)  # with one update in each

        def run(turns: int, loop=loop, whole: int = whole) -> object:
            loop.run(turns * whole)
            return loop.agent_state()  # the last update, too, which the statistics do not wait for

        loops[name] = (run, whole)
    times = microseconds_per_frame({n: run for n, (run, _) in loops.items()}, repeats=REPEATS)
    return {name: times[name] / whole for name, (_, whole) in loops.items()}
