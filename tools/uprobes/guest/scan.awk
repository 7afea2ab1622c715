# SPDX-License-Identifier: GPL-2.0-only
# Prints the lines of a kernel log in which the kernel complains, and fails
# when there are any. Tests that provoke a warning on purpose are listed in
# the file "allowed": the name of the program, and a regular expression that a
# line of the complaint matches. It holds between the line "uprobes-test:
# PROGRAM" in the log and the next of its kind; a report from "cut here" to
# "end trace" is allowed or not as a whole.

BEGIN {
	while (allowed != "" && (getline line < allowed) > 0) {
		if (line ~ /^#/ || line !~ / /)
			continue
		n++
		name[n] = substr(line, 1, index(line, " ") - 1)
		regex[n] = substr(line, index(line, " ") + 1)
	}
	bad = "BUG:|WARNING:|Oops|Call Trace|Kernel panic|UBSAN:|KASAN:" \
	      "|INFO: (task|rcu|trying|possible)|detected stalls" \
	      "|self-detected stall|unreferenced object"
}

function is_allowed(line,    i) {
	for (i = 1; i <= n; i++)
		if (name[i] == program && line ~ regex[i])
			return 1
	return 0
}

function report(    i) {
	for (i = 1; i <= held && !pardon; i++)
		if (hold[i] ~ bad) {
			print hold[i]
			found = 1
		}
	held = block = pardon = 0
}

{ sub(/\r$/, "") }

/uprobes-test: / {
	program = $0
	sub(/.*uprobes-test: /, "", program)
}

/-\[ cut here \]-/ { report(); block = 1 }

{
	hold[++held] = $0
	if (is_allowed($0))
		pardon = 1
	if (!block || /---\[ end trace/)
		report()
}

END { report(); exit found }
