"""How `zoo train` interprets its Spark options, before Spark starts."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from netdsl.spark.backend import SparkBackend
from zoo.cli import zoo


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--workers", "2", "--master", "local"], "--master and --remote need --backend spark"),
        (["--workers", "2", "--backend", "spark", "--transport", "pigeon"], "'pigeon' is not one of 'shared-memory',"),
        (["--backend", "spark"], "are for several workers; give --workers too"),
        (["--backend", "spark", "--transport", "relay"], "are for several workers; give --workers too"),
    ],
)
def test_options_that_require_others_are_checked(words, says, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(zoo, ["train", "lenet", "--data", "digits", *words])
    assert done.exit_code == 2
    assert says in done.output.replace("\n", " ")
    assert not list(tmp_path.iterdir())


def test_the_address_of_spark_is_found(monkeypatch):
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)
    monkeypatch.delenv("SPARK_REMOTE", raising=False)
    assert SparkBackend("yarn", tasks=3).spark_master == "yarn"
    assert SparkBackend(tasks=3).spark_master == "local[3]"
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    assert SparkBackend(tasks=3).spark_master == ""
