#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The kernel's own tests of dynamic events, of which uprobes are one kind.

# shellcheck source=tools/uprobes/clients/results.sh
source /clients/results.sh

cd /clients/ftrace || exit
# It crashes the packaged kernel, in trace_fprobe_release().
rm test.d/dynevent/add_remove_tprobe_module.tc
for test in test.d/dynevent/*.tc test.d/kprobe/uprobe_syntax_errors.tc; do
	name=${test#test.d/}
	report=$(./ftracetest -K -l /tmp/ftrace "$test")
	echo "  ${report//$'\n'/$'\n'  }"
	case $report in
	*"not ok "*) result 1 "${name%.tc}" ;;
	*"ok "*"# SKIP"*) skip "${name%.tc}" ;;
	*"ok "*) result 0 "${name%.tc}" ;;
	*) exit 1 ;;
	esac
done
