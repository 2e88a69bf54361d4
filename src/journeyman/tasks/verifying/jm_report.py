"""A pytest plugin for verifier boxes: one JSON line for each collected test and each result, to the file $JM_REPORT.

Standard library and pytest only; it is bound read-only into the box that verifies.
"""

import json
import os
from typing import Any

import pytest


def _say(**line: Any) -> None:
    with open(os.environ["JM_REPORT"], "a", encoding="utf-8") as file:  # noqa: PTH123
        file.write(json.dumps(line) + "\n")


def pytest_collection_modifyitems(items: "list[pytest.Item]") -> None:
    """Every collected test."""
    for item in items:
        _say(collected=item.nodeid.partition("::")[2])


def pytest_collectreport(report: "pytest.CollectReport") -> None:
    """A file that could not be collected."""
    if report.failed:
        _say(broken=str(report.longrepr)[-1000:])


def pytest_runtest_logreport(report: "pytest.TestReport") -> None:
    """The decisive phase of one test: its call, or a setup or teardown that failed."""
    if report.when == "call" or report.outcome != "passed":
        reason = str(report.longrepr).strip().splitlines()[-1:] if report.failed else []
        _say(test=report.nodeid.partition("::")[2], outcome=report.outcome, detail="".join(reason)[-300:])


def pytest_sessionfinish(exitstatus: int) -> None:
    """The last line: without it the session did not end by itself."""
    _say(finished=int(exitstatus))
