"""How written values compare: numbers as numbers, words between boundaries, and no partial credit for substrings."""

import pytest

from journeyman.grading.text import as_number, fold, has_phrase, numbers_in, passages, value_matches


@pytest.mark.parametrize(
    ("actual", "expected"),
    [
        ("$1,200.50", 1200.5), ("1 200.50", "1200.5"), ("(35)", -35), ("−35.0", -35), ("12.50%", 12.5),
        ("4.2x", "4.20"),
        ("USD 3 million", 3_000_000), ("3m", 3), ("EUR 42.5", "42.5"), ("V7", "v7"), ("  Approved ", "approved"),
        ("42.5 (see schedule 2)", 42.5), ("approved (by counsel).", "approved"), ("2025-03-31", "2025-03-31"),
        ("“held”", '"held"'), ("CHF -1'250.00", -1250), ("0", 0), ("007", 7),
    ],
)  # fmt: skip
def test_equal_values(actual: str, expected: object) -> None:
    assert value_matches(actual, expected)


@pytest.mark.parametrize(
    ("actual", "expected"),
    [
        ("1,200.51", 1200.5), ("v7.1", "v7"), ("12", "12.5"), ("not approved", "approved"), ("", "approved"), ("", 0),
        ("42.5 or 43.1", 42.5), ("2025-03-31", "2025-03-30"), ("nan", 0), ("1e309", 1), ("42.5 million", 42.5e9),
        ("3 million", 3_000), ("true", True and 1),
    ],
)  # fmt: skip
def test_unequal_values(actual: str, expected: object) -> None:
    assert not value_matches(actual, expected)


def test_tolerance_is_inclusive_and_absolute() -> None:
    assert value_matches("42.55", 42.5, tolerance=0.05)
    assert not value_matches("42.56", 42.5, tolerance=0.05)


def test_several_acceptable_values() -> None:
    assert value_matches("hold", ["pend", "hold"])
    assert not value_matches("release", ["pend", "hold"])


@pytest.mark.parametrize(
    ("text", "phrase", "found"),
    [
        ("The v7 forecast", "v7 Forecast", True), ("rev7", "v7", False), ("v70", "v7", False),
        ("price 12.5", "2.5", False),
        ("price 12.5", "12", False), ("price 12.5.", "12.5", True), ("11.7x multiple", "11.7x", True),
        ("111.7x", "11.7x", False), ("a\n b", "a b", True), ("anything", "", False), ("AT&T's", "at&t", True),
    ],
)  # fmt: skip
def test_phrases_stand_between_word_boundaries(text: str, phrase: str, found: bool) -> None:
    assert has_phrase(fold(text), phrase) is found


def test_numbers_inside_text_skip_dates_versions_and_identifiers() -> None:
    text = "On 2025-03-31 v7 says EBITDA of $42.5 million, up 3% from (v5) 41.2; ref A-17 and 1,200 units."
    values = {float(n.full) for n in numbers_in(text)}
    assert {42_500_000.0, 3.0, 41.2, 1200.0} <= values
    assert 7.0 not in values


def test_a_whole_number_is_read_whole_or_not_at_all() -> None:
    assert as_number("12 apples") is None
    assert as_number("(12") is None
    assert as_number("1.2.3") is None


def test_passages_join_wrapped_sentences_and_keep_rows_apart() -> None:
    units = list(passages(["The covenant EBITDA", "was 42.5 million. Debt was 7.", "| Debt | 9 |"]))
    assert "the covenant ebitda was 42.5 million." in units
    assert "debt was 7." in units
    assert "| debt | 9 |" in units
