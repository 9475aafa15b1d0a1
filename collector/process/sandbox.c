#include "process/sandbox.h"

#include "base/log.h"

// A sanitizer looks into its own process, and a coverage build writes files, so neither can run in
// the sandbox.
#if !defined(__linux__) || defined(MAILPROOF_INSTRUMENTED)

bool sandbox_enter(bool keeps_files, struct err *e)
{
    (void)keeps_files;
    (void)e;
    log_line("MAIN", "this build has no sandbox");
    return true;
}

#else

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <seccomp.h>

// A system call, always or depending on one argument (0: the first). Several rows with the same
// call cover what any of them covers.
struct rule {
    int call;
    enum { ALWAYS, IF_IS, IF_NONE_OF, IF_ALL_OF } when;
    unsigned arg;
    scmp_datum_t value; // what the argument must be, or the bits of which it must have none or all
};

#define CALL(name)                                                                                 \
    {                                                                                              \
        SCMP_SYS(name), ALWAYS, 0, 0                                                               \
    }
#define CALL_IF(name, ...)                                                                         \
    {                                                                                              \
        SCMP_SYS(name), __VA_ARGS__                                                                \
    }
#define IS(arg, value) IF_IS, (arg), (scmp_datum_t)(value)
#define HAS_NONE_OF(arg, bits) IF_NONE_OF, (arg), (scmp_datum_t)(bits)
#define HAS_ALL_OF(arg, bits) IF_ALL_OF, (arg), (scmp_datum_t)(bits)

#define WRITING (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC)

static const struct rule allowed[] = {
    // Reading and writing what is open already.
    CALL(read), CALL(readv), CALL(pread64), CALL(write), CALL(writev), CALL(close), CALL(lseek),
    CALL(_llseek), CALL(fcntl), CALL(fcntl64), CALL(dup), CALL(dup2), CALL(dup3), CALL(pipe),
    CALL(pipe2), CALL(fstat), CALL(fstat64), CALL(fstatfs), CALL(fstatfs64),
    CALL_IF(ioctl, IS(1, FIONREAD)), CALL_IF(ioctl, IS(1, FIONBIO)), CALL_IF(ioctl, IS(1, TCGETS)),
    // Files that libraries read: certificates, hosts, the password file, NSS modules.
    CALL_IF(open, HAS_NONE_OF(1, WRITING)), CALL_IF(openat, HAS_NONE_OF(2, WRITING)), CALL(stat),
    CALL(stat64), CALL(lstat), CALL(lstat64), CALL(newfstatat), CALL(fstatat64), CALL(statx),
    CALL(statfs), CALL(statfs64), CALL(access), CALL(faccessat), CALL(faccessat2), CALL(readlink),
    CALL(readlinkat), CALL(getdents), CALL(getdents64), CALL(getcwd),
    // The network. getaddrinfo asks by netlink which addresses the machine has.
    CALL_IF(socket, IS(0, AF_UNIX)), CALL_IF(socket, IS(0, AF_INET)),
    CALL_IF(socket, IS(0, AF_INET6)), CALL_IF(socket, IS(0, AF_NETLINK)), CALL(connect), CALL(bind),
    CALL(accept), CALL(accept4), CALL(shutdown), CALL_IF(socketpair, IS(0, AF_UNIX)),
    CALL(eventfd2), CALL(send), CALL(sendto), CALL(sendmsg), CALL(sendmmsg), CALL(recv),
    CALL(recvfrom), CALL(recvmsg), CALL(recvmmsg), CALL(recvmmsg_time64), CALL(getsockname),
    CALL(getpeername), CALL(getsockopt), CALL(setsockopt),
    // Waiting and clocks.
    CALL(poll), CALL(ppoll), CALL(ppoll_time64), CALL(select), CALL(_newselect), CALL(pselect6),
    CALL(pselect6_time64), CALL(nanosleep), CALL(clock_nanosleep), CALL(clock_nanosleep_time64),
    CALL(clock_gettime), CALL(clock_gettime64), CALL(clock_getres), CALL(clock_getres_time64),
    CALL(gettimeofday), CALL(time), CALL(futex), CALL(futex_time64), CALL(restart_syscall),
    CALL(sched_yield), CALL_IF(clone, HAS_ALL_OF(0, CLONE_THREAD)), // a library may start a thread
    // Memory, but none that can be written and executed. A module's code comes from its file.
    CALL(brk), CALL(munmap), CALL(mremap), CALL(madvise), CALL_IF(mmap, HAS_NONE_OF(2, PROT_EXEC)),
    CALL_IF(mmap, HAS_NONE_OF(2, PROT_WRITE)), CALL_IF(mmap2, HAS_NONE_OF(2, PROT_EXEC)),
    CALL_IF(mmap2, HAS_NONE_OF(2, PROT_WRITE)), CALL_IF(mprotect, HAS_NONE_OF(2, PROT_EXEC)),
    // Signals, and the end.
    CALL(rt_sigaction), CALL(sigaction), CALL(rt_sigprocmask), CALL(sigprocmask),
    CALL(rt_sigreturn), CALL(sigreturn), CALL(sigaltstack), CALL(exit), CALL(exit_group),
    CALL_IF(kill, IS(1, 0)), // asks whether the holder of a queue lives
    // These tell who and where we are. With 0 as argument 2, prlimit64 only reads a limit.
    CALL(getpid), CALL(getppid), CALL(gettid), CALL(getpgrp), CALL(getpgid), CALL(getuid),
    CALL(getuid32), CALL(geteuid), CALL(geteuid32), CALL(getgid), CALL(getgid32), CALL(getegid),
    CALL(getegid32), CALL(getresuid), CALL(getresuid32), CALL(getresgid), CALL(getresgid32),
    CALL(uname), CALL(sysinfo), CALL(getrandom), CALL(getrlimit), CALL(ugetrlimit),
    CALL_IF(prlimit64, IS(2, 0)), CALL(getrusage), CALL(sched_getaffinity), CALL(getcpu),
    CALL(set_robust_list), CALL(get_robust_list), CALL(rseq), CALL(membarrier)};

