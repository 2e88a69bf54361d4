"""Figures as text: few digits, the same everywhere, a dash for what is absent."""

from html import escape

from journeyman.records.report import Interval, Rate

NONE = "–"
LAYERS = ("sandbox", "engine", "capture", "service", "harness", "grader")


def number(value: float | None, digits: int = 2) -> str:
    """A plain number: thousands without decimals, small ones with `digits`."""
    if value is None:
        return NONE
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    if abs(value) >= 100:
        return f"{value:.0f}"
    return f"{value:.{digits}f}"


def compact(value: float) -> str:
    """A number on an axis: three significant digits."""
    if value == 0:
        return "0"
    if abs(value) >= 10_000:
        return f"{value / 1000:.0f}k"
    if abs(value) < 0.001:
        return f"{value:.0e}".replace("e-0", "e-")
    return f"{value:.3g}"


def signed(value: float, digits: int = 2) -> str:
    """A difference, with a true minus sign."""
    return f"{value:+.{digits}f}".replace("-", "\N{MINUS SIGN}")


def percent(value: float) -> str:
    """A share in whole per cent, or with one decimal near the ends."""
    whole = 100 * value
    return f"{whole:.1f} %" if 0 < whole < 1 or 99 < whole < 100 else f"{whole:.0f} %"


def plus_minus(interval: Interval | None, digits: int = 2) -> str:
    """HTML: a mean with half its interval's width."""
    if interval is None:
        return NONE
    text = number(interval.value, digits)
    if interval.low is None or interval.high is None:
        return f'{text}<span class="pm">n = {interval.n}</span>'
    return f'{text}<span class="pm">± {number((interval.high - interval.low) / 2, digits)}</span>'


def span(interval: Interval, digits: int = 2) -> str:
    """The interval's bounds, for a tooltip or a sentence."""
    if interval.low is None or interval.high is None:
        return f"no interval (n = {interval.n})"
    return f"{number(interval.low, digits)} to {number(interval.high, digits)}"


def rate(value: Rate) -> str:
    """A count over its denominator, and the share where there is one."""
    return f"{value.count:,} of {value.of:,}" + (f" ({percent(value.count / value.of)})" if value.of else "")


def type_title(name: str) -> str:
    """`finance.board_forecast` as "Board forecast (finance)"."""
    domain, _, kind = name.partition(".")
    words = (kind or domain).replace("_", " ").replace("-", " ")
    return escape(sentence(words) + (f" ({domain})" if kind else ""))


def policy_title(name: str) -> str:
    """Names that are abbreviations in capitals, others as they are."""
    return escape(name.upper() if name in ("sft", "rl") else name)


def sentence(text: str) -> str:
    """With a capital first letter, the rest as it is."""
    return text[:1].upper() + text[1:]


def sampling_title(temperature: float) -> str:
    """How tokens were drawn."""
    return "greedy" if temperature == 0 else f"T = {temperature:g}"
