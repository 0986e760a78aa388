"""Our spaces, and that gymnax's are taken for what they are."""

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rillax.envs import spaces

LOW, HIGH = jnp.array([-1.0, 0.0]), jnp.array([1.0, 5.0])
EVERY = {
    "Discrete": spaces.Discrete(5),
    "Box": spaces.Box(-1.0, 1.0, (3,)),
    "Box of arrays": spaces.Box(LOW, HIGH, (2,), jnp.float32),
    "Tuple": spaces.Tuple([spaces.Discrete(3), spaces.Box(LOW, HIGH, (2,))]),
    "Dict": spaces.Dict({"card": spaces.Discrete(3), "place": spaces.Box(0.0, 1.0, ())}),
}


@pytest.fixture(params=EVERY)
def space(request):
    return EVERY[request.param]


def to_gymnax(space):
    pytest.importorskip("gymnax")
    from rillax.envs import gymnax_adapter

    return gymnax_adapter.to_gymnax(space)


def test_samples_are_inside_and_those_of_gymnax(space):
    for seed in range(20):
        value = space.sample(jax.random.key(seed))
        theirs = to_gymnax(space).sample(jax.random.key(seed))
        assert space.contains(value)
        ours, theirs = jax.tree.leaves(value), jax.tree.leaves(theirs)
        for one, other in zip(ours, theirs, strict=True):
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(one, other)


def test_sampling_and_containing_compile(space):
    value = jax.jit(space.sample)(jax.random.key(0))
    assert jax.jit(space.contains)(value)


def test_gymnasium_gets_the_same_space_from_ours_and_from_gymnaxes(space):
    converted = spaces.to_gymnasium(space)
    assert isinstance(converted, gymnasium.Space)
    assert converted == spaces.to_gymnasium(to_gymnax(space))
    gymnax_spaces = pytest.importorskip("gymnax.environments.spaces")
    assert converted == gymnax_spaces.gymnax_space_to_gym_space(to_gymnax(space))


@pytest.mark.parametrize(
    ("space", "outside"),
    [
        (spaces.Discrete(3), 3),
        (spaces.Discrete(3), -1),
        (spaces.Discrete(3), 1.5),
        (spaces.Discrete(3), jnp.array([1])),
        (spaces.Box(-1.0, 1.0, (2,)), jnp.array([0.0, 1.1])),
        (spaces.Box(-1.0, 1.0, (2,)), jnp.zeros(3)),
        (spaces.Box(LOW, HIGH, (2,)), jnp.array([-2.0, 0.0])),
        (EVERY["Tuple"], (3, jnp.zeros(2))),
        (EVERY["Tuple"], (0,)),
        (EVERY["Dict"], {"card": 0, "place": 2.0}),
        (EVERY["Dict"], {"card": 0}),
    ],
)
def test_what_is_outside(space, outside):
    assert not space.contains(outside)


def test_a_dict_takes_the_fields_of_a_state():
    class Held:
        def __init__(self, card):
            self.card, self.place = card, jnp.float32(0.5)

    assert EVERY["Dict"].contains(Held(2))
    assert not EVERY["Dict"].contains(Held(3))


@pytest.mark.parametrize(
    ("low", "high"), [(-np.inf, np.inf), (2.0, np.inf), (-np.inf, -2.0), (0.0, 1.0)]
)
def test_a_box_without_a_bound_can_be_sampled(low, high):
    space = spaces.Box(low, high, (100,))
    values = space.sample(jax.random.key(0))
    assert np.isfinite(values).all()
    assert space.contains(values)
    assert len(np.unique(values)) > 90


def test_whole_numbers_reach_both_bounds():
    values = spaces.Box(-1, 2, (100,), jnp.int32).sample(jax.random.key(0))
    assert (values.dtype, set(values.tolist())) == (jnp.int32, {-1, 0, 1, 2})
    values = spaces.Box(0, 1, (100,), jnp.bool_).sample(jax.random.key(0))
    assert (values.dtype, set(values.tolist())) == (jnp.bool_, {False, True})


def test_they_say_what_they_are():
    assert repr(EVERY["Discrete"]) == "Discrete(5, dtype=int32)"
    assert repr(EVERY["Box"]) == "Box(low=-1.0, high=1.0, shape=(3,), dtype=float32)"
    assert "low=[-1.0, 0.0], high=[1.0, 5.0]" in repr(EVERY["Box of arrays"])
    assert repr(EVERY["Dict"]).startswith("Dict(card: Discrete(3, dtype=int32), place: Box(")
    assert repr(EVERY["Tuple"]).startswith("Tuple(Discrete(3, dtype=int32), Box(")


def test_a_space_of_nothing_is_refused():
    with pytest.raises(ValueError, match="at least one value, got n=0"):
        spaces.Discrete(0)


def test_what_gymnasium_does_not_have_is_refused():
    with pytest.raises(ValueError, match="expected Box, Discrete, Tuple or Dict"):
        spaces.to_gymnasium(spaces.Space())
