from __future__ import annotations

import subprocess
import sys
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


@pytest.mark.spark
def test_python_files_of_the_current_folder_are_not_run(tmp_path):
    """A session of the command line, in a folder that came with somebody's model."""
    for name in ("secrets", "torch", "msgspec"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'executed')!r}, 'w')")
    program = (
        "import sys\n"
        "from netdsl.spark.session import SETTINGS, open_session\n"
        "with open_session('local[1]', {**SETTINGS, 'spark.ui.enabled': 'false'}) as session:\n"
        "    imported = session.sparkContext.parallelize([0], 1).map(lambda _: __import__('secrets').__file__)\n"
        "    print(imported.collect())\n"
    )
    done = subprocess.run([sys.executable, "-P", "-c", program], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, str(tmp_path) in done.stdout) == (0, False), done.stderr
    assert not (tmp_path / "executed").exists()
