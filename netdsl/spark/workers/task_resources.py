"""What Spark gave a task of its machine: the place among the tasks there, and GPUs."""

from __future__ import annotations

from pyspark import BarrierTaskContext, TaskContext


def local_rank(rank: int) -> int:
    """The number of tasks of a barrier job with lower ranks on this machine."""
    hosts = [info.address.rpartition(":")[0] for info in BarrierTaskContext.get().getTaskInfos()]
    return hosts[:rank].count(hosts[rank])


def assigned_gpus(context: TaskContext) -> tuple[str, ...]:
    """The addresses of the GPUs that Spark assigned to a task, as spark.task.resource.gpu.amount asks."""
    gpus = context.resources().get("gpu")
    return () if gpus is None else tuple(gpus.addresses)
