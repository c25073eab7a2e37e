# Executors and drivers of Spark on Kubernetes: docker build -f docker/spark.Dockerfile -t netdsl-spark .
# The version of Spark is the cluster's: --build-arg SPARK_VERSION=4.0.1
ARG SPARK_VERSION=4.0.1
FROM apache/spark:${SPARK_VERSION} AS spark

# Spark's own image has a Python that is too old for netdsl. So only Spark is taken from it.
FROM python:3.13-slim
ARG SPARK_VERSION
RUN apt-get update \
    && apt-get install --yes --no-install-recommends gosu openjdk-21-jre-headless procps tini \
    && rm -rf /var/lib/apt/lists/*
COPY --from=spark /opt/spark /opt/spark
COPY --from=spark /opt/entrypoint.sh /opt/entrypoint.sh

RUN pip install --no-cache-dir torch --index-url https://download.pytorch.org/whl/cpu
COPY dist/*.whl /tmp/
RUN pip install --no-cache-dir "$(echo /tmp/netdsl-*.whl)[data]" \
        "pyspark==${SPARK_VERSION}" "pandas>=2.2,<3" "pyarrow>=17" \
    && rm /tmp/netdsl-*.whl \
    && groupadd --system --gid 185 spark \
    && useradd --system --uid 185 --gid spark --home-dir /opt/spark/work-dir spark \
    && install --directory --owner=spark /opt/spark/work-dir

ENV SPARK_HOME=/opt/spark PYSPARK_PYTHON=/usr/local/bin/python3
USER spark
WORKDIR /opt/spark/work-dir
ENTRYPOINT ["/opt/entrypoint.sh"]
