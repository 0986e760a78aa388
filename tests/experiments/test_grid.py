"""The grid against the paper: what its sections and tables say, typed out again here."""

import dataclasses
import json
import re

import pytest

from rillax import envs
from rillax.agents import QRC, StreamAC
from rillax.paper import grid, presets, tables

# Section and appendix of the paper, read by eye: cells of each figure, frames of a run, seeds.
FIG1B_LENGTHS = [2, 4, 8, 16, 32, 48, 64, 128]
FRAMES = {"fig1b": 500_000, "popgym": 5_000_000, "mujoco": 2_000_000, "kmemory": 300_000}
CELLS = {"fig1b": 8 * 4, "popgym": 5 * 4, "mujoco": 4 * 2 * 2, "kmemory": 3 * 4}


def test_counts_and_frames_are_the_papers():
    figures = grid.select("all")
    assert list(figures) == ["fig1a", "fig1b", "popgym", "mujoco", "staleness", "kmemory"]
    for name, frames in FRAMES.items():
        cells = figures[name].cells
        assert len(cells) == CELLS[name]
        assert {cell.work.frames for cell in cells} == {frames}
        assert {cell.work.seeds for cell in cells} == {5}
        assert figures[name].frames == CELLS[name] * 5 * frames
    assert figures["fig1b"].frames == 80_000_000  # 160 runs of 500,000
    assert figures["staleness"].cells == figures["kmemory"].cells  # two pictures of the same runs
    cells = grid.cells_of(figures)
    assert len({cell.name for cell in cells}) == len(cells) == 4 + 32 + 20 + 16 + 12
    assert sum(cell.frames for cell in cells) == 758_000_000
    assert [cell.label for cell in figures["fig1a"].cells] == ["FFN", "RTU", "GRU", "LSTM"]


def test_environments_and_agents_are_the_papers():
    figures = grid.select("all")

    def seen(name):
        return {
            (c.work.env, *c.work.env_settings.values(), c.work.agent, c.work.network["cell"])
            for c in figures[name].cells
        }

    memories = [("feedforward", None), ("gru", "tbptt"), ("rtu", "tbptt"), ("rtu", "rtrl")]
    chains = [
        (c.work.env_settings["length"], c.work.network["cell"], c.work.network["gradient"])
        for c in figures["fig1b"].cells
    ]
    assert [(length, cell) for length, cell, _ in chains] == [
        (length, cell) for length in FIG1B_LENGTHS for cell, _ in memories
    ]
    assert {gradient for _, cell, gradient in chains if cell == "gru"} == {"tbptt"}
    assert sum(gradient == "rtrl" for _, cell, gradient in chains if cell == "rtu") == 8
    tasks = ["Autoencode", "Concentration", "CountRecall", "HigherLower", "RepeatFirst"]
    agents = [("qrc", "rtu"), ("stream_ac", "rtu"), ("ppo", "rtu"), ("qrc", "feedforward")]
    assert seen("popgym") == {(f"{task}Easy", *agent) for task in tasks for agent in agents}
    robots = ["Ant", "HalfCheetah", "Hopper", "Walker2d"]
    assert seen("mujoco") == {
        (f"{robot}-{regime}", agent, "rtu")
        for robot in robots
        for regime in "PV"
        for agent in ("stream_ac", "ppo")
    }
    assert seen("kmemory") == {
        ("KMemoryChain", k, agent, "rtu") for k in (4, 8, 16) for agent in ("qrc", "stream_ac")
    }
    corrections = [c.work.network.get("correction", "none") for c in figures["kmemory"].cells]
    assert sorted(corrections) == ["diagonal"] * 6 + ["none"] * 6
    known = set(envs.names())
    assert all(c.work.env in known for f in FRAMES for c in figures[f].cells)


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
    assert [table.settings[name] for name in names] == numbers
    assert (table.network["width"], table.network["hidden"]) == (64, 192)
    assert table.network["activation"] == ("tanh" if number == 4 else "leaky_relu")
    assert table.network["sparsity"] == 0.9
    shares = {1: 0.1, 2: 0.2, 6: 0.1}  # Table 1 has none; Table 6's is taken
    assert table.epsilon_share == shares.get(number)
    if number in shares:
        ends = table.settings["epsilon_start"], table.settings["epsilon_end"]
        assert ends == (1.0, 0.01)
        assert table.settings_for(table.frames)["epsilon_frames"] == shares[number] * table.frames


def test_the_defaults_of_the_agents_are_tables_1_and_3():
    assert presets.paper("qrc", "MemoryChain", 500_000) == QRC()
    assert presets.paper("stream_ac", "AutoencodeEasy", 5_000_000) == StreamAC()


def test_every_cell_of_an_agent_we_have_can_be_built():
    from rillax.agents import AGENTS

    names = {field.name for field in dataclasses.fields(QRC().network)}
    for cell in grid.cells_of(grid.select("all")):
        work = cell.work
        if isinstance(work, grid.Training) and work.agent in AGENTS and set(work.network) <= names:
            agent = tables.build(work.agent, work.settings, work.network)
            assert agent == dataclasses.replace(
                presets.paper(work.agent, work.env, work.frames), network=agent.network
            )


