"""The figures against the paper: what its sections and tables say, typed out again here."""

import dataclasses
import json
import re
from pathlib import Path

import pytest

from rillax import agents, envs
from rillax.agents import PPO, QRC, StreamAC
from rillax.cells import CELLS
from rillax.experiments import Run
from rillax.networks import Architecture
from rillax.paper import choices, fig1b, figures, presets, tables
from rillax.paper.claims import Missing, Reader
from rillax.paper.jobs import Override, resize
from rillax.utils import settings

# Section and appendix of the paper, read by eye: jobs of each figure, frames of a run, seeds.
FIG1B_LENGTHS = [2, 4, 8, 16, 32, 48, 64, 128]
FRAMES = {"fig1b": 500_000, "popgym": 5_000_000, "mujoco": 2_000_000, "kmemory": 300_000}
JOBS = {"fig1b": 8 * 4, "popgym": 5 * 4, "mujoco": 4 * 2 * 2, "kmemory": 3 * 4}


def setting(value, name):
    """A setting by its flat name; None if this value has none of that name."""
    leaf = settings.flat(value).get(name)
    return None if leaf is None else leaf.value


def cell_of(job):
    """The name of the cell in the one recurrent layer of a job."""
    (layer,) = job.work.agent.network.layers
    return next(name for name, kind in CELLS.items() if type(layer) is kind)


def test_counts_and_frames_are_the_papers():
    chosen = figures.select("all")
    assert list(chosen) == ["fig1a", "fig1b", "popgym", "mujoco", "staleness", "kmemory"]
    for name, frames in FRAMES.items():
        jobs = chosen[name].jobs
        assert len(jobs) == JOBS[name]
        assert {job.work.frames for job in jobs} == {frames}
        for job in jobs:
            batched = isinstance(job.work.agent, PPO)
            assert job.work.seeds == (tables.BATCHED_SEEDS if batched else 5)
        assert chosen[name].frames == frames * sum(job.work.seeds for job in jobs)
    assert chosen["fig1b"].frames == 80_000_000  # 160 runs of 500,000
    assert chosen["staleness"].jobs == chosen["kmemory"].jobs  # two pictures of the same runs
    jobs = figures.jobs_of(chosen)
    assert len({job.name for job in jobs}) == len(jobs) == 4 + 32 + 20 + 16 + 12
    assert sum(job.frames for job in jobs) == 758_000_000 - 2 * (5 * 5_000_000 + 8 * 2_000_000)
    assert [job.label for job in chosen["fig1a"].jobs] == ["FFN", "RTU", "GRU", "LSTM"]


def test_environments_and_agents_are_the_papers():
    chosen = figures.select("all")

    def seen(name):
        return {
            (
                job.work.env,
                *job.work.env_settings.values(),
                agents.name_of(job.work.agent),
                cell_of(job),
            )
            for job in chosen[name].jobs
        }

    memories = [("feedforward", None), ("gru", "tbptt"), ("rtu", "tbptt"), ("rtu", "rtrl")]
    chains = [
        (job.work.env_settings["length"], cell_of(job), setting(job.work.agent, "gradient"))
        for job in chosen["fig1b"].jobs
    ]
    assert chains == [(length, *memory) for length in FIG1B_LENGTHS for memory in memories]
    tasks = ["Autoencode", "Concentration", "CountRecall", "HigherLower", "RepeatFirst"]
    players = [("qrc", "rtu"), ("stream_ac", "rtu"), ("ppo", "rtu"), ("qrc", "feedforward")]
    assert seen("popgym") == {(f"{task}Easy", *player) for task in tasks for player in players}
    robots = ["Ant", "HalfCheetah", "Hopper", "Walker2d"]
    assert seen("mujoco") == {
        (f"{robot}-{regime}", agent, "rtu")
        for robot in robots
        for regime in "PV"
        for agent in ("stream_ac", "ppo")
    }
    assert seen("kmemory") == {
        ("KMemoryChain", k, 8 * k, agent, "rtu")
        for k in (4, 8, 16)
        for agent in ("qrc", "stream_ac")
    }
    corrections = [setting(job.work.agent, "correction") for job in chosen["kmemory"].jobs]
    assert sorted(corrections) == ["diagonal"] * 6 + ["none"] * 6
    known = set(envs.names())
    assert all(job.work.env in known for name in FRAMES for job in chosen[name].jobs)
    for name in FRAMES:
        for job in chosen[name].jobs:
            if cell_of(job) == "rtu" and name != "fig1b":
                assert setting(job.work.agent, "gradient") == "rtrl"


