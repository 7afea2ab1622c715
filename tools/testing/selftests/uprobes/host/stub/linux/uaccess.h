/* SPDX-License-Identifier: GPL-2.0-only */
/* The program's memory, as the test wants it to be: see test.h */
#ifndef _HOST_LINUX_UACCESS_H
#define _HOST_LINUX_UACCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/errno.h>

bool user_read(const void *user, void *value, size_t size);
bool user_write(void *user, const void *value, size_t size);

#define get_user(x, ptr)						\
({									\
	__auto_type __from = (ptr);					\
									\
	user_read(__from, &(x), sizeof(*__from)) ? 0 : -EFAULT;		\
})

#define put_user(x, ptr)						\
({									\
	__auto_type __to = (ptr);					\
	__typeof__(*__to) __value = (x);				\
									\
	user_write(__to, &__value, sizeof(__value)) ? 0 : -EFAULT;	\
})

#endif /* _HOST_LINUX_UACCESS_H */
