"""Settings as values: JSON and back, flat names, and what a file may not do."""

import dataclasses
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rillax.agents import AGENTS, PPO, QRC, StreamAC, StreamQ
from rillax.cells import CELLS, GRU, RTU, FeedForward
from rillax.networks import Architecture
from rillax.updates import RULES, SGD, AdaptiveObGD, ObGD
from rillax.utils import settings


def through_json(value):
    return settings.from_json(json.loads(json.dumps(settings.to_json(value))))


@pytest.mark.parametrize("agent", AGENTS.values())
@pytest.mark.parametrize("cell", CELLS.values())
def test_every_agent_and_cell_survives_json(agent, cell):
    value = agent(network=Architecture(layers=(cell(7), RTU(3)), width=5))
    assert through_json(value) == value
    assert hash(through_json(value)) == hash(value)


@pytest.mark.parametrize("rule", RULES.values())
def test_every_rule_survives_json(rule):
    value = StreamQ(q=rule(0.3))
    assert through_json(value) == value


def test_a_setting_goes_by_a_short_name():
    names = settings.flat(StreamAC())
    assert {"discount", "width", "units", "r_min", "actor_kappa", "critic_step_size"} <= set(names)
    assert not any("layers" in name or "network" in name for name in names)
    assert names["actor_kappa"].value == 3.0
    assert names["units"].help.startswith("How many units")


def test_a_change_by_short_name_reaches_every_layer():
    stack = QRC(network=Architecture(layers=(RTU(4), RTU(8))))
    changed = settings.change(stack, gradient="tbptt", q_step_size=0.5, sparsity=0.25)
    assert [layer.gradient for layer in changed.network.layers] == ["tbptt", "tbptt"]
    assert [layer.units for layer in changed.network.layers] == [4, 8]
    assert changed.q == SGD(0.5)
    assert changed.network.sparsity == 0.25
    assert stack.q == SGD(1e-4)


@given(st.floats(0, 1), st.integers(1, 99), st.sampled_from(["rtrl", "tbptt"]))
def test_changing_to_what_is_there_changes_nothing(discount, units, gradient):
    value = QRC(network=Architecture(cell=GRU(units, gradient)), discount=discount)
    same = {name: leaf.value for name, leaf in settings.flat(value).items()}
    assert settings.change(value, **same) == value


def test_an_unknown_setting_is_named_with_what_is_near():
    with pytest.raises(ValueError, match="unknown setting of QRC 'unit'; did you mean units"):
        settings.change(QRC(), unit=3)
    with pytest.raises(ValueError, match="unknown setting of RTU 'unitz'"):
        settings.from_json({"kind": "rillax.cells:RTU", "unitz": 3})


def test_settings_are_checked_when_they_are_read():
    with pytest.raises(ValueError, match="r_min <= r_max"):
        settings.from_json({"kind": "rillax.cells:RTU", "r_min": 0.9, "r_max": 0.1})


@dataclasses.dataclass
class Loose:
    """A dataclass that can change, and so no settings."""


def encoder(key, shape):
    return lambda x: x


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"kind": "rillax.cells:CELLS"}, "not a dataclass"),
        ({"kind": "rillax.cells:Nothing"}, "no Nothing in rillax.cells"),
        ({"kind": "rillax.nothing:RTU"}, "there is no module rillax.nothing"),
        ({"kind": "os:system"}, "not a dataclass"),
        ({"kind": f"{__name__}:Loose"}, "must be frozen"),
        ({"kind": "subprocess_of_mine:Popen"}, "may not run it"),
        ({"code": "os:system"}, "may not run it"),
        ({"code": "rillax.utils.files:write_json"}, "may not run it"),
    ],
)
def test_a_file_cannot_name_just_anything(value, words):
    with pytest.raises(ValueError, match=words):
        settings.from_json(value)


def test_a_function_is_held_by_name_and_needs_trust():
    value = QRC(network=Architecture(encoder=encoder))
    described = json.loads(json.dumps(settings.to_json(value)))
    with pytest.raises(settings.Untrusted):
        settings.from_json(described)
    assert settings.from_json(described, trust=True) == value


def test_all_ours_says_whether_code_of_a_users_is_inside():
    assert settings.all_ours(QRC(network=Architecture(cell=FeedForward(3))))
    assert not settings.all_ours(QRC(network=Architecture(encoder=encoder)))

    @dataclasses.dataclass(frozen=True)
    class Mine(RTU):
        pass

    assert not settings.all_ours(PPO(network=Architecture(cell=Mine(3))))


def test_rules_that_cannot_scale_a_direction_are_refused_by_qrc():
    with pytest.raises(ValueError, match="AdaptiveObGD cannot be the rule h of qrc"):
        QRC(h=AdaptiveObGD())
    assert QRC(q=ObGD(1e-3)).q.kappa == 2.0
