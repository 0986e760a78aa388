"""Nothing of ours needs gymnax, nor what it brings along: neither installed nor imported."""

import subprocess
import sys
import textwrap

import pytest

from tests.forms import needs_gymnax

BLOCKED = ("gymnax", "flax", "seaborn", "pandas")


def run(code, block=True):
    """Runs code in a fresh interpreter, in which the names above cannot be imported."""
    start = "import sys\nNAMES = " + repr(BLOCKED)
    if block:
        start += "\nsys.modules.update(dict.fromkeys(NAMES))"
    done = subprocess.run(
        [sys.executable, "-c", start + "\n" + textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_ours_play_without_it():
    run(
        """
        import jax
        import rillax.envs
        from rillax.envs.gymnasium_adapter import GymnasiumAdapter

        for name in ("MemoryChain", "KMemoryChain", "RepeatFirstEasy", "MineSweeperEasy"):
            env = rillax.envs.make(name, previous_reward=True)
            assert not rillax.envs.is_gymnasium(name)
            step = jax.jit(env.step)
            _, state = env.reset(jax.random.key(0))
            ends = 0
            for t in range(20):
                _, state, _, terminated, truncated, _ = step(jax.random.key(t), state, t % 2)
                ends += bool(terminated | truncated)
            assert ends == {"MemoryChain": 2, "KMemoryChain": 0}.get(name, ends)
        GymnasiumAdapter(env).reset(seed=0)
        assert all(sys.modules[name] is None for name in NAMES)
        """
    )


def test_every_name_of_ours_is_made_without_it():
    run(
        """
        import rillax.envs

        for name in rillax.envs.names():
            if name not in rillax.envs.MUJOCO:
                env = rillax.envs.make(name)
                env.action_space(env.default_params), env.observation_space(env.default_params)
                env.state_space(env.default_params)
        assert "CartPole-v1" not in rillax.envs.names()
        """
    )


def test_mujoco_runs_without_it():
    pytest.importorskip("mujoco")
    run("import rillax.envs; rillax.envs.make('HalfCheetah-P').reset(seed=0)")


def test_gymnasiums_are_made_without_it():
    run(
        """
        import rillax.envs

        assert rillax.envs.is_gymnasium("FrozenLake-v1")
        rillax.envs.make("FrozenLake-v1").reset(seed=0)
        rillax.envs.make("gymnasium:CartPole-v1").reset(seed=0)
        """
    )


def test_what_needs_it_says_so():
    """A name that both have is gymnax's: it must not turn into another environment."""
    said = run(
        """
        import rillax.envs

        for name in ("Breakout-MinAtar", "CartPole-v1"):
            assert not rillax.envs.is_gymnasium(name)
            try:
                rillax.envs.make(name)
            except ValueError as error:
                print(error)
        """
    ).splitlines()
    assert len(said) == 2
    assert said[0].startswith("unknown environment 'Breakout-MinAtar'")
    assert said[0].endswith("gymnax's need pip install 'rillax[gymnax]'")
    assert "pip install 'rillax[gymnax]', or gymnasium:CartPole-v1 for Gymnasium's" in said[1]


@needs_gymnax
def test_it_is_imported_only_for_a_name_that_can_be_its():
    run(
        """
        import rillax.envs

        loaded = lambda: [name for name in NAMES if name in sys.modules]
        assert not loaded(), loaded()
        rillax.envs.make("MemoryChain")
        rillax.envs.make("ConcentrationEasy", previous_reward=True)
        for name in ("KMemoryChain", "Ant-P", "CartPole-v1"):
            assert not rillax.envs.is_gymnasium(name)
            rillax.envs.check(name)
        assert rillax.envs.is_gymnasium("gymnasium:Pendulum-v1")
        assert not loaded(), loaded()
        rillax.envs.make("CartPole-v1")
        assert "gymnax" in loaded()
        """,
        block=False,
    )


def test_importing_ours_starts_no_backend_of_jax():
    """A worker still has its cores to choose then."""
    run(
        """
        import jax
        import rillax.envs

        jax.config.update("jax_platforms", "nowhere")
        try:
            jax.devices()
        except RuntimeError:
            pass
        else:
            raise AssertionError("a backend was there already")
        """
    )
