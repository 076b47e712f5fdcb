# The reporting job. Build it from the root of the checkout:
#   docker build --file docker/estimator.Dockerfile --tag hearsay-estimator:0.1.0 .
FROM python:3.11.14-slim-bookworm AS build
WORKDIR /src
COPY . .
RUN ["python", "-m", "venv", "/opt/hearsay"]
RUN ["/opt/hearsay/bin/python", "-m", "pip", "install", "--no-cache-dir", "--constraint", "constraints.txt", "./client_sdk", ".[estimator,parquet]"]

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
# It is a job that ends, so its exit status replaces a health check.
HEALTHCHECK NONE
ENTRYPOINT ["/opt/hearsay/bin/hearsay-estimator"]
CMD ["--help"]
