# SPDX-License-Identifier: GPL-2.0-only
# A guest that never comes to an end.
echo "KTAP version 1"
echo "1..2"
echo "ok 1 before_the_hang"
exec sleep 1000000
