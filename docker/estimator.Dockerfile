# The reporting job. `make images` builds it with Docker, Podman or Buildah, or from the root of the checkout:
#   docker build --file docker/estimator.Dockerfile --tag hearsay-estimator:0.1.0 .
# With `--build-arg EXTRAS=estimator,parquet`, the job can also write Parquet.
FROM python:3.11.14-slim-bookworm AS build
ARG EXTRAS=estimator
WORKDIR /src
COPY . .
# pip itself stays out of the image. If pip needs a configuration to build the image, pass it as a build secret.
# Whatever index serves the wheels, each wheel must have the hash in docker/requirements (see `make requirements`).
RUN ["python", "-m", "venv", "/opt/hearsay-pip"]
RUN ["python", "-m", "venv", "--without-pip", "/opt/hearsay"]
RUN --mount=type=secret,id=pip,target=/etc/pip.conf --mount=type=secret,id=pip_cert,target=/etc/pip.crt ["/opt/hearsay-pip/bin/python", "-m", "pip", "install", "--no-cache-dir", "--require-hashes", "--requirement", "docker/requirements/build.txt"]
RUN ["/opt/hearsay-pip/bin/python", "-m", "pip", "wheel", "--no-cache-dir", "--no-index", "--no-deps", "--no-build-isolation", "--wheel-dir", "wheels", "./client_sdk", "."]
RUN --mount=type=secret,id=pip,target=/etc/pip.conf --mount=type=secret,id=pip_cert,target=/etc/pip.crt ["sh", "-c", "exec /opt/hearsay-pip/bin/python -m pip --python /opt/hearsay/bin/python install --no-cache-dir --require-hashes $(printf -- ' --requirement docker/requirements/%s.txt' $(echo $EXTRAS | tr , ' '))"]
RUN ["/opt/hearsay-pip/bin/python", "-m", "pip", "--python", "/opt/hearsay/bin/python", "install", "--no-cache-dir", "--no-index", "--no-deps", "--find-links", "wheels", "hearsay-ldp-client", "hearsay-ldp"]
# SciPy's own tests take as much space as its linear algebra libraries.
RUN ["find", "/opt/hearsay", "-path", "*/scipy/*/tests", "-prune", "-exec", "rm", "-r", "{}", "+"]

FROM python:3.11.14-slim-bookworm
LABEL org.opencontainers.image.title="Hearsay estimator" \
      org.opencontainers.image.description="Reports what is true of a population, and how sure it is" \
      org.opencontainers.image.version="0.1.0" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /opt/hearsay /opt/hearsay
RUN ["install", "--directory", "--owner=10001", "--group=10001", "--mode=0755", "/reports"]
ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
USER 10001:10001
STOPSIGNAL SIGTERM
# The image runs a job that ends, so the exit status replaces a health check.
HEALTHCHECK NONE
ENTRYPOINT ["/opt/hearsay/bin/hearsay-estimator"]
CMD ["--help"]
