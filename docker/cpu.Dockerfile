# netdsl on CPUs, from the wheel that `make package` builds: docker build -f docker/cpu.Dockerfile -t netdsl .
FROM python:3.13-slim

# PyPI's torch comes with 5 GB of CUDA packages; this one doesn't.
RUN pip install --no-cache-dir torch --index-url https://download.pytorch.org/whl/cpu
COPY dist/*.whl /tmp/
RUN pip install --no-cache-dir "$(echo /tmp/netdsl-*.whl)[data,onnx,convert,logs,hub,planner,serve]" \
    && rm /tmp/netdsl-*.whl \
    && useradd --create-home netdsl \
    && install --directory --owner=netdsl /models

USER netdsl
WORKDIR /models
ENV NETDSL_HOME=/models/.netdsl
ENTRYPOINT ["zoo"]
