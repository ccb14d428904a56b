/* A library to preload: after `arm`, one call of a chosen function of the C library kills the process, or fails. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static char armed[32], mode; /* mode: before, after (SIGKILL then) or error (nothing is done, and EIO) */
static int left;

void arm(const char* name, const char* how, int n) {
  strncpy(armed, name, sizeof armed - 1);
  mode = how[0];
  left = n;
}

static int due(const char* name) { return strcmp(armed, name) == 0 && __sync_sub_and_fetch(&left, 1) == 0; }

#define FAULTY(type, name, parameters, arguments)            \
  type name parameters {                                     \
    static type(*real) parameters;                           \
    if (!real) real = (type(*) parameters)dlsym(RTLD_NEXT, #name); \
    int is_due = due(#name);                                 \
    if (is_due && mode == 'b') kill(getpid(), SIGKILL);      \
    if (is_due && mode == 'e') {                             \
      errno = EIO;                                           \
      return -1;                                             \
    }                                                        \
    type result = real arguments;                            \
    if (is_due && mode == 'a') kill(getpid(), SIGKILL);      \
    return result;                                           \
  }

FAULTY(ssize_t, write, (int file, const void* data, size_t size), (file, data, size))
FAULTY(ssize_t, pwrite64, (int file, const void* data, size_t size, off64_t at), (file, data, size, at))
FAULTY(int, fdatasync, (int file), (file))
FAULTY(int, fsync, (int file), (file))
FAULTY(int, ftruncate64, (int file, off64_t size), (file, size))
FAULTY(int, rename, (const char* from, const char* to), (from, to))
FAULTY(int, unlink, (const char* path), (path))
