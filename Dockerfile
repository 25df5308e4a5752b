# Two images: the whole of ./run (the last stage, which is built by default), and one party of a distributed deployment
# (--target party). Both are set up at build time; then there is no network but for data sets, or the other parties.
# The tag is pinned, not the digest, which cannot be looked up without a registry: give it where you build, as in
# --build-arg BASE=python:3.11.9-slim-bookworm@sha256:...
ARG BASE=python:3.11.9-slim-bookworm

FROM ${BASE} AS wheel
COPY . /source
WORKDIR /source
# What makes the wheel is in the lock of a run.
RUN awk '/^[a-z]/ {kept = /^setuptools==/} kept' requirements.lock > /tmp/build.lock \
    && python -m pip install --no-cache-dir --no-deps --require-hashes -r /tmp/build.lock \
    && python -m pip wheel --no-deps --no-build-isolation --wheel-dir /wheel .

FROM ${BASE} AS party
COPY requirements-network.lock requirements-nvflare.lock /tmp/locks/
RUN python -m pip install --no-cache-dir --no-deps --require-hashes -r /tmp/locks/requirements-network.lock \
    && python -m pip install --no-cache-dir --no-deps --require-hashes -r /tmp/locks/requirements-nvflare.lock
COPY --from=wheel /wheel /tmp/wheel
RUN python -m pip install --no-cache-dir --no-deps --no-index /tmp/wheel/*.whl && useradd --create-home someone
ENV OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1
USER someone
WORKDIR /home/someone
CMD ["python", "-m", "partywise", "network", "party", "--help"]

FROM ${BASE}
RUN apt-get update && apt-get install --yes --no-install-recommends git && rm -rf /var/lib/apt/lists/* && useradd --create-home someone
COPY --chown=someone:someone . /home/someone/partywise
USER someone
WORKDIR /home/someone/partywise
RUN ./run --dry-run --configfile config/smoke.yaml
ENTRYPOINT ["./run"]
