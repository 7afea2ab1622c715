#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Calls chdir() a hundred times.
for ((i = 0; i < 100; i++)); do
	cd /
done
