# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# What a guest needs and Debian has not compiled for it, from Debian's sources:
# the result is in $CACHE/packages/PACKAGE-$ARCH/source.

# Each in its own folder.
make_busybox() {
	cp debian/config/pkg/static .config
	make -s -j"$(nproc)" CROSS_COMPILE="$CROSS_COMPILE" \
		CC="ccache ${CROSS_COMPILE}gcc" HOSTCC="ccache gcc" \
		oldconfig busybox
}

make_zlib() {
	CHOST=${CROSS_COMPILE%-} CC="ccache ${CROSS_COMPILE}gcc" \
		./configure --static
	make -s -j"$(nproc)" libz.a
}

# Only libelf, for which zlib has to be there.
make_elfutils() {
	local zlib=$CACHE/packages/zlib-$ARCH/source

	./configure -q --host="${CROSS_COMPILE%-}" --disable-debuginfod \
		--disable-libdebuginfod --disable-nls \
		CC="ccache ${CROSS_COMPILE}gcc" CPPFLAGS="-I$zlib" \
		LDFLAGS="-L$zlib"
	make -s -j"$(nproc)" -C lib
	make -s -j"$(nproc)" -C libelf ./libelf.a
}

# The private apt, which knows the sources of what the machine's knows, too.
source_apt() {
	local parts=$CACHE/apt/sources.list.d list

	mkdir -p "$parts"
	for list in /etc/apt/sources.list{,.d/*.list,.d/*.sources}; do
		[[ ! -f $list ]] ||
			sed 's/^Types:.*/Types: deb-src/; s/^deb /deb-src /' \
				"$list" >"$parts/${list##*/}"
	done
	private_apt -o Dir::Etc::sourcelist=/dev/null \
		-o Dir::Etc::sourceparts="$parts" -o APT::Get::List-Cleanup=0 "$@"
}

# make_missing PACKAGE...
make_missing() {
	local p missing=()

	for p in "$@"; do
		[[ -d $CACHE/packages/$p-$ARCH ]] || missing+=("$p")
	done
	((${#missing[@]})) || return 0
	STEPS=$((STEPS + 1))
	step "building from source packages" make_packages "${missing[@]}"
}

make_packages() {
	local p new

	for p in "$@"; do
		new=$CACHE/packages/$p-$ARCH.new
		rm -rf "$new"
		mkdir -p "$new"
		cd "$new"
		# As for the others, see unpack_packages()
		source_apt source "$p" ||
			{ source_apt update || true; source_apt source "$p"; } ||
			die "cannot download the source of $p"
		mv "$p"-*/ source
		cd source
		"make_$p"
		mv "$new" "$CACHE/packages/$p-$ARCH"
	done
}
