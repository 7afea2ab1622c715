# SPDX-License-Identifier: GPL-2.0-only
# A guest whose kernel goes down in the middle of a test that has passed so far.
echo "KTAP version 1"
echo "1..2"
echo "ok 1 before_the_crash"
stty raw <&1 # waits for the line to drain
echo c >/proc/sysrq-trigger
