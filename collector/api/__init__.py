"""The parts of the HTTP API that do not depend on the server, such as the OpenAPI document."""
