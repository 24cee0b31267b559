// shim.c is preloaded into the shells of the box. It makes every command that
// they look for in PATH be found, and it takes the place of running it: the
// argv is appended to /log, one write a command, and the process ends.
//
// Record: the number of strings in decimal, the path given to execve and the
// argv, each ended by a NUL byte.
//
// A command ends with 0 or 1, by its name, so that both sides of && and || are
// reached; one whose name ends in 4 prints words. The names of the shells run
// the shells.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const dirs[] = {"/none/", "/bin/", "/usr/bin/", "/sbin/", "/usr/sbin/", "/usr/local/bin/", 0};

// named returns the name of a command that is looked for in PATH, or 0.
static const char *named(const char *path) {
	for (int i = 0; path && dirs[i]; i++) {
		size_t n = strlen(dirs[i]);
		if (strncmp(path, dirs[i], n) == 0 && path[n] && !strchr(path + n, '/'))
			return strcmp(path + n, ".") && strcmp(path + n, "..") ? path + n : 0;
	}
	return 0;
}

static int found(const char *path, struct stat *st) {
	if (errno != ENOENT || !named(path))
		return -1;
	memset(st, 0, sizeof *st);
	st->st_mode = S_IFREG | 0755;
	st->st_nlink = 1;
	errno = 0;
	return 0;
}

#define REAL(name, ...) ((int (*)(__VA_ARGS__))dlsym(RTLD_NEXT, name))

#define STAT(fn, type) \
	int fn(const char *path, struct type *st) { \
		int r = REAL(#fn, const char *, struct type *)(path, st); \
		return r == 0 ? 0 : found(path, (struct stat *)st); \
	}

// On 64-bit machines struct stat64 is struct stat.
STAT(stat, stat)
STAT(lstat, stat)
STAT(stat64, stat64)
STAT(lstat64, stat64)

int access(const char *path, int mode) {
	int r = REAL("access", const char *, int)(path, mode);
	return r == 0 || errno != ENOENT || !named(path) ? r : 0;
}

int eaccess(const char *path, int mode) {
	int r = REAL("eaccess", const char *, int)(path, mode);
	return r == 0 || errno != ENOENT || !named(path) ? r : 0;
}

int faccessat(int dir, const char *path, int mode, int flags) {
	int r = REAL("faccessat", int, const char *, int, int)(dir, path, mode, flags);
	return r == 0 || errno != ENOENT || !named(path) ? r : 0;
}

static char record[1 << 20];

static size_t put(size_t at, const char *s) {
	size_t n = strlen(s) + 1;
	if (at + n > sizeof record)
		return sizeof record + 1;
	memcpy(record + at, s, n);
	return at + n;
}

static void note(const char *path, char *const argv[]) {
	int n = 1;
	for (int i = 0; argv && argv[i]; i++)
		n++;
	size_t at = (size_t)snprintf(record, sizeof record, "%d", n) + 1;
	at = put(at, path);
	for (int i = 0; at <= sizeof record && argv && argv[i]; i++)
		at = put(at, argv[i]);
	int fd = open("/log", O_WRONLY | O_APPEND | O_CLOEXEC);
	if (at <= sizeof record && fd >= 0 && write(fd, record, at) != (ssize_t)at)
		_exit(126);
	close(fd);
}

static int is_shell(const char *name) {
	return !strcmp(name, "bash") || !strcmp(name, "dash") || !strcmp(name, "sh") || !strcmp(name, "zsh");
}

int execve(const char *path, char *const argv[], char *const envp[]) {
	note(path, argv);
	const char *name = strrchr(path, '/');
	name = name ? name + 1 : path;
	char real[32] = "/bin/";
	if (is_shell(name))
		return REAL("execve", const char *, char *const *, char *const *)(strcat(real, name), argv, envp);
	unsigned sum = 0;
	for (const char *p = name; *p; p++)
		sum += (unsigned char)*p;
	if (*name && name[strlen(name) - 1] == '4') {
		static const char words[] = "c14 o1 *\n";
		if (write(1, words, sizeof words - 1) < 0)
			_exit(1);
	}
	_exit(sum & 1);
}
