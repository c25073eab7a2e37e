from __future__ import annotations

from types import SimpleNamespace

import pytest

from netdsl.errors import DistributedError
from netdsl.spark.cluster import Cluster
from netdsl.spark.session import open_session


def cluster(**settings):
    """A cluster of which only the settings are asked; they are named without dots."""
    named = {f"spark.{name.replace('_', '.')}": value for name, value in settings.items()}
    return Cluster(SimpleNamespace(sparkContext=SimpleNamespace(getConf=lambda: named)))


def test_a_session_without_jobs():
    with pytest.raises(DistributedError, match=r"need a classic Spark session, not one of Spark Connect"):
        Cluster(object())


def test_the_driver_may_listen_elsewhere_than_it_is_reached():
    assert cluster(driver_host="10.1.2.3").bind_host == "10.1.2.3"
    found = cluster(driver_host="10.1.2.3", driver_bindAddress="0.0.0.0")
    assert (found.host, found.bind_host) == ("10.1.2.3", "0.0.0.0")


def test_ports():
    assert cluster().port == 0
    assert cluster(netdsl_port="7337").port == 7337
    for text in ("-1", "65536", "http", "7337.0", ""):
        with pytest.raises(DistributedError, match=rf"spark.netdsl.port is '{text}'; give a port up to 65535"):
            assert cluster(netdsl_port=text).port


@pytest.mark.spark
def test_a_session_that_is_there_already_is_used_and_stays(session):
    with open_session("local[1]") as found:
        assert found.sparkContext.master == session.sparkContext.master
    assert session.range(3).count() == 3
