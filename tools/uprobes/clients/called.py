# SPDX-License-Identifier: GPL-2.0-only
"""Calls a function a hundred times."""


def called():
    """Do nothing."""


for _ in range(100):
    called()
