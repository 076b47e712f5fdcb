"""The HTTP contract, without a server: operations, bodies, problems, OpenAPI document."""
