# SPDX-License-Identifier: GPL-2.0-only
# A guest whose test fails.
echo "KTAP version 1"
echo "1..1"
echo "not ok 1 on_purpose"
exit 1