def test_timing_is_of_exact_gradients_at_the_papers_networks():
    for job in figures.select("fig1a")["fig1a"].jobs:
        assert setting(job.work.network, "gradient") in ("rtrl", None)
        assert setting(job.work.network, "width") == 64
        assert job.work.alone


@pytest.mark.parametrize(
    ("number", "numbers"),
    [  # gamma, lambda, then step sizes and beta, or step sizes, kappas and entropy
        (1, [0.99, 0.95, 1e-4, 1e-5, 1.0]),
        (2, [0.99, 0.95, 1e-4, 1e-5, 1.0]),
        (3, [0.99, 0.8, 1.0, 1.0, 3.0, 2.0, 0.095]),
        (4, [0.99, 0.8, 1.0, 1.0, 1.5, 1.0, 0.01]),
        (5, [0.99, 0.95, 1.0, 1.0, 3.0, 2.0, 0.01]),
        (6, [0.99, 0.95, 1e-4, 1e-5, 1.0]),
    ],
)
def test_the_six_tables(number, numbers):
    table = tables.TABLES[number]
    common = ["discount", "trace_decay"]
    qrc = ["q_step_size", "h_step_size", "regularisation"]
    ac = ["actor_step_size", "critic_step_size", "actor_kappa", "critic_kappa", "entropy"]
    names = common + (qrc if number in (1, 2, 6) else ac)
    assert [setting(table.agent, name) for name in names] == numbers
    assert (setting(table.agent, "width"), setting(table.agent, "units")) == (64, 192)
    activation = "tanh" if number == 4 else "leaky_relu"
    assert setting(table.agent, "activation") == activation
    assert setting(table.agent, "sparsity") == 0.9
    shares = {1: 0.1, 2: 0.2, 6: 0.1}  # Table 1 has none; Table 6's is taken
    assert table.epsilon_share == shares.get(number)
    if number in shares:
        assert (table.agent.epsilon_start, table.agent.epsilon_end) == (1.0, 0.01)
        assert table.agent_for(table.frames).epsilon_frames == shares[number] * table.frames


# What the authors' code has and the text has not: docs/paper.md. Encoder, head (none: one block of
# the text's width), LayerNorms, initialisation, what the head reads; then inputs of the agent.
CODE = {
    1: [(128,), (), True, True, "sparse_blind", "tanh", False, None],
    2: [None, None, True, True, "sparse", "tanh", True, None],
    3: [None, None, True, True, "sparse", "tanh", True, None],
    4: [None, None, True, False, "sparse", "tanh", False, 0.01],
    5: [(128, 128), (), True, True, "sparse_blind", "tanh", False, None],
    6: [(128,), (), True, True, "sparse_blind", "tanh", False, None],
}
NETWORK = ["encoder_widths", "head_widths", "layer_norm", "head_layer_norm", "initialisation"]


@pytest.mark.parametrize("number", CODE)
def test_networks_and_inputs_are_those_of_the_authors_code(number):
    agent = tables.TABLES[number].agent
    names = [*NETWORK, "features", "previous_action", "actor_gain"]
    assert [setting(agent, name) for name in names] == CODE[number]
    assert agent.previous_reward == agent.previous_action
    assert setting(agent, "critic_gain") == (1.0 if number == 4 else None)


def test_ppo_is_the_authors():
    names = [*NETWORK, "features", "activation", "actor_gain", "critic_gain", "value_clip"]
    names += ["environments", "rollout", "epochs", "minibatches", "entropy", "max_gradient_norm"]
    names += ["previous_action", "previous_reward", "step_size", "trace_decay", "clip"]
    common = [None, None, False, False, "orthogonal", "tanh", "tanh", 0.01, 1.0, True]
    numbers = {
        "CountRecallEasy": [4, 128, 4, 4, 0.01, 1.5, True, True, 1e-4, 0.95, 0.2],
        "Hopper-P": [1, 2048, 4, 32, 0.0, 0.5, False, False, 1e-4, 0.95, 0.2],
    }
    for env, rest in numbers.items():
        agent = presets.paper("ppo", env, 1000)
        assert [setting(agent, name) for name in names] == common + rest


def test_the_numbers_an_agent_has_by_default_are_tables_1_and_3():
    network = Architecture()
    qrc = presets.paper("qrc", "MemoryChain", 500_000)
    assert dataclasses.replace(presets.bounded(qrc), network=network) == QRC()
    stream_ac = presets.paper("stream_ac", "AutoencodeEasy", 5_000_000)
    inputs = {"previous_action": False, "previous_reward": False}
    stream_ac = dataclasses.replace(presets.bounded(stream_ac), network=network, **inputs)
    assert stream_ac == StreamAC()


