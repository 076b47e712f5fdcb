"""The service over HTTP: bytes in, status out. The only folder that imports Flask beside the relay."""
