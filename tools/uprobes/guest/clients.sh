# SPDX-License-Identifier: GPL-2.0-only
# Runs the scripts in /uprobes/clients that "only" names, in Debian on the first
# disk. Of what they print, the lines that are results get the script's name, the
# others become comments.
# shellcheck disable=SC2154

root=/mnt
export PATH=/usr/sbin:/usr/bin:/sbin:/bin

set -e
mkdir -p "$root"
mount -t ext4 /dev/vda "$root"
for dir in dev proc sys; do
	mount -o rbind "/$dir" "$root/$dir"
done
ln -s /proc/self/fd /dev/fd
mount -t tracefs none "$root/sys/kernel/tracing"
mount -t bpf none "$root/sys/fs/bpf"
mount -t cgroup2 none "$root/sys/fs/cgroup"
mount -t tmpfs none "$root/tmp"
cp -a /uprobes/clients "$root/clients"
set +e

rc=0
IFS=,
for script in $only; do
	echo "uprobes-test: $script" >/dev/kmsg
	{
		timeout -s KILL "$limit" chroot "$root" \
			bash "/clients/$script.sh" </dev/null 2>&1
		echo $? >/tmp/end
	} | awk -v name="$script." '
		!sub(/^((not )?ok [0-9]+|figure) /, "&" name) { $0 = "# " $0 }
		{ print; fflush() }'
	read -r end </tmp/end
	if [ "$end" != 0 ]; then
		echo "# $script.sh ended with $end"
		rc=1
	fi
done
exit $rc
