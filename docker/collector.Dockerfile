# The collector and the relay. `make images` builds it with Docker, Podman or Buildah, or from the root of the checkout:
#   docker build --file docker/collector.Dockerfile --tag hearsay-collector:0.1.0 .
FROM python:3.11.14-slim-bookworm AS build
WORKDIR /src
COPY . .
# pip itself stays out of the image. If pip needs a configuration to build the image, pass it as a build secret.
# Whatever index serves the wheels, each wheel must have the hash in docker/requirements (see `make requirements`).
RUN ["python", "-m", "venv", "/opt/hearsay-pip"]
RUN ["python", "-m", "venv", "--without-pip", "/opt/hearsay"]
RUN --mount=type=secret,id=pip,target=/etc/pip.conf --mount=type=secret,id=pip_cert,target=/etc/pip.crt ["/opt/hearsay-pip/bin/python", "-m", "pip", "install", "--no-cache-dir", "--require-hashes", "--requirement", "docker/requirements/build.txt"]
RUN ["/opt/hearsay-pip/bin/python", "-m", "pip", "wheel", "--no-cache-dir", "--no-index", "--no-deps", "--no-build-isolation", "--wheel-dir", "wheels", "./client_sdk", "."]
RUN --mount=type=secret,id=pip,target=/etc/pip.conf --mount=type=secret,id=pip_cert,target=/etc/pip.crt ["/opt/hearsay-pip/bin/python", "-m", "pip", "--python", "/opt/hearsay/bin/python", "install", "--no-cache-dir", "--require-hashes", "--requirement", "docker/requirements/collector.txt"]
RUN ["/opt/hearsay-pip/bin/python", "-m", "pip", "--python", "/opt/hearsay/bin/python", "install", "--no-cache-dir", "--no-index", "--no-deps", "--find-links", "wheels", "hearsay-ldp-client", "hearsay-ldp"]

FROM python:3.11.14-slim-bookworm
LABEL org.opencontainers.image.title="Hearsay collector" \
      org.opencontainers.image.description="Collects perturbed reports, and keeps nothing but their tallies" \
      org.opencontainers.image.version="0.1.0" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /opt/hearsay /opt/hearsay
# The folder of the embedded store's files. A new volume takes over the owner of this folder.
RUN ["install", "--directory", "--owner=10001", "--group=10001", "--mode=0700", "/var/lib/hearsay"]
ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
USER 10001:10001
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=6s --start-period=60s \
    CMD ["/opt/hearsay/bin/python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8080/readyz', timeout=5)"]
ENTRYPOINT ["/opt/hearsay/bin/hearsay-collector"]
CMD ["serve", "--registry", "/etc/hearsay/metrics.toml", "--bind", "0.0.0.0:8080", "--data-dir", "/var/lib/hearsay", "--log-format", "json"]