def test_inputs_are_bounded_in_our_preset_and_not_in_the_papers():
    for preset, bound in (("paper", None), ("rillax", 100.0)):
        for job in figures.jobs_of(figures.figures(preset)):
            if isinstance(job.work, Run):
                assert job.work.agent.input_bound == bound


def test_what_has_no_table():
    """Elsewhere: the numbers of Tables 1 and 3, the networks of the text; a user's has its own."""
    for env in ("my_envs:Maze", "CartPole-v1"):
        assert presets.bounded(presets.paper("qrc", env, 500_000)) == QRC()
        assert presets.bounded(presets.paper("stream_ac", env, 1000)) == StreamAC()
        assert presets.bounded(presets.paper("ppo", env, 1000)) == PPO()
    assert presets.bounded(presets.paper("ppo", "MemoryChain", 1000)) == PPO()
    assert presets.paper("stream_ac", "MemoryChain", 1000) == tables.TABLES[5].agent
    assert presets.paper("rillax.agents:StreamAC", "Hopper-P", 1000) == StreamAC()
    assert presets.paper("qrc", "my_envs:Maze", 1000).epsilon_frames == 100
    with pytest.raises(ValueError, match="unknown agent 'sac'"):
        presets.paper("sac", "MemoryChain", 1000)
    with pytest.raises(ValueError, match="unknown environment 'MemoryChian'"):
        presets.paper("qrc", "MemoryChian", 1000)


def test_every_job_is_the_papers_agent_but_for_its_network():
    for job in figures.jobs_of(figures.select("all")):
        if isinstance(run := job.work, Run):
            plain = presets.paper(agents.name_of(run.agent), run.env, run.frames)
            assert run.agent == dataclasses.replace(plain, network=run.agent.network)
            assert run.agent.network == dataclasses.replace(
                plain.network, layers=run.agent.network.layers
            )


def test_a_setting_that_is_not_there_is_named():
    (job,) = figures.select("fig1b", only=["fig1b/L8-rtu-rtrl"])["fig1b"].jobs
    for name in ("lamda", "corection"):
        with pytest.raises(ValueError, match=f"unknown setting of QRC '{name}'"):
            Override("*", "a typing mistake", {name: 1})(job)


def test_jobs_go_through_json_and_their_names_are_directories():
    for preset in ("paper", "rillax"):
        for job in figures.jobs_of(figures.figures(preset)):
            assert settings.from_json(json.loads(json.dumps(settings.to_json(job)))) == job
            assert re.fullmatch(r"[a-z0-9]+/[A-Za-z0-9_-]+", job.name)


def test_select():
    only = figures.select("fig1b", only=["*L8-rtu*", "fig1b/L2-feed*"], seeds=2, frames=1000)
    jobs = figures.jobs_of(only)
    assert [job.name for job in jobs] == [
        "fig1b/L2-feedforward",
        "fig1b/L8-rtu-tbptt",
        "fig1b/L8-rtu-rtrl",
    ]
    assert {(job.work.seeds, job.work.frames) for job in jobs} == {(2, 1000)}
    assert {job.work.agent.epsilon_frames for job in jobs} == {100}  # a tenth, as before
    with pytest.raises(ValueError, match=r"no job of fig1b matches 'L9\*'"):
        figures.select("fig1b", only=["L9*"])
    with pytest.raises(ValueError, match="unknown figure 'fig1c'"):
        figures.select("fig1c")
    with pytest.raises(ValueError, match="unknown preset 'ours'"):
        figures.select("fig1b", "ours")
    with pytest.raises(ValueError, match="seeds must be at least 1, got 0"):
        figures.select("fig1b", seeds=0)
    with pytest.raises(ValueError, match="frames must be at least 1, got -1"):
        figures.select("fig1b", frames=-1)


def test_the_miniature_shows_every_figure_and_every_line_of_it():
    whole, small = figures.select("all"), figures.select("all", miniature=True)
    assert list(small) == list(whole)
    for name, figure in small.items():
        assert {job.label for job in figure.jobs} == {job.label for job in whole[name].jobs}
    jobs = figures.jobs_of(small)
    assert sum(job.frames for job in jobs) < 200_000
    for job in jobs:
        if isinstance(job.work, Run) and isinstance(job.work.agent, PPO):
            assert job.work.frames >= 10 * job.work.agent.frames  # it sees several rollouts


