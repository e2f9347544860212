# Build the service: docker build --tag bookbound:0.1.0 .
# Build it with the example book, to try it: docker build --target example --tag bookbound:example .
ARG PYTHON=3.11.14-slim-bookworm

FROM python:${PYTHON} AS build
# The services that the image can use: any of agents, cohere, openai, postgres, qdrant, redis, with commas.
ARG EXTRAS=agents,postgres,qdrant,redis
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PIP_NO_CACHE_DIR=1 \
    PIP_ROOT_USER_ACTION=ignore
WORKDIR /build
# The hashes of the lock file verify these wheels; after this nothing is downloaded.
COPY requirements.lock requirements-dev.lock ./
RUN pip download --require-hashes --only-binary=:all: --dest wheels --requirement requirements-dev.lock
RUN python -m venv --without-pip /opt/bookbound \
    && pip --python /opt/bookbound/bin/python install --no-index --find-links wheels \
        --require-hashes --requirement requirements.lock
COPY pyproject.toml README.md LICENSE NOTICE ./
COPY examples examples
COPY release release
COPY src src
# What `bookbound --version` says; the build has no Git: --build-arg COMMIT=$(git describe --always --dirty --exclude='*')
ARG COMMIT=
# The folder of wheels has only the versions of the lock file.
# hadolint ignore=DL3013
RUN echo "$COMMIT" > src/bookbound/commit.txt \
    && pip wheel --no-index --find-links wheels --no-deps --wheel-dir wheels . ./release/models \
    && pip --python /opt/bookbound/bin/python install --no-index --find-links wheels "bookbound[${EXTRAS}]" \
    && pip --python /opt/bookbound/bin/python check

FROM python:${PYTHON} AS run
ENV PATH=/opt/bookbound/bin:$PATH \
    HOME=/tmp \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    BOOKBOUND_INDEX=/var/lib/bookbound/index
COPY --from=build /opt/bookbound /opt/bookbound
# The only writable folders except for /tmp and /dev/shm. The first has the index, its log and its keys. The second is the
# mount point of a separate volume for keys, which takes its owner from here.
RUN install --directory --owner=10001 --group=10001 --mode=0750 /var/lib/bookbound /var/lib/bookbound-keys
USER 10001:10001
WORKDIR /var/lib/bookbound
VOLUME /var/lib/bookbound
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8000/health', timeout=4)"]
ENTRYPOINT ["bookbound"]
CMD ["serve", "--host", "0.0.0.0", "--port", "8000"]

FROM build AS indexed
COPY examples/book /opt/example/book
RUN /opt/bookbound/bin/bookbound index /opt/example/book --index /opt/example/index

FROM run AS example
COPY --from=indexed --chown=10001:10001 /opt/example/index /opt/example/index
ENV BOOKBOUND_INDEX=/opt/example/index \
    BOOKBOUND_QUERY_LOG=off

# A build without a target makes the last stage.
FROM run AS service
