"""Structures: circles and strangers are refused, plans stay open, a look-up is no work, missing evidence shrinks."""

from journeyman.synthesis.structure import Operation, Structure, ordered, satisfied_by, structure_faults, supported


def operation(name: str, needs: str = "", sources: str = "") -> Operation:
    return Operation(id=name, kind="reasoning", needs=tuple(needs.split()), sources=tuple(sources.split()))


JOINED = Structure(
    operations=(
        operation("left", sources="a.csv"),
        operation("right", sources="b.csv"),
        operation("join", "left right"),
        operation("extra", "join", "c.csv"),
        operation("decide", "join"),
    )
)


def test_a_structure_holds_or_says_why_not() -> None:
    assert structure_faults(JOINED) == ()
    circle = Structure(operations=(operation("a", "b"), operation("b", "a"), operation("c", "a")))
    assert structure_faults(circle) == ("operations a, b, c need each other in a circle",)
    stranger = Structure(operations=(operation("a", "nobody"),))
    assert structure_faults(stranger) == ("operation a needs nobody, which is not there",)
    assert structure_faults(Structure(operations=(operation("a"), operation("a")))) == ("operation a appears twice",)
    assert structure_faults(Structure(operations=())) == ("there is no operation",)


def test_a_single_look_up_is_no_structure() -> None:
    alone = Structure(operations=(operation("cell", sources="a.csv"),))
    assert structure_faults(alone) == (
        "a look-up in a.csv: at least 2 documents are to be joined",
        "1 operations lead to the result, at least 3 are needed",
    )
    beside = Structure(
        operations=(operation("x", sources="b.csv"), operation("y", "x"), operation("cell", "", "a.csv"))
    )
    assert "a look-up in a.csv" in structure_faults(beside)[0]  # what the result does not rest on does not count


def test_two_different_plans_satisfy_one_structure_and_a_wrong_order_does_not() -> None:
    assert satisfied_by(JOINED, ("left", "right", "join", "extra", "decide"))
    assert satisfied_by(JOINED, ("right", "left", "join", "decide", "extra"))
    assert not satisfied_by(JOINED, ("join", "left", "right", "extra", "decide"))
    assert not satisfied_by(JOINED, ("left", "right", "join", "decide"))
    assert len(ordered(JOINED)) == 5


def test_without_a_source_the_largest_supported_part_is_left() -> None:
    smaller = supported(JOINED, {"a.csv", "b.csv"})
    assert smaller is not None
    assert [o.id for o in smaller.operations] == ["left", "right", "join", "decide"]
    assert supported(JOINED, {"a.csv"}) is None
