"""The audit server: argilla-server and its page in one process, without Elasticsearch, Redis or Docker.

It runs inside the managed environment `argilla` under the package name `planarena_audit_server`, and imports
nothing of planarena: the two environments share no package versions, only the data directory.
"""
