"""The HTTP API, independent of a server: operations, bodies, problems and the OpenAPI document."""