// Allowed in addition where files have to be replaced or removed.
static const struct rule keeping_files[] = {CALL(open), CALL(openat), CALL(rename), CALL(renameat),
    CALL(renameat2), CALL(unlink), CALL(unlinkat)};

// No library makes these calls on our behalf, so they kill the process. A filter cannot see what is
// asked of clone3; so that call is not in any table, and the libc falls back to clone.
static const struct rule deadly[] = {CALL(execve), CALL(execveat), CALL(fork), CALL(vfork),
    CALL_IF(clone, HAS_NONE_OF(0, CLONE_THREAD)), CALL(ptrace), CALL(process_vm_readv),
    CALL(process_vm_writev), CALL(mount), CALL(unshare), CALL(setns), CALL(bpf), CALL(init_module),
    CALL(finit_module)};

// Adds rules with the same action. Returns 0, or a negative errno.
static int add_rules(
    scmp_filter_ctx filter, uint32_t action, const struct rule *rules, size_t count)
{
    int error = 0;

    for (const struct rule *r = rules; r < rules + count && error == 0; r++) {
        // MASKED_EQ means that (argument & datum_a) == datum_b. Unless it is set below, datum_b is
        // 0: the argument must have none of the bits of datum_a.
        struct scmp_arg_cmp when = {.arg = r->arg, .op = SCMP_CMP_MASKED_EQ, .datum_a = r->value};
        if (r->when == IF_IS)
            when.op = SCMP_CMP_EQ;
        else if (r->when == IF_ALL_OF)
            when.datum_b = r->value;
        error = seccomp_rule_add_array(filter, action, r->call, r->when != ALWAYS, &when);
    }
    return error;
}

// Puts all rules into the filter. Returns 0, or a negative errno.
static int add_all_rules(scmp_filter_ctx filter, bool keeps_files)
{
    // abort() and assert() send a signal to their own thread, and nobody else gets one.
    const struct rule own = CALL_IF(tgkill, IS(0, getpid()));
    int error = add_rules(filter, SCMP_ACT_ALLOW, allowed, sizeof allowed / sizeof allowed[0]);

    if (error == 0)
        error = add_rules(filter, SCMP_ACT_ALLOW, &own, 1);
    if (error == 0 && keeps_files)
        error = add_rules(
            filter, SCMP_ACT_ALLOW, keeping_files, sizeof keeping_files / sizeof keeping_files[0]);
    if (error == 0)
        error = add_rules(filter, SCMP_ACT_KILL_PROCESS, deadly, sizeof deadly / sizeof deadly[0]);
    // A binary tree, so that each call costs a few comparisons only.
    if (error == 0)
        error = seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
    // Does not switch on the mitigation of speculative store bypass, which makes all loads slower,
    // and which only processes that run foreign code need. Kernels from 5.16 on leave it off
    // anyway.
    if (error == 0)
        error = seccomp_attr_set(filter, SCMP_FLTATR_CTL_SSB, 1);
    // A program may also call by the numbers of another architecture, such as 32-bit ones, which
    // the tables do not cover. Such a call kills the process.
    if (error == 0)
        error = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
    return error;
}

bool sandbox_enter(bool keeps_files, struct err *e)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(ENOSYS));

    if (!filter)
        return err_memory(e);
    int error = add_all_rules(filter, keeps_files);
    if (error == 0)
        error = seccomp_load(filter); // which also sets no_new_privs
    seccomp_release(filter);
    if (error == 0)
        return true;
    errno = -error;
    return err_sys(
        e, ERR_USAGE, "the kernel refuses the sandbox; MAILROOM_SANDBOX=off does without");
}

#endif
