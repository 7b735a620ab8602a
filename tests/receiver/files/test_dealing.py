"""Every frame has one place in one part, and the places of a part have no gaps."""

from __future__ import annotations

import pytest

from penstock.receiver.files.dealing import Dealing


@pytest.mark.parametrize("files", [2, 3, 5, 16])
@pytest.mark.parametrize("block", [1, 3, 8])
def test_each_frame_has_a_row_of_its_own_and_a_part_has_no_gaps(files: int, block: int) -> None:
    dealing = Dealing(files, block)
    for length in (0, 1, block, files * block, files * block + 1, 7 * files * block - 1):
        places = [dealing.place(index) for index in range(length)]
        assert len(set(places)) == length
        for part in range(files):
            rows = sorted(row for number, row in places if number == part)
            assert rows == list(range(dealing.rows(part, length)))
            assert dealing.indices(part, length).tolist() == [dealing.index(part, row) for row in rows]
        assert [dealing.index(*place) for place in places] == list(range(length))


def test_frames_are_dealt_in_blocks_by_their_index() -> None:
    dealing = Dealing(files=3, block=2)
    assert [dealing.place(index)[0] for index in range(14)] == [0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2, 0, 0]
    assert [dealing.place(index)[1] for index in range(14)] == [0, 1, 0, 1, 0, 1, 2, 3, 2, 3, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("nbytes", "block"), [(20_000, 419), (200_000, 41), (2_097_152, 4), (8 * 2**20, 1), (20_000_000, 1)]
)
def test_a_block_has_8_mb_but_at_least_one_frame(nbytes: int, block: int) -> None:
    assert Dealing.of(4, nbytes) == Dealing(4, block)
