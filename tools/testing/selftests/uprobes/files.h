/* SPDX-License-Identifier: GPL-2.0-only */
/* Requests to the module that probes files, and what is said of such probes. */
#ifndef _FILES_H
#define _FILES_H

#include "util.h"
#include "test_modules/uprobes_test_inode.h"

#define UPI_MODULE	"uprobes_test_inode"

/*
 * A consumer of the file's offset: an id, or the errno of the API. It counts at
 * entry, at return, or does whatever req says.
 */
int probe_file(int dev, int file, __u64 offset);
int probe_file_ret(int dev, int file, __u64 offset);
int probe_file_as(int dev, struct upi_probe *req);
int probe_file_again(int dev, int id);
void unprobe_files(int dev, int id, int n);
static inline void unprobe_file(int dev, int id)
{
	unprobe_files(dev, id, 1);
}

/* What its filter says from now on, and uprobe_apply(). */
void set_filter(int dev, int id, enum upi_filter filter, pid_t pid);
int apply_filter(int dev, int id, enum upi_filter filter, pid_t pid, bool add);

struct upi_state upi_read(int dev, int id);
long file_hits(int dev, int id);
long file_returns(int dev, int id);

/*
 * Where in its file something of this program is, and a descriptor of that file.
 * The file is that of the mapping.
 */
__u64 file_offset(const void *addr);
int own_file(void);

#endif /* _FILES_H */
