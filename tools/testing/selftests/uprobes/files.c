// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>

#include "files.h"

static void request(int dev, unsigned long op, void *req)
{
	if (ioctl(dev, op, req)) {
		perror("# the test module refused a call");
		abort();
	}
}

int probe_file_as(int dev, struct upi_probe *req)
{
	request(dev, UPI_REGISTER, req);
	return req->result ? req->result : req->id;
}

int probe_file(int dev, int file, __u64 offset)
{
	struct upi_probe req = {
		.fd = file,
		.handlers = UPI_ENTRY,
		.offset = offset,
	};

	return probe_file_as(dev, &req);
}

int probe_file_ret(int dev, int file, __u64 offset)
{
	struct upi_probe req = {
		.fd = file,
		.handlers = UPI_RETURN,
		.offset = offset,
	};

	return probe_file_as(dev, &req);
}

int probe_file_again(int dev, int id)
{
	struct upi_op req = { .id = id };

	request(dev, UPI_AGAIN, &req);
	return req.result;
}

void unprobe_files(int dev, int id, int n)
{
	struct upi_op req = { .id = id, .n = n };

	request(dev, UPI_UNREGISTER, &req);
}

void set_filter(int dev, int id, enum upi_filter filter, pid_t pid)
{
	struct upi_change req = {
		.id = id,
		.whom = { filter, pid },
	};

	request(dev, UPI_CHANGE, &req);
}

int apply_filter(int dev, int id, enum upi_filter filter, pid_t pid, bool add)
{
	struct upi_change req = {
		.id = id,
		.whom = { filter, pid },
		.apply = true,
		.add = add,
	};

	request(dev, UPI_CHANGE, &req);
	return req.result;
}

struct upi_state upi_read(int dev, int id)
{
	struct upi_state req = { .id = id };

	request(dev, UPI_READ, &req);
	return req;
}

long file_hits(int dev, int id)
{
	return upi_read(dev, id).hits;
}

long file_returns(int dev, int id)
{
	return upi_read(dev, id).returns;
}

__u64 file_offset(const void *addr)
{
	uintptr_t at = (uintptr_t)entry_of(addr);
	FILE *f = fopen("/proc/self/maps", "re");
	unsigned long start, end, offset;
	char line[512];

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%lx %*s %lx", &start, &end,
			   &offset) == 3 && at >= start && at < end) {
			fclose(f);
			return at - start + offset;
		}
	}
	abort();
}

int own_file(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		abort();
	return fd;
}
