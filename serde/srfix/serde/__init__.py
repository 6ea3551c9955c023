"""Bytes to rows and back, with the schemas, subjects and registries that this takes.

Import from the modules: `deserializer`, `serializer`, `resolve`, `columns`, `subjects`, `registry`. Nothing stands here, so
that a process pays for what it uses: a command that only explains an error loads no codec and no HTTP client.
"""
