# SPDX-License-Identifier: Apache-2.0
#
# Sourced by ./quickstart and ./check. install_packages TAG... makes sure that every package of
# packages.txt with one of the tags is there; says nothing when nothing is missing.
install_packages() {
    local missing="" name tag wanted
    while read -r name tag; do
        case "$name" in ""|"#"*) continue ;; esac
        wanted=no
        for want in "$@"; do [ "$tag" = "[$want]" ] && wanted=yes; done
        [ $wanted = yes ] || continue
        dpkg-query -W -f='${Status}' "$name" 2>/dev/null | grep -q 'ok installed' || missing="$missing $name"
    done < packages.txt
    [ -n "$missing" ] || return 0
    if [ "$(id -u)" != 0 ]; then
        echo "missing Debian packages:$missing" >&2
        echo "as root: apt-get install$missing" >&2
        return 3
    fi
    echo "== installing$missing"
    local log
    log=$(mktemp)
    if ! { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $missing; } \
            >"$log" 2>&1; then
        tail -n 20 "$log" >&2
        rm -f "$log"
        echo "the packages could not be installed; this needs Debian 12's own package source" >&2
        return 3
    fi
    rm -f "$log"
}
