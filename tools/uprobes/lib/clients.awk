# SPDX-License-Identifier: GPL-2.0-only
# Prints the results of the tests on two kernels, the packaged one's file first,
# side by side, and how many are the same, better, and worse on ours. Fails when
# there is a worse one, or none that passes.
#
# A test that one of them does not have has failed there: it did not get so far. A
# figure is a cost, and has to differ by more than a twentieth: each build of a
# kernel has other addresses.

BEGIN {
	word[0] = "fails"
	word[1] = "skipped"
	word[2] = "passes"
	format = "%-44s %-12s %-12s %s\n"
	printf format, "test", "packaged", "ours", ""
}

FNR == 1 { kernel++ }

function see(name) {
	if (!(name in seen)) {
		seen[name] = 1
		names[++n] = name
	}
}

# The worst counts.
/^(not )?ok [0-9]+ [^ ]/ {
	name = $1 == "ok" ? $3 : $4
	rank = $1 == "not" ? 0 : / # SKIP/ ? 1 : 2
	see(name)
	if (!((kernel, name) in result) || rank < result[kernel, name])
		result[kernel, name] = rank
}

/^figure [^ ]+ [0-9]+ / {
	see($2)
	unit[$2] = $4
	figure[kernel, $2] = $3
}

END {
	for (i = 1; i <= n; i++) {
		name = names[i]
		if (name in unit) {
			a = figure[1, name]
			b = figure[2, name]
			better = b != "" && (a == "" || b < a * 0.95)
			worse = b == "" || (a != "" && b > a * 1.05)
			a = a == "" ? word[0] : a " " unit[name]
			b = b == "" ? word[0] : b " " unit[name]
		} else {
			a = result[1, name] + 0
			b = result[2, name] + 0
			better = b > a
			worse = b < a
			passes += b == 2
			a = word[a]
			b = word[b]
		}
		verdict = better ? "better" : worse ? "worse" : "same"
		count[verdict]++
		printf format, name, a, b, verdict
	}
	printf "clients: %d same, %d better, %d worse\n",
	       count["same"], count["better"], count["worse"]
	exit count["worse"] || !passes
}
