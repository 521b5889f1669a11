# SPDX-License-Identifier: Apache-2.0
#
# Sourced by ./quickstart and ./check (POSIX sh). install_packages TAG... makes sure that every package of
# packages.txt with one of these tags is there; says nothing when nothing is missing.
is_installed() {
    [ "$(dpkg-query -W -f='${db:Status-Abbrev}' "$1" 2>/dev/null)" = 'ii ' ]
}

install_packages() {
    command -v dpkg-query >/dev/null || {
        echo "this is no Debian: install what packages.txt lists, then run me again" >&2
        return 3
    }
    missing=''
    for tag in "$@"; do
        for package in $(awk -v tag="[$tag]" '!/^#/ && $2 == tag { print $1 }' packages.txt); do
            is_installed "$package" || missing="$missing $package"
        done
    done
    [ -n "$missing" ] || return 0
    if [ "$(id -u)" -ne 0 ]; then
        echo "these packages are missing, and only root can install them:" >&2
        echo "  sudo apt-get install --no-install-recommends$missing" >&2
        return 3
    fi
    echo "== installing$missing"
    install_log=$(mktemp)
    # A bare image comes without package lists, an old one with lists that name files long gone.
    # shellcheck disable=SC2086  # a list of words
    if { [ -e "$(echo /var/lib/apt/lists/*_Packages* | cut -d' ' -f1)" ] &&
         DEBIAN_FRONTEND=noninteractive apt-get -qq -y install --no-install-recommends $missing; } >"$install_log" 2>&1 ||
       { apt-get -qq update &&
         DEBIAN_FRONTEND=noninteractive apt-get -qq -y install --no-install-recommends $missing; } >"$install_log" 2>&1; then
        rm -f "$install_log"
        return 0
    fi
    tail -n 20 "$install_log" >&2
    rm -f "$install_log"
    echo "apt-get could not install them; its words are above" >&2
    return 3
}
