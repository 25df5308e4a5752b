# The whole of ./run in a container: set-up at build time, then no network but for data sets.
# The tag is pinned, not the digest, which cannot be looked up without a registry: add @sha256:... where you build.
FROM python:3.11.9-slim-bookworm
RUN apt-get update && apt-get install --yes --no-install-recommends git && rm -rf /var/lib/apt/lists/* && useradd --create-home someone
COPY --chown=someone:someone . /home/someone/partywise
USER someone
WORKDIR /home/someone/partywise
RUN ./run --dry-run --configfile config/smoke.yaml
ENTRYPOINT ["./run"]
