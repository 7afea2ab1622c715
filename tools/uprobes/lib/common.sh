# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Messages, steps, stamps, packages.

CACHE=${UPROBES_CACHE:-${XDG_CACHE_HOME:-~/.cache}/uprobes}
SOURCE_PACKAGE=linux-source-6.12
PACKAGES=(bc binutils bison busybox-static ccache cpio flex g++ gcc libc6-dev
	libelf-dev "$SOURCE_PACKAGE" make patch perl python3 xz-utils)
CHECK_PACKAGES=(clang codespell python3-sphinx python3-yaml rstcheck shellcheck
	sparse)

STEP=0
STEPS=0
JOB=

die() {
	printf 'run: %s\n' "$*" >&2
	exit 1
}

elapsed() {
	local s=$((SECONDS - $1))

	if ((s < 60)); then
		printf '%ds' "$s"
	else
		printf '%dm%02ds' $((s / 60)) $((s % 60))
	fi
}

# The job has a process group of its own: this ends all of it.
end_job() {
	[[ -z $JOB ]] || kill -- "-$JOB" 2>/dev/null || true
}
trap end_job EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# Every run logs in a folder of its own; the last ten are kept.
open_logs() {
	local old

	# Kernel makefiles cannot cope with more.
	[[ $CACHE =~ ^/[A-Za-z0-9/._+-]+$ ]] ||
		die "the cache \"$CACHE\" has to be an absolute path without spaces"
	mkdir -p "$CACHE/logs" 2>/dev/null || die "cannot write to $CACHE"
	LOGS=$(mktemp -d "$CACHE/logs/$(date +%Y%m%d-%H%M%S)-$1-XXX")
	# Those of today may belong to a run that has not ended.
	for old in $(find "$CACHE/logs" -mindepth 1 -maxdepth 1 -mtime +0 |
			sort | head -n -10); do
		rm -rf "$old"
	done
}

# Two runs take turns in building; the lock ends with the process.
lock_builds() {
	exec 9>"$CACHE/lock"
	if ! flock -n 9; then
		echo "run: another run is building, waiting for it"
		flock 9
	fi
}

unlock_builds() {
	exec 9>&-
}

step_label() {
	STEP=$((STEP + 1))
	LABEL="[$STEP/$STEPS] $1"
}

# step TITLE COMMAND...: the command's output goes to a log. Never call it in
# a condition: "set -e" would be off in the command.
step() {
	local title=$1 start=$SECONDS next=60 log rc=0

	shift
	step_label "$title"
	log=$LOGS/$(printf '%02d' "$STEP")-${title//[^a-z]/-}.log
	set -m
	("$@") </dev/null >"$log" 2>&1 &
	JOB=$!
	set +m
	while kill -0 "$JOB" 2>/dev/null; do
		if [[ -t 1 ]]; then
			printf '\r%s ... %s' "$LABEL" "$(elapsed "$start")"
		elif ((SECONDS - start >= next)); then
			printf '%s ... %s so far\n' "$LABEL" "$(elapsed "$start")"
			next=$((next + 60))
		fi
		sleep 0.2
	done
	wait "$JOB" || rc=$?
	JOB=
	[[ ! -t 1 ]] || printf '\r\033[K'
	if ((rc)); then
		printf '%s: FAILED after %s\n' "$LABEL" "$(elapsed "$start")"
		tail -n 20 "$log"
		printf 'log: %s\n' "$log"
		exit 1
	fi
	printf '%s: %s\n' "$LABEL" "$(elapsed "$start")"
}

# step_once NAME KEY TITLE COMMAND...: a step whose result is still valid when
# its last success had the same key.
step_once() {
	local stamp=$CACHE/stamps/$1 key=$2

	shift 2
	if [[ -f $stamp && $(<"$stamp") == "$key" ]]; then
		step_label "$1"
		printf '%s: up to date\n' "$LABEL"
		return
	fi
	rm -f "$stamp"
	step "$@"
	mkdir -p "${stamp%/*}"
	printf '%s\n' "$key" >"$stamp"
}

# One hash over names, modes and contents.
content_hash() {
	{
		find "$@" -type f -printf '%m %p\n' | sort
		find "$@" -type f -print0 | sort -z | xargs -0r sha256sum
	} | sha256sum | cut -d' ' -f1
}

need_packages() {
	local p missing=() install

	for p in "$@"; do
		[[ $(dpkg-query -Wf '${db:Status-Status}' "$p" 2>/dev/null) == installed ]] ||
			missing+=("$p")
	done
	((${#missing[@]})) || return 0
	install="apt-get install -y --no-install-recommends ${missing[*]}"
	if ((EUID)); then
		printf 'run: packages are missing; install them with:\n  sudo %s\n' \
			"$install" >&2
		exit 1
	fi
	STEPS=$((STEPS + 1))
	step "installing packages" install_packages "${missing[@]}"
}

install_packages() {
	export DEBIAN_FRONTEND=noninteractive
	apt-get -qq update
	apt-get -qq -y --no-install-recommends install "$@"
}

# fetch_packages PACKAGE[:ARCHITECTURE]...: unpacks them in the cache, and installs
# only what they depend on: they may conflict with what is installed, as
# gdb-minimal does with gdb. For another architecture, nothing is installed.
fetch_packages() {
	local p

	unpack_missing "$@"
	for p in "$@"; do
		[[ $p != *:* ]] || continue
		# shellcheck disable=SC2046 # one word a package
		need_packages $(sed 's/([^)]*)//g; s/|[^,]*//g; s/,/ /g' \
			"$CACHE/packages/$p/depends")
	done
}

# unpack_missing PACKAGE[:ARCHITECTURE]...
unpack_missing() {
	local p missing=()

	for p in "$@"; do
		[[ -d $CACHE/packages/$p ]] || missing+=("$p")
	done
	((${#missing[@]})) || return 0
	STEPS=$((STEPS + 1))
	step "fetching packages" unpack_packages "${missing[@]}"
}

# Lists of its own: root is not needed, and the machine's apt, which may never
# have heard of the other architectures, is left as it is.
private_apt() {
	local apt=$CACHE/apt

	mkdir -p "$apt"
	: >"$apt/status"
	apt-get -qq -o Dir::State="$apt" -o Dir::State::status="$apt/status" \
		-o Dir::Cache="$apt" -o APT::Sandbox::User=root \
		-o APT::Architecture=amd64 -o APT::Architectures=amd64,arm64,i386,ppc64el \
		-o Acquire::Languages=none "$@"
}

unpack_packages() {
	local p new

	mkdir -p "$CACHE/packages"
	for p in "$@"; do
		new=$CACHE/packages/$p.new
		rm -rf "$new"
		mkdir "$new"
		cd "$new"
		# The lists may be missing, or older than the archive. Some of
		# them may fail: what counts is the package.
		private_apt download "$p" ||
			{ private_apt update || true; private_apt download "$p"; } ||
			die "cannot download $p"
		dpkg-deb -f ./*.deb Depends >depends
		dpkg-deb -x ./*.deb .
		mv "$new" "$CACHE/packages/$p"
	done
}
