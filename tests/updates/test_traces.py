import jax.numpy as jnp
import numpy as np
import optax

from rillax.updates import eligibility_trace


def test_a_trace_decays_and_is_cut_after_the_step_that_resets_it():
    trace = eligibility_trace(0.9 * 0.8)
    state = trace.init({"w": jnp.zeros(2)})
    z = np.zeros(2)
    for t, (gradient, reset) in enumerate([(1.0, False), (2.0, False), (-1.0, True), (3.0, False)]):
        update, state = trace.update({"w": jnp.full(2, gradient)}, state, reset=reset)
        z = 0.72 * z + gradient
        np.testing.assert_allclose(update["w"], z, rtol=1e-6, err_msg=str(t))
        z = 0 * z if reset else z


def test_a_trace_that_is_not_finite_is_gone_after_a_reset():
    trace = eligibility_trace(0.5)
    _, state = trace.update(jnp.array(jnp.inf), trace.init(jnp.zeros(())), reset=True)
    update, _ = trace.update(jnp.array(1.0), state, reset=False)
    assert update == 1.0


def test_it_chains_with_optax():
    chain = optax.chain(eligibility_trace(0.5), optax.scale(-0.1))
    state = chain.init(jnp.zeros(()))
    for _ in range(2):
        update, state = chain.update(jnp.ones(()), state, reset=False)
    np.testing.assert_allclose(update, -0.15, rtol=1e-6)
