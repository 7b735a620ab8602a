/* Lets what is written to files under a folder fail, as long as a control file says so. For LD_PRELOAD.
 *
 * PENSTOCK_FAILING_CONTROL: the control file, four integers: calls that still succeed, errno of those that
 * fail (0: none does), how many fail (0: all that follow), and how many have failed.
 * PENSTOCK_FAILING_UNDER: the folder, with its slash. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct control { _Atomic int left; _Atomic int code; _Atomic int count; _Atomic int failed; };
static struct control *control;
static const char *under;

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("PENSTOCK_FAILING_CONTROL");
    under = getenv("PENSTOCK_FAILING_UNDER");
    int file = path && under ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (file < 0) return;
    void *found = mmap(0, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    control = found == MAP_FAILED ? 0 : found;
    close(file);
}

static int fails(int file) {
    if (!control || control->code == 0) return 0;
    char link[64], name[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t size = readlink(link, name, sizeof name - 1);
    if (size < 0) return 0;
    name[size] = 0;
    if (strncmp(name, under, strlen(under))) return 0;
    int left = atomic_fetch_sub(&control->left, 1);
    if (left > 0 || (control->count && left <= -control->count)) return 0;
    atomic_fetch_add(&control->failed, 1);
    errno = control->code;
    return 1;
}

#define WRAP(name, type, args, call) \
    type name args { \
        static type (*real) args; \
        if (!real) *(void **)&real = dlsym(RTLD_NEXT, #name); \
        return fails(file) ? -1 : real call; \
    }
WRAP(write, ssize_t, (int file, const void *from, size_t size), (file, from, size))
WRAP(pwrite, ssize_t, (int file, const void *from, size_t size, off_t at), (file, from, size, at))
WRAP(pwrite64, ssize_t, (int file, const void *from, size_t size, off64_t at), (file, from, size, at))
WRAP(ftruncate, int, (int file, off_t size), (file, size))
WRAP(ftruncate64, int, (int file, off64_t size), (file, size))
WRAP(fallocate, int, (int file, int mode, off_t at, off_t size), (file, mode, at, size))
WRAP(fallocate64, int, (int file, int mode, off64_t at, off64_t size), (file, mode, at, size))
