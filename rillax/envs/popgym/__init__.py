"""POPGym's games (Morad et al., 2023) as environments in JAX, proved step for step against it."""

from collections.abc import Callable
from functools import partial

from rillax.envs.environment import Environment
from rillax.envs.popgym.autoencode import Autoencode
from rillax.envs.popgym.battleship import Battleship
from rillax.envs.popgym.cartpole import (
    NoisyPositionOnlyCartPole,
    PositionOnlyCartPole,
    VelocityOnlyCartPole,
)
from rillax.envs.popgym.concentration import Concentration
from rillax.envs.popgym.count_recall import CountRecall
from rillax.envs.popgym.higher_lower import HigherLower
from rillax.envs.popgym.minesweeper import MineSweeper
from rillax.envs.popgym.multiarmed_bandit import MultiarmedBandit
from rillax.envs.popgym.pendulum import NoisyPositionOnlyPendulum, PositionOnlyPendulum
from rillax.envs.popgym.repeat_first import RepeatFirst
from rillax.envs.popgym.repeat_previous import RepeatPrevious

__all__ = [
    "GAMES",
    "Autoencode",
    "Battleship",
    "Concentration",
    "CountRecall",
    "HigherLower",
    "MineSweeper",
    "MultiarmedBandit",
    "NoisyPositionOnlyCartPole",
    "NoisyPositionOnlyPendulum",
    "PositionOnlyCartPole",
    "PositionOnlyPendulum",
    "RepeatFirst",
    "RepeatPrevious",
    "VelocityOnlyCartPole",
]

GAMES: dict[str, Callable[..., Environment]] = {
    "AutoencodeEasy": partial(Autoencode, num_decks=1),
    "AutoencodeMedium": partial(Autoencode, num_decks=2),
    "AutoencodeHard": partial(Autoencode, num_decks=3),
    "ConcentrationEasy": partial(Concentration, num_decks=1, deck_type="colors"),
    "ConcentrationMedium": partial(Concentration, num_decks=2, deck_type="colors"),
    "ConcentrationHard": partial(Concentration, num_decks=1, deck_type="ranks"),
    "CountRecallEasy": partial(CountRecall, num_decks=1, deck_type="colors"),
    "CountRecallMedium": partial(CountRecall, num_decks=2, deck_type="suits"),
    "CountRecallHard": partial(CountRecall, num_decks=4, deck_type="ranks"),
    "HigherLowerEasy": partial(HigherLower, num_decks=1),
    "HigherLowerMedium": partial(HigherLower, num_decks=2),
    "HigherLowerHard": partial(HigherLower, num_decks=3),
    "RepeatFirstEasy": partial(RepeatFirst, num_decks=1),
    "RepeatFirstMedium": partial(RepeatFirst, num_decks=8),
    "RepeatFirstHard": partial(RepeatFirst, num_decks=16),
    "RepeatPreviousEasy": partial(RepeatPrevious, num_decks=1, k=4),
    "RepeatPreviousMedium": partial(RepeatPrevious, num_decks=2, k=32),
    "RepeatPreviousHard": partial(RepeatPrevious, num_decks=3, k=64),
    "BattleshipEasy": partial(Battleship, board_size=8),
    "BattleshipMedium": partial(Battleship, board_size=10),
    "BattleshipHard": partial(Battleship, board_size=12),
    "MineSweeperEasy": partial(MineSweeper, side=4, num_mines=2),
    "MineSweeperMedium": partial(MineSweeper, side=6, num_mines=6),
    "MineSweeperHard": partial(MineSweeper, side=8, num_mines=10),
    "MultiarmedBanditEasy": partial(MultiarmedBandit, num_bandits=10, episode_length=200),
    "MultiarmedBanditMedium": partial(MultiarmedBandit, num_bandits=20, episode_length=400),
    "MultiarmedBanditHard": partial(MultiarmedBandit, num_bandits=30, episode_length=600),
    "PositionOnlyCartPoleEasy": partial(PositionOnlyCartPole, max_episode_length=200),
    "PositionOnlyCartPoleMedium": partial(PositionOnlyCartPole, max_episode_length=400),
    "PositionOnlyCartPoleHard": partial(PositionOnlyCartPole, max_episode_length=600),
    "VelocityOnlyCartPoleEasy": partial(VelocityOnlyCartPole, max_episode_length=200),
    "VelocityOnlyCartPoleMedium": partial(VelocityOnlyCartPole, max_episode_length=400),
    "VelocityOnlyCartPoleHard": partial(VelocityOnlyCartPole, max_episode_length=600),
    "NoisyPositionOnlyCartPoleEasy": partial(NoisyPositionOnlyCartPole, noise_sigma=0.1),
    "NoisyPositionOnlyCartPoleMedium": partial(NoisyPositionOnlyCartPole, noise_sigma=0.2),
    "NoisyPositionOnlyCartPoleHard": partial(NoisyPositionOnlyCartPole, noise_sigma=0.3),
    "PositionOnlyPendulumEasy": partial(PositionOnlyPendulum, max_episode_length=200),
    "PositionOnlyPendulumMedium": partial(PositionOnlyPendulum, max_episode_length=150),
    "PositionOnlyPendulumHard": partial(PositionOnlyPendulum, max_episode_length=100),
    "NoisyPositionOnlyPendulumEasy": partial(NoisyPositionOnlyPendulum, noise_sigma=0.1),
    "NoisyPositionOnlyPendulumMedium": partial(NoisyPositionOnlyPendulum, noise_sigma=0.2),
    "NoisyPositionOnlyPendulumHard": partial(NoisyPositionOnlyPendulum, noise_sigma=0.3),
}
"""Every game and difficulty of the reference's, by its name there."""
