//! The state that a process inherits from its parent: signals, timers, the umask, limits. ipcmark sets the state that
//! it relies on; `remarks` reports the rest.

use std::ptr;

use nix::sys::{
    resource::{RLIM_INFINITY, Resource, getrlimit, rlim_t, setrlimit},
    stat::{Mode, umask},
};

/// Signals that users and shells send to a job. If ignored they stay ignored, because `nohup` and a shell's background
/// job intend it. SIGTERM always ends a run.
const OF_JOBS: [libc::c_int; 6] =
    [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU];

/// Signals that stay ignored, because the call that raises them also fails with its own error. The standard library
/// ignores SIGPIPE before `main`.
const AS_ERRORS: [libc::c_int; 2] = [libc::SIGPIPE, libc::SIGXFSZ];

/// The stack that ipcmark and the libraries under it may need: what Linux gives a process by default.
pub const STACK_BYTES: usize = 8 << 20;

/// Descriptors that the largest run needs: 64 followers, several descriptors each.
const DESCRIPTORS: rlim_t = 1024;

/// The kernel's default timer slack, by which sleeps may be late.
const TIMER_SLACK_NS: libc::c_ulong = 50_000;

/// Sets the state that ipcmark relies on, and calls `body` with a stack of at least 8 MiB. It is the first call in
/// `main`, while the process has one thread; processes started from here inherit most of it.
pub fn with_known_state<R>(body: impl FnOnce() -> R) -> R {
    reset_signals();
    stop_timers();
    restrict_umask();
    raise_soft_limit(Resource::RLIMIT_NOFILE, DESCRIPTORS);
    raise_soft_limit(Resource::RLIMIT_STACK, STACK_BYTES as rlim_t);
    // The kernel lets the first thread's stack grow up to the current limit. If the hard limit is too low, a separately
    // allocated stack works, on the same thread, which may fork and unshare.
    match soft_limit(Resource::RLIMIT_STACK) < STACK_BYTES as rlim_t {
        true => {
            size_library_stacks();
            stacker::grow(STACK_BYTES, body)
        }
        false => body(),
    }
}

/// True if the process ignores this signal.
pub fn is_ignored(signal: libc::c_int) -> bool {
    // SAFETY: all zeros is a valid sigaction, which the call fills in; nothing is set.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, ptr::null(), &mut action) == 0
            && action.sa_sigaction == libc::SIG_IGN
    }
}

/// Unblocks all signals, and restores the default action of ignored ones, except for those that must stay ignored. A
/// parent that waits for a child needs SIGCHLD, a transport its own signals.
fn reset_signals() {
    let is_kept = |signal| OF_JOBS.contains(&signal) || AS_ERRORS.contains(&signal);
    for signal in (1..=libc::SIGRTMAX()).filter(|signal| !is_kept(*signal) && is_ignored(*signal)) {
        // SAFETY: the default action, which runs no code of ours.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
    // SAFETY: SIG_IGN runs no code; the set is initialised before it is used.
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut none);
        libc::pthread_sigmask(libc::SIG_SETMASK, &none, ptr::null_mut());
    }
}

/// Stops the timers of CPU time, whose signals kill. An alarm stays: it is a time limit that a user has set, and ends a
/// run like SIGTERM.
fn stop_timers() {
    // SAFETY: all zeros is a valid itimerval and stops a timer; the slack is a number.
    unsafe {
        let stopped: libc::itimerval = std::mem::zeroed();
        for timer in [libc::ITIMER_VIRTUAL, libc::ITIMER_PROF] {
            libc::setitimer(timer, &stopped, ptr::null_mut());
        }
        libc::prctl(libc::PR_SET_TIMERSLACK, TIMER_SLACK_NS);
    }
}

/// Limits the umask so that all files of ipcmark are usable for their owner and none is writable for all. Otherwise the
/// user's umask applies to result files, as for any other program's.
fn restrict_umask() {
    let inherited = umask(Mode::empty());
    umask(inherited & (Mode::S_IRWXG | Mode::S_IRWXO) | Mode::S_IWOTH);
}

/// Raises a soft limit as far as needed and allowed.
fn raise_soft_limit(resource: Resource, needed: rlim_t) {
    if let Ok((soft, hard)) = getrlimit(resource)
        && soft < needed
    {
        let _ = setrlimit(resource, needed.min(hard), hard);
    }
}

fn soft_limit(resource: Resource) -> rlim_t {
    getrlimit(resource).map_or(RLIM_INFINITY, |(soft, _)| soft)
}

/// Gives threads that a library starts a stack of the usual size; glibc would use the limit otherwise.
#[cfg(target_env = "gnu")]
fn size_library_stacks() {
    unsafe extern "C" {
        fn pthread_setattr_default_np(attributes: *const libc::pthread_attr_t) -> libc::c_int;
    }
    // SAFETY: the attributes are initialised, given a valid size, and destroyed after their last use.
    unsafe {
        let mut attributes: libc::pthread_attr_t = std::mem::zeroed();
        if libc::pthread_attr_init(&mut attributes) == 0 {
            libc::pthread_attr_setstacksize(&mut attributes, STACK_BYTES);
            pthread_setattr_default_np(&attributes);
            libc::pthread_attr_destroy(&mut attributes);
        }
    }
}

#[cfg(not(target_env = "gnu"))]
fn size_library_stacks() {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timers_of_cpu_time_stop() {
        // SAFETY: all zeros is a valid itimerval, which the call fills in.
        let timer = |which| unsafe {
            let mut timer: libc::itimerval = std::mem::zeroed();
            libc::getitimer(which, &mut timer);
            timer.it_value.tv_sec
        };
        for which in [libc::ITIMER_VIRTUAL, libc::ITIMER_PROF] {
            let interval = libc::timeval { tv_sec: 0, tv_usec: 0 };
            let value = libc::timeval { tv_sec: 100_000, tv_usec: 0 };
            let set = libc::itimerval { it_interval: interval, it_value: value };
            // SAFETY: a timer that ends long after this test.
            unsafe { libc::setitimer(which, &set, ptr::null_mut()) };
            assert!(timer(which) > 0);
        }
        stop_timers();
        assert_eq!([libc::ITIMER_VIRTUAL, libc::ITIMER_PROF].map(timer), [0, 0]);
    }
}
