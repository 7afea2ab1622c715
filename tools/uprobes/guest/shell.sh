# SPDX-License-Identifier: GPL-2.0-only
# An interactive guest.
cat <<TXT

Modules are in /uprobes/modules, programs in /uprobes/bin. For instance:
  mkfifo in; demo <in & exec 3>in
  insmod /uprobes/modules/uprobe_example.ko \\
    pid=\$! vaddr=\$(vaddr \$! demo_program)
  echo program >&3
  cat /sys/kernel/debug/uprobes/list
Leave with "exit" (or Ctrl-A X).

TXT
exec sh
