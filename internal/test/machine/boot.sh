#!/bin/sh
# boot.sh ARCH SUITE DIR starts an emulated machine with the kernel and the programs of a
# release of Debian (arm64 bookworm: Linux 6.1), and runs the tests of internal/sandbox/kernel there, as
# root. Packages and images are kept in DIR; nothing of the system is changed. It shows what
# the tests print, and fails unless all of them pass.
set -eu
arch=$1 suite=$2
dir=$(mkdir -p "$3" && cd "$3" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
case $arch in
arm64) qemu="qemu-system-aarch64 -M virt -cpu max" console=ttyAMA0 ;;
amd64) qemu="qemu-system-x86_64 -cpu max" console=ttyS0 ;;
*) echo "boot.sh: architecture $arch: it is arm64 or amd64" >&2; exit 2 ;;
esac

# install puts the packages into $dir/root, and the kernel's into $dir/kernel.
install() {
	uri=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep '/debian/*$' | head -n 1)
	[ -n "$uri" ] || { echo "boot.sh: apt-get names no mirror of Debian" >&2; exit 1; }
	apt=$dir/apt
	rm -rf "$apt" "$dir/root" "$dir/kernel"
	mkdir -p "$apt/state/lists/partial" "$apt/cache/archives/partial" "$apt/debs"
	: >"$apt/state/status"
	echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $uri $suite main" >"$apt/sources.list"
	options="-q -o APT::Architecture=$arch -o APT::Architectures::=$arch -o Dir::State=$apt/state -o Dir::State::status=$apt/state/status
		-o Dir::Cache=$apt/cache -o Dir::Etc::sourcelist=$apt/sources.list -o Dir::Etc::sourceparts=- -o APT::Sandbox::User=root"
	apt-get $options update
	kernel=$(apt-cache $options depends "linux-image-cloud-$arch" | awk '$1 == "Depends:" { print $2; exit }')
	programs="bash coreutils dash grep util-linux mount iproute2 python3-minimal"
	needed=$(apt-cache $options depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks --no-replaces --no-enhances $programs | grep '^[a-z]')
	(cd "$apt/debs" && apt-get $options download $needed busybox-static)
	mkdir -p "$apt/kernel" "$dir/kernel"
	(cd "$apt/kernel" && apt-get $options download "$kernel")
	dpkg-deb -x "$apt"/kernel/*.deb "$dir/kernel"
	mkdir -p "$dir/root/usr/bin" "$dir/root/usr/sbin" "$dir/root/usr/lib"
	for name in bin sbin lib; do ln -s usr/$name "$dir/root/$name"; done
	[ "$arch" = arm64 ] || { mkdir "$dir/root/usr/lib64" && ln -s usr/lib64 "$dir/root/lib64"; }
	for deb in "$apt"/debs/*.deb; do
		dpkg-deb --fsys-tarfile "$deb" | tar -C "$dir/root" -x --keep-directory-symlink
	done
	rm -rf "$apt" "$dir/root/usr/share/doc" "$dir/root/usr/share/locale" "$dir/root/usr/share/man"
	touch "$dir/installed"
}
[ -e "$dir/installed" ] || install

# The first file system has what the disk needs and the machines of the tests have.
first=$dir/first
rm -rf "$first"
mkdir -p "$first/modules" "$first/proc" "$first/dev" "$first/new"
cp "$dir/root/bin/busybox" "$first/busybox"
cp "$here/first" "$first/init"
for name in virtio virtio_ring virtio_pci_legacy_dev virtio_pci_modern_dev virtio_pci virtio_blk \
	crc16 mbcache jbd2 crc32c_generic libcrc32c ext4 dummy vsock vmw_vsock_virtio_transport_common vsock_loopback; do
	find "$dir/kernel" -name "$name.ko*" -exec cp {} "$first/modules" \;
done
(cd "$first" && find . | cpio --quiet -o -H newc) >"$dir/first.cpio"

mkdir -p "$dir/root/tests"
cp "$here/second" "$dir/root/tests/second"
(cd "$here/../../.." && for pkg in internal/sandbox/kernel internal/sandbox/kernel/inside; do
	CGO_ENABLED=0 GOARCH=$arch go test -tags sandbox -c -o "$dir/root/tests/$(basename $pkg).test" ./$pkg
done)
rm -f "$dir/disk"
truncate -s 1G "$dir/disk"
mke2fs -q -t ext4 -d "$dir/root" "$dir/disk"

timeout 1h $qemu -accel tcg,thread=multi -smp 2 -m 2048 -nographic -no-reboot -nic none \
	-kernel "$dir"/kernel/boot/vmlinuz-* -initrd "$dir/first.cpio" -append "console=$console quiet panic=-1 rdinit=/init" \
	-drive "file=$dir/disk,format=raw,if=none,id=disk" -device virtio-blk-pci,drive=disk </dev/null | sed -u 's/\r$//' | tee "$dir/output"
grep -qx 'all passed' "$dir/output"
