#!/bin/sh
# Write .env with random secrets, readable by its owner alone; an existing one is left as it is.
set -eu
cd "$(dirname "$0")"
if [ -e .env ]; then
  echo ".env is there already" >&2
  exit 1
fi
umask 077
secret() { od -An -N32 -tx1 /dev/urandom | tr -d ' \n'; }
{
  for name in POSTGRES_PASSWORD REDIS_PASSWORD ARGILLA_AUTH_SECRET_KEY ADMIN_PASSWORD ADMIN_API_KEY; do
    echo "$name=$(secret)"
  done
} >.env
echo "wrote $(pwd)/.env"