def test_a_setting_that_is_not_there_is_named():
    with pytest.raises(ValueError, match="unknown setting of qrc 'lamda'"):
        tables.build("qrc", {"lamda": 1}, {})
    with pytest.raises(ValueError, match="unknown network setting of qrc 'corection'"):
        tables.build("qrc", {}, {"corection": "none"})
    with pytest.raises(ValueError, match="unknown agent 'sac'"):
        tables.build("sac", {}, {})


def test_cells_go_through_json_and_their_names_are_directories():
    for preset in ("paper", "rillax"):
        for cell in grid.cells_of(grid.figures(preset)):
            assert grid.GridCell.from_json(json.loads(json.dumps(cell.to_json()))) == cell
            assert re.fullmatch(r"[a-z0-9]+/[A-Za-z0-9_-]+", cell.name)


def test_select():
    only = grid.select("fig1b", only=["*L8-rtu*", "fig1b/L2-feed*"], seeds=2, frames=1000)
    cells = grid.cells_of(only)
    assert [c.name for c in cells] == [
        "fig1b/L2-feedforward",
        "fig1b/L8-rtu-tbptt",
        "fig1b/L8-rtu-rtrl",
    ]
    assert {(c.work.seeds, c.work.frames) for c in cells} == {(2, 1000)}
    assert {c.work.settings["epsilon_frames"] for c in cells} == {100}  # a tenth, as before
    with pytest.raises(ValueError, match=r"no cell of fig1b matches 'L9\*'"):
        grid.select("fig1b", only=["L9*"])
    with pytest.raises(ValueError, match="unknown figure 'fig1c'"):
        grid.select("fig1c")
    with pytest.raises(ValueError, match="unknown preset 'ours'"):
        grid.select("fig1b", "ours")
    with pytest.raises(ValueError, match="seeds must be at least 1, got 0"):
        grid.select("fig1b", seeds=0)


def test_the_miniature_shows_every_figure_and_every_line_of_it():
    whole, small = grid.select("all"), grid.select("all", miniature=True)
    assert list(small) == list(whole)
    for name, figure in small.items():
        assert {c.label for c in figure.cells} == {c.label for c in whole[name].cells}
    assert sum(c.frames for c in grid.cells_of(small)) < 200_000


def test_an_override_changes_what_it_names_and_nothing_else(monkeypatch):
    override = grid.Override("fig1b/L64-rtu-*", "it learns", {"discount": 0.9}, {"r_min": 0.9})
    monkeypatch.setattr(grid, "OVERRIDES", (override,))
    ours, theirs = (grid.figures(preset)["fig1b"].cells for preset in ("rillax", "paper"))
    plain = {cell.name: cell for cell in theirs}
    both = [cell for cell in ours if cell.name in plain]
    assert len(both) == len(theirs)
    changed = [cell.name for cell in both if cell != plain[cell.name]]
    assert changed == ["fig1b/L64-rtu-tbptt", "fig1b/L64-rtu-rtrl"]
    cell = next(c for c in ours if c.name == "fig1b/L64-rtu-rtrl")
    assert (cell.work.settings["discount"], cell.work.network["r_min"]) == (0.9, 0.9)


def test_the_choices_change_one_thing_at_a_time_and_are_no_part_of_the_paper():
    (study,) = grid.select("choices").values()
    assert not set(grid.STUDIES) & set(grid.select("all"))
    assert len(study.cells) == len({c.name for c in study.cells}) == 2 * len(grid.CHOICES)
    for cell in study.cells:
        only = [f"fig1b/L{cell.group}-rtu-rtrl"]
        (plain,) = grid.cells_of(grid.select("fig1b", only=only, frames=cell.work.frames))
        assert cell.work.env_settings == plain.work.env_settings
        changed = {
            name: value
            for part in ("settings", "network")
            for name, value in getattr(cell.work, part).items()
            if getattr(plain.work, part).get(name, None) != value
        }
        declared = grid.CHOICES[cell.label]
        assert changed == {n: v for part in declared.values() for n, v in part.items()}
        tables.build(cell.work.agent, cell.work.settings, cell.work.network)


def test_ours_goes_on_to_longer_chains():
    ours, theirs = (
        {c.name for c in grid.figures(preset)["fig1b"].cells} for preset in ("rillax", "paper")
    )
    assert ours - theirs == {"fig1b/L256-rtu-rtrl", "fig1b/L512-rtu-rtrl"}
    assert theirs < ours


def test_ours_adds_the_exact_correction():
    names = {c.name for c in grid.figures("rillax")["kmemory"].cells}
    extra = names - {c.name for c in grid.figures("paper")["kmemory"].cells}
    agents = ("qrc", "stream_ac")
    assert extra == {f"kmemory/K{k}-{agent}-exact" for k in (4, 8, 16) for agent in agents}
