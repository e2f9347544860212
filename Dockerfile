# The service in an image: docker build --tag bookbound:0.1.0 .
# With the example book indexed inside, to try it: docker build --target example --tag bookbound:example .
ARG PYTHON=3.11.14-slim-bookworm

FROM python:${PYTHON} AS build
# Which services the image can speak to: any of agents, cohere, openai, postgres, qdrant, redis, with commas between.
ARG EXTRAS=agents,postgres,qdrant,redis
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PIP_NO_CACHE_DIR=1 \
    PIP_ROOT_USER_ACTION=ignore
WORKDIR /build
# What is in this folder of wheels, the hashes of the lock vouch for; from here on nothing is fetched.
COPY requirements.lock requirements-dev.lock ./
RUN pip download --require-hashes --only-binary=:all: --dest wheels --requirement requirements-dev.lock
RUN python -m venv --without-pip /opt/bookbound \
    && pip --python /opt/bookbound/bin/python install --no-index --find-links wheels \
        --require-hashes --requirement requirements.lock
COPY pyproject.toml README.md LICENSE NOTICE ./
COPY examples examples
COPY src src
# Versions are those of the lock: the folder of wheels has no others.
# hadolint ignore=DL3013
RUN pip wheel --no-index --find-links wheels --no-deps --wheel-dir wheels . \
    && pip --python /opt/bookbound/bin/python install --no-index --find-links wheels "bookbound[${EXTRAS}]" \
    && pip --python /opt/bookbound/bin/python check

FROM python:${PYTHON} AS run
ENV PATH=/opt/bookbound/bin:$PATH \
    HOME=/tmp \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    BOOKBOUND_INDEX=/var/lib/bookbound/index
COPY --from=build /opt/bookbound /opt/bookbound
# What is written to, besides /tmp and /dev/shm: an index in a folder, with its log and keys; or keys in a volume of
# their own, which takes its owner from here.
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
    BOOKBOUND_LOG=off

# The last stage is what a build without a target makes.
FROM run AS service
