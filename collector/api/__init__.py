"""The HTTP API, independent of the server: operations, bodies, problems, the OpenAPI document."""
