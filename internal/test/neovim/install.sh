#!/bin/sh
# install.sh DIR puts the Neovim of Debian 13 into DIR/debian13, with the libraries that
# it needs: nothing of the system is changed, and an older Debian can run it. The
# package lists go to DIR/apt.
set -eu
dir=$(mkdir -p "$1" && cd "$1" && pwd)
suite=trixie
packages="neovim neovim-runtime libc6 libgcc-s1 libluajit-5.1-2 libluajit-5.1-common libmsgpack-c2
	libtree-sitter0.22 libunibilium4 libuv1t64 libvterm0 lua-lpeg lua-luv"

# The mirror is that of this system.
uri=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep '/debian/*$' | head -n 1)
[ -n "$uri" ] || { echo "apt-get names no mirror of Debian" >&2; exit 1; }
apt=$dir/apt
mkdir -p "$apt/state/lists/partial" "$apt/cache/archives/partial" "$apt/debs"
: >"$apt/state/status"
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $uri $suite main" >"$apt/sources.list"
set -- -q -o "Dir::State=$apt/state" -o "Dir::State::status=$apt/state/status" -o "Dir::Cache=$apt/cache" \
	-o "Dir::Etc::sourcelist=$apt/sources.list" -o Dir::Etc::sourceparts=- -o APT::Sandbox::User=root
apt-get "$@" update
(cd "$apt/debs" && apt-get "$@" download $packages)
rm -rf "$dir/new"
for deb in "$apt"/debs/*.deb; do
	dpkg-deb -x "$deb" "$dir/new"
done
rm -rf "$dir/debian13" "$apt"
mv "$dir/new" "$dir/debian13"
