import numpy as np
import pyarrow.parquet as pq
import pytest

from rillax.experiments.results import Bins, iqm, standard_error
from rillax.loops import EpisodeStatistics
from rillax.utils import files


def statistics(frames, episodes, returns, error=0.0):
    seeds = len(returns)
    return EpisodeStatistics(
        frames=np.full(seeds, frames),
        episodes=np.array(episodes),
        returns=np.array(returns, np.float32),
        lengths=np.array(episodes) * 4,
        diverged=np.zeros(seeds, int),
        metrics={"td_error": np.full(seeds, error * frames, np.float32)},
    )


def test_iqm_of_five_is_the_mean_of_the_middle_three():
    assert iqm(np.array([100.0, 1.0, 2.0, 3.0, -50.0])) == 2.0


def test_standard_error():
    values = np.array([1.0, 2.0, 4.0])
    assert standard_error(values) == pytest.approx(np.std(values, ddof=1) / np.sqrt(3))
    assert standard_error(np.array([3.0])) == 0


@pytest.mark.parametrize("frames", [1, 7, 100, 101, 12345])
def test_bins_share_the_frames_evenly_and_fully(frames):
    bins = Bins(frames, count=10)
    frame, widths = 0, []
    while frame < frames:
        widths.append(bins.room(frame))
        frame += widths[-1]
        bins.put(frame, statistics(widths[-1], [1], [1.0]))
    assert frame == frames
    assert len(widths) == min(10, frames)
    assert max(widths) - min(widths) <= 1


def test_a_bin_holds_its_newest_statistics_and_means_are_weighted():
    bins = Bins(20, count=2)
    bins.put(4, statistics(4, [1, 0], [1.0, 0.0], error=1.0))
    bins.put(10, statistics(10, [3, 0], [0.0, 0.0], error=1.6))  # the same bin, further on
    bins.put(20, statistics(10, [1, 2], [0.5, 2.0]))
    columns = bins.columns()
    np.testing.assert_array_equal(columns["frames"], [[10, 10], [10, 10]])
    np.testing.assert_array_equal(columns["episodes"], [[3, 0], [1, 2]])
    np.testing.assert_allclose(columns["return"], [[0.0, np.nan], [0.5, 1.0]])
    np.testing.assert_allclose(columns["td_error"], [[1.6, 1.6], [0, 0]], rtol=1e-6)
    merged = bins.columns(points=1)
    np.testing.assert_allclose(merged["return"], [[0.125, 1.0]])
    np.testing.assert_array_equal(merged["frames"], [[20, 20]])
    np.testing.assert_allclose(bins.final_returns(), [0.5, 1.0])
    assert bins.latest_return() == pytest.approx(2.5 / 3)


def test_the_table_has_a_row_for_each_bin_and_seed(tmp_path):
    bins = Bins(20, count=2)
    bins.put(10, statistics(10, [1, 0], [1.0, 0.0]))
    bins.put(20, statistics(10, [1, 2], [0.5, 2.0]))
    table = bins.table([7, 8])
    files.write(tmp_path / "t.parquet", lambda beside: pq.write_table(table, beside))
    rows = pq.read_table(tmp_path / "t.parquet").to_pylist()
    assert [(r["seed"], r["frame"], r["return"]) for r in rows] == [
        (7, 10, 1.0),
        (8, 10, None),
        (7, 20, 0.5),
        (8, 20, 1.0),
    ]


def test_a_run_without_a_frame_has_an_empty_table():
    assert Bins(20).table([0, 1]).num_rows == 0
    assert Bins(20).final_returns().size == 0


def test_files_appear_whole_or_not_at_all(tmp_path):
    path = tmp_path / "x.json"
    files.write_json(path, {"a": 1})

    def fail(beside):
        beside.write_text("half")
        raise OSError(28, "No space left on device")

    with pytest.raises(files.OutputError, match=r"cannot write .*x.json: No space left"):
        files.write(path, fail)
    assert files.read_json(path) == {"a": 1}
    assert [p.name for p in tmp_path.iterdir()] == ["x.json"]
