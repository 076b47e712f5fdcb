"""The HTTP API, independent of a server: operations, bodies, problems, the OpenAPI document."""
