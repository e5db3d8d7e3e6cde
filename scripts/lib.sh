# Shared by the scripts beside it: where things are kept, and how they speak.
set -euo pipefail
export DEBIAN_FRONTEND=noninteractive
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cache=${FREEZEPIPE_CACHE:-$HOME/.cache/freezepipe}
venv=$cache/venv

say() { printf '\033[1m==>\033[0m %s\n' "$*"; }
fail() {
  printf 'freezepipe: %s\n' "$*" >&2
  exit 1
}
