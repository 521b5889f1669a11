#!/usr/bin/env bash
set -euo pipefail
move() {
  local args=(kubectl patch clusterqueue "$1" -p '{"spec":{"stopPolicy":"Hold"}}')
  args+=(--type=merge)
  "${args[@]}"
}
move gpu