def test_an_override_changes_what_it_names_and_nothing_else():
    override = Override("fig1b/L64-rtu-*", "it learns", {"discount": 0.9, "r_min": 0.9})
    figure = dataclasses.replace(fig1b.FIGURE, overrides=(override,))
    ours = figure.with_jobs("rillax").jobs
    plain = {
        job.name: job for job in dataclasses.replace(figure, overrides=()).with_jobs("rillax").jobs
    }
    both = [job for job in ours if job.name in plain]
    assert len(both) == len(ours)
    changed = [job.name for job in both if job != plain[job.name]]
    assert changed == ["fig1b/L64-rtu-tbptt", "fig1b/L64-rtu-rtrl"]
    job = next(job for job in ours if job.name == "fig1b/L64-rtu-rtrl")
    after, before = (settings.flat(j.work.agent) for j in (job, plain[job.name]))
    differ = {name: leaf.value for name, leaf in after.items() if leaf.value != before[name].value}
    assert differ == {"discount": 0.9, "r_min": 0.9}


def test_the_choices_change_one_thing_at_a_time_and_are_no_part_of_the_paper():
    (study,) = figures.select("choices").values()
    assert not set(figures.STUDIES) & set(figures.select("all"))
    assert len(study.jobs) == len({job.name for job in study.jobs}) == 2 * len(choices.CHOICES)
    for job in study.jobs:
        plain = fig1b.plain_chain(int(job.group), fig1b.RTU_RTRL)
        plain = resize(plain, seeds=job.work.seeds, frames=job.work.frames)
        assert job.work.env_settings == plain.work.env_settings
        after, before = (settings.flat(j.work.agent) for j in (job, plain))
        changed = {
            name: leaf.value
            for name, leaf in after.items()
            if name not in before or before[name].value != leaf.value
        }
        if (layers := job.work.agent.network.layers) != plain.work.agent.network.layers:
            (cell,), (usual,) = layers, plain.work.agent.network.layers
            if type(cell) is not type(usual):
                changed["cell"] = cell
        assert changed == choices.CHOICES[job.label]


def test_ours_goes_on_to_longer_chains():
    ours, theirs = (
        {job.name for job in figures.figures(preset)["fig1b"].jobs}
        for preset in ("rillax", "paper")
    )
    assert ours - theirs == {"fig1b/L256-rtu-rtrl", "fig1b/L512-rtu-rtrl"}
    assert theirs < ours


def test_our_agents_stand_beside_ppo_on_the_same_grids():
    ours, theirs = figures.figures("rillax"), figures.figures("paper")
    for name, label in (("popgym", "Rill"), ("mujoco", "Brook")):
        mine = [job for job in ours[name].jobs if job.label == label]
        assert [job.group for job in mine] == list(
            dict.fromkeys(j.group for j in theirs[name].jobs)
        )
        streaming = theirs[name].jobs[0].work
        assert {(job.work.frames, job.work.seeds) for job in mine} == {(streaming.frames, 5)}
        assert {type(job.work.agent).__name__ for job in mine} == {label}
        assert "PPO-RTU" in {job.label for job in ours[name].jobs}


def test_a_preset_has_the_claims_of_its_own_lines():
    for preset in ("paper", "rillax"):
        for figure in figures.figures(preset).values():
            lines = {(job.group, job.label) for job in figure.jobs}
            for claim in figure.claims:
                with pytest.raises(Missing) as missing:
                    claim.check(Reader(figure.jobs, {}, figure.quantity))
                asked = str(missing.value)
                assert any(f"{label} at {group} " in asked for group, label in lines), asked


def test_ours_adds_the_exact_correction():
    names = {job.name for job in figures.figures("rillax")["kmemory"].jobs}
    extra = names - {job.name for job in figures.figures("paper")["kmemory"].jobs}
    both = ("qrc", "stream_ac")
    assert extra == {f"kmemory/K{k}-{agent}-exact" for k in (4, 8, 16) for agent in both}


def test_nothing_but_its_module_knows_the_name_of_a_figure():
    """What a figure is and does, it says itself: no switch on its name anywhere else."""
    package = Path(figures.__file__).parents[1]
    named = re.compile(rf"""(==|!=|\bin\b|\bcase\b).*["']({"|".join(figures.EVERY)})["']""")
    for path in [*package.glob("paper/*.py"), *package.glob("cli/*.py")]:
        for line in path.read_text().splitlines():
            assert not named.search(line), f"{path.name}: {line}"
