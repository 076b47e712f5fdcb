"""The contract over HTTP, without a server: operations, bodies, problems and the OpenAPI document."""
