"""The example programs, in the Spark that all tests share."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.spark

EXAMPLES = Path(__file__).parents[3] / "examples"


def main(name: str) -> Any:
    return runpy.run_path(str(EXAMPLES / name))["main"]


def test_the_third_listing_of_the_paper_works(session: Any) -> None:
    assert main("spark_listing3.py")(session, rounds=4) < 0.5


def test_the_example_of_a_query_works(session: Any) -> None:
    assert main("spark_sql.py")(session) > 0.85


def test_the_example_of_a_parquet_folder_works(session: Any, tmp_path: Path) -> None:
    assert main("spark_parquet.py")(session, tmp_path) > 0.85


def test_the_example_of_a_stream_works(session: Any, tmp_path: Path) -> None:
    found = main("spark_streaming.py")(session, tmp_path, batches=2)
    assert len(found) == 2
    assert found[1] > found[0] > 0.3
