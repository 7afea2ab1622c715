/* SPDX-License-Identifier: GPL-2.0-only */
/* The program's memory, as the test wants it to be: see test.h */
#ifndef _HOST_LINUX_UACCESS_H
#define _HOST_LINUX_UACCESS_H

#include <stdbool.h>
#include <linux/errno.h>

bool user_read(const unsigned long *user, unsigned long *value);
bool user_write(unsigned long *user, unsigned long value);

#define get_user(x, ptr)	(user_read((ptr), &(x)) ? 0 : -EFAULT)
#define put_user(x, ptr)	(user_write((ptr), (x)) ? 0 : -EFAULT)

#endif /* _HOST_LINUX_UACCESS_H */
